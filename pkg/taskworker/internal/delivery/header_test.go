package delivery

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http/httpguts"
)

func TestReservedHeadersInEverySpelling(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"X-Task-ID", "x-task-id", "X_Task_ID", "X_Task-Id", "x.task.id", "X~Task~ID", "X-Task_Attempt", "Host", "Content_Length", "content-length",
		"Transfer_Encoding", "Webhook_Id", "webhook-signature", "PROXY", "Proxy_Connection", "Metadata_Flavor", "X_aws-ec2-metadata-token",
	} {
		err := Headers(http.Header{}, map[string]string{name: "1"})
		require.ErrorContains(t, err, "is not for a payload to set", name)
	}
	for _, name := range []string{"X-Task", "X-Task-Ids", "Xtaskid", "Hosts", "Webhook"} {
		require.NoError(t, Headers(http.Header{}, map[string]string{name: "1"}), name)
	}
}

func TestNoTwoHeadersAreTheSame(t *testing.T) {
	t.Parallel()
	into := http.Header{"Content-Type": {"application/json"}}
	require.NoError(t, Headers(into, map[string]string{"content-type": "text/csv", "X-Team": "ci"}))
	require.Equal(t, http.Header{"Content-Type": {"text/csv"}, "X-Team": {"ci"}}, into)
	for _, headers := range []map[string]string{
		{"Content_Type": "a"}, {"X-A": "1", "x-a": "2"}, {"X-A": "1", "X_A": "2"}, {"X-Team": "1", "x.team": "2"},
	} {
		into := http.Header{"Content-Type": {"application/json"}}
		require.ErrorContains(t, Headers(into, headers), "is there twice", "%v", headers)
	}
}

// TestIDsDoNotMeetInAHeader: ids that one value stood for, or that a server would
// trim or decode to the same.
func TestIDsDoNotMeetInAHeader(t *testing.T) {
	t.Parallel()
	values := map[string]string{}
	for _, id := range []string{"a", "a\x00", "a%00", "a%2500", "a ", " a", "a\t", "a%20", "é", "\xe9", "%C3%A9", "%c3%a9", "", "a+b", "a b", "A"} {
		value := HeaderValue(id)
		require.NotContains(t, values, value, "%q and %q", id, values[value])
		values[value] = id
	}
	require.Equal(t, "01JX/order#42.eu", HeaderValue("01JX/order#42.eu"))
}

func FuzzHeaderValue(f *testing.F) {
	for _, id := range []string{"", "task-1", "a\x00", "a%00", " é%", strings.Repeat("%", 100)} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		value := HeaderValue(id)
		if back, err := url.PathUnescape(value); err != nil || back != id {
			t.Errorf("%q gives %q, which gives %q, %v", id, value, back, err)
		}
		if !httpguts.ValidHeaderFieldValue(value) || strings.TrimSpace(value) != value {
			t.Errorf("%q gives %q", id, value)
		}
	})
}

func FuzzHeaders(f *testing.F) {
	f.Add("X-A", "1", "x_a", "2")
	f.Add("x.task-id", "1", "Content_Type", "text/plain")
	f.Add("A", "a\r\nB: c", "", "")
	f.Fuzz(func(t *testing.T, name1, value1, name2, value2 string) {
		into := http.Header{"X-Task-Id": {"own"}, "Content-Type": {"own"}}
		err := Headers(into, map[string]string{name1: value1, name2: value2})
		if err != nil {
			if !strings.HasPrefix(err.Error(), "payload: headers") {
				t.Errorf("%q %q: %v names no field", name1, name2, err)
			}
			return
		}
		seen := map[string]bool{}
		for name, values := range into {
			variable := strings.ToUpper(strings.NewReplacer("-", "_", ".", "_").Replace(name)) // as CGI has it
			if seen[variable] || len(values) != 1 || !httpguts.ValidHeaderFieldValue(values[0]) {
				t.Errorf("%q %q give %v", name1, name2, into)
			}
			seen[variable] = true
		}
		if into.Get("X-Task-ID") != "own" {
			t.Errorf("%q %q set the task's id", name1, name2)
		}
	})
}
