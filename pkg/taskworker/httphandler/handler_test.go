package httphandler

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/taskfleet/taskfleet/internal/credential"
	"github.com/taskfleet/taskfleet/internal/outbound"
	"github.com/taskfleet/taskfleet/pkg/task"
	"github.com/taskfleet/taskfleet/pkg/taskworker"
	"github.com/taskfleet/taskfleet/pkg/taskworker/internal/delivery"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client reaches servers of the test's own.
func client(t *testing.T) *Client {
	t.Helper()
	c, err := NewClient(ClientConfig{AllowPrivate: true})
	require.NoError(t, err)
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// secrets are credentials that may sign requests below a URL.
func secrets(t *testing.T, url string, byName map[string]string) *credential.Set {
	t.Helper()
	var grants []string
	for name := range byName {
		grants = append(grants, "ref=env:"+name+",provider=http,in=sign,url="+url)
	}
	set, err := credential.New("", grants, func(name string) (string, bool) { v, ok := byName[name]; return v, ok })
	require.NoError(t, err)
	return set
}

// deliver runs a handler once against a server.
func deliver(t *testing.T, ctx context.Context, payload string, serve http.HandlerFunc, settings ...func(*Config)) error {
	t.Helper()
	server := httptest.NewServer(serve)
	defer server.Close()
	cfg := Config{
		Client:      client(t),
		Credentials: secrets(t, server.URL+"/", map[string]string{"A": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "B": "plain-secret", "C": "whsec_!"}),
	}
	for _, set := range settings {
		set(&cfg)
	}
	payload = strings.ReplaceAll(payload, "SERVER", server.URL)
	return New(cfg)(ctx, &task.Task{ID: "task-1", Attempt: 3, Payload: []byte(payload)})
}

func isNever(err error) bool {
	return reflect.TypeOf(err) == reflect.TypeOf(taskworker.Never(nil))
}

func asksForDelay(err error) bool {
	return reflect.TypeOf(err) == reflect.TypeOf(taskworker.RetryAfter(0, nil))
}

func TestPostsThePayload(t *testing.T) {
	t.Parallel()
	const payload = `{"url":"SERVER/hook?x=1","n":[1,2]}`
	err := deliver(t, t.Context(), payload, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Method != http.MethodPost || r.URL.RequestURI() != "/hook?x=1" ||
			r.Header.Get("Content-Type") != "application/json" ||
			r.Header.Get("X-Task-ID") != "task-1" || r.Header.Get("X-Task-Attempt") != "3" ||
			string(body) != strings.ReplaceAll(payload, "SERVER", "http://"+r.Host) {
			http.Error(w, fmt.Sprintf("not as asked: %s %s %v %s", r.Method, r.URL, r.Header, body), http.StatusTeapot)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	require.NoError(t, err)
}

func TestAPayloadDescribesTheRequest(t *testing.T) {
	t.Parallel()
	for payload, want := range map[string]string{
		`{"url":"SERVER/a","method":"PUT","headers":{"x-team":"ci","content-type":"text/csv"},"body":"a,b"}`: `PUT /a ci text/csv "a,b"`,
		`{"url":"SERVER/a","body":{"n": 1}}`:         `POST /a  application/json "{\"n\": 1}"`,
		`{"url":"SERVER/a","body":"text"}`:           `POST /a  text/plain; charset=utf-8 "text"`,
		`{"url":"SERVER/a","body":""}`:               `POST /a   ""`,
		`{"url":"SERVER/a","method":"GET"}`:          `GET /a   ""`,
		`{"url":"SERVER/a","method":"HEAD"}`:         `HEAD /a   ""`,
		`{"url":"SERVER/a","method":"DELETE"}`:       "", // the payload itself
		`{"url":"SERVER/a","timeout":"1m","body":1}`: `POST /a  application/json "1"`,
	} {
		got := ""
		err := deliver(t, t.Context(), payload, func(_ http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			got = fmt.Sprintf("%s %s %s %s %q", r.Method, r.URL, r.Header.Get("X-Team"), r.Header.Get("Content-Type"), body)
		})
		require.NoError(t, err, payload)
		if want != "" {
			require.Equal(t, want, got, payload)
		}
	}
}

// TestWhatAStatusMeans is the table of the documentation.
func TestWhatAStatusMeans(t *testing.T) {
	t.Parallel()
	again := []int{301, 302, 307, 308, 408, 425, 429, 500, 501, 502, 503, 504, 599}
	never := []int{400, 401, 403, 404, 405, 409, 410, 413, 418, 422, 451, 499}
	for _, code := range append(append([]int{}, again...), never...) {
		err := deliver(t, t.Context(), `{"url":"SERVER/path?token=hush"}`, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(code)
			_, _ = io.WriteString(w, " the reason\n"+strings.Repeat("long ", 1<<16))
		})
		require.ErrorContains(t, err, fmt.Sprintf("status %d", code))
		require.ErrorContains(t, err, ": the reason")
		require.NotContains(t, err.Error(), "hush", "a query may hold a secret")
		require.Less(t, len(err.Error()), delivery.MaxExcerpt+200)
		require.Equal(t, code >= 400 && code < 500 && code != 408 && code != 425 && code != 429, isNever(err), code)
	}
}

func TestRetryAfterIsHonoured(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]bool{"30": true, "Wed, 21 Oct 2099 07:28:00 GMT": true, "": false, "soon": false, "-1": false} {
		for _, code := range []int{408, 425, 429, 503} {
			err := deliver(t, t.Context(), `{"url":"SERVER/"}`, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", value)
				w.WriteHeader(code)
			})
			require.Equal(t, want, asksForDelay(err), "%d %q: %v", code, value, err)
		}
	}
}

func TestNoAnswerFailsTheAttempt(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	err := New(Config{Client: client(t)})(t.Context(), &task.Task{Payload: []byte(`{"url":"` + server.URL + `/?token=hush"}`)})
	require.ErrorContains(t, err, "connection refused")
	require.NotContains(t, err.Error(), "hush")
	require.False(t, isNever(err))
}

func TestARequestEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	err := deliver(t, ctx, `{"url":"SERVER/"}`, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		cancel(taskworker.ErrRevoked)
		<-r.Context().Done()
	})
	require.ErrorIs(t, err, taskworker.ErrRevoked)
	require.False(t, isNever(err))
	err = deliver(t, t.Context(), `{"url":"SERVER/","timeout":"20ms"}`, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	})
	require.ErrorContains(t, err, "no answer within the payload's timeout 20ms")
	require.False(t, isNever(err))
}

func TestARefusedURLIsNeverTriedAgain(t *testing.T) {
	t.Parallel()
	h := New(Config{}) // the default rules
	for _, url := range []string{
		"http://127.0.0.1/", "http://169.254.169.254/latest/meta-data/", "http://metadata.google.internal/", "http://0x7f.1/",
		"http://user:hush@93.184.216.34/", "http://[::ffff:a9fe:a9fe]/",
	} {
		err := h(t.Context(), &task.Task{Payload: []byte(`{"url":"` + url + `"}`)})
		var refused *outbound.RefusedError
		require.True(t, errors.As(err, &refused), "%s: %v", url, err)
		require.True(t, isNever(err), url)
		require.NotContains(t, err.Error(), "hush")
	}
}

func TestRedirectsAreFollowedWhenAskedFor(t *testing.T) {
	t.Parallel()
	var location string
	serve := func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.URL.Path == "/start" {
			w.Header().Set("Location", location)
			w.WriteHeader(http.StatusTemporaryRedirect)
		} else if r.Method != http.MethodPost || len(body) == 0 {
			w.WriteHeader(http.StatusBadRequest)
		}
	}
	location = "/end"
	require.NoError(t, deliver(t, t.Context(), `{"url":"SERVER/start","follow_redirects":true}`, serve))
	require.ErrorContains(t, deliver(t, t.Context(), `{"url":"SERVER/start"}`, serve), "status 307")
	location = "http://169.254.169.254/latest/meta-data/"
	err := deliver(t, t.Context(), `{"url":"SERVER/start","follow_redirects":true}`, serve)
	require.ErrorContains(t, err, "none is followed to another scheme, host or port")
	require.True(t, isNever(err))
}

func TestMalformedPayloadIsNeverTriedAgain(t *testing.T) {
	t.Parallel()
	h := New(Config{Client: client(t)})
	for payload, want := range map[string]string{
		``:                               "payload: must be a JSON object",
		`[]`:                             "payload: must be a JSON object",
		`null`:                           "payload: must be a JSON object",
		`{"url":"http://h/"}{}`:          "payload: must be one JSON object",
		`{"url":5}`:                      "payload: url: must not be a number",
		`{}`:                             "payload: url is missing",
		`{"url":""}`:                     "payload: url is missing",
		`{"url":"/path"}`:                "must be http://host/",
		`{"url":"ftp://host/x"}`:         "must be http://host/",
		`{"url":"http://"}`:              "must be http://host/",
		`{"url":"http://a b/"}`:          "payload: url: ",
		`{"url":"gopher://u:secret@h/"}`: "gopher://u:xxxxx@h/",
		`{"url":"http://u:secret@h:x/"}`: "payload: url: ",
		`{"url":"http://` + strings.Repeat("x", 9000) + `/"}`:                       "at most 8192",
		`{"url":"http://h/","method":"CONNECT"}`:                                    "payload: method \"CONNECT\"",
		`{"url":"http://h/","method":"post"}`:                                       "payload: method \"post\"",
		`{"url":"http://h/","method":"GET","body":"x"}`:                             "payload: body: a GET has none",
		`{"url":"http://h/","timeout":"-1s"}`:                                       "payload: timeout",
		`{"url":"http://h/","timeout":"100h"}`:                                      "at most 24h",
		`{"url":"http://h/","timeout":5}`:                                           "payload: timeout: must not be a number",
		`{"url":"http://h/","headers":{"Host":"evil"}}`:                             "Host is not for a payload to set",
		`{"url":"http://h/","headers":{"x-task-id":"1"}}`:                           "X-Task-Id is not for a payload",
		`{"url":"http://h/","headers":{"X_Task_ID":"1"}}`:                           "X_task_id is not for a payload",
		`{"url":"http://h/","headers":{"Content_Type":"a/b"}}`:                      "is there twice: servers take Content-Type for it",
		`{"url":"http://h/","headers":{"transfer-encoding":"chunked"}}`:             "Transfer-Encoding is not",
		`{"url":"http://h/","headers":{"Content-Length":"1"}}`:                      "Content-Length is not",
		`{"url":"http://h/","headers":{"Metadata-Flavor":"Google"}}`:                "Metadata-Flavor is not",
		`{"url":"http://h/","headers":{"webhook-signature":"v1,x"}}`:                "Webhook-Signature is not",
		`{"url":"http://h/","headers":{"proxy-authorization":"x"}}`:                 "Proxy-Authorization is not",
		`{"url":"http://h/","headers":{"a b":"x"}}`:                                 "is not a header's name",
		`{"url":"http://h/","headers":{"A":"x\r\nHost: evil"}}`:                     "must not hold control characters",
		`{"url":"http://h/","headers":{"A":1}}`:                                     "payload: headers",
		`{"url":"http://h/","headers":{"A":"` + strings.Repeat("x", 17<<10) + `"}}`: "at most 16384",
		`{"url":"http://h/","sign":"env:X"}`:                                        "this worker has no credentials",
		`{"url":"http://h/","sign":5}`:                                              "string or a list of strings",
		`{"url":"http://h/","sign":"env:X","follow_redirects":true}`:                "cannot stand with follow_redirects",
		`{"url":"http://h/","sign":["a","b","c","d","e"]}`:                          "must be at most 4",
	} {
		err := h(t.Context(), &task.Task{Payload: []byte(payload)})
		require.ErrorContains(t, err, want, payload)
		require.True(t, isNever(err), payload)
		require.NotContains(t, err.Error(), "secret@")
		require.NotContains(t, err.Error(), ":secret")
	}
}

func FuzzPayload(f *testing.F) {
	for _, seed := range []string{
		`{"url":"http://host/x"}`, `{"url":"http://[::1"}`, `{"url":"https://h/","method":"PUT","headers":{"A":"b"},"body":{"a":1},"timeout":"5s","sign":["env:A"]}`,
	} {
		f.Add([]byte(seed))
	}
	h := &handler{cfg: Config{UserAgent: "fuzz"}}
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := decode(text)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "payload: ") {
				t.Errorf("%q: %v names no field", text, err)
			}
			return
		}
		if p.target.Host == "" || p.timeout < 0 || p.timeout > 24*time.Hour {
			t.Errorf("%q gives %+v", text, p)
		}
		if r, err := h.request(t.Context(), &task.Task{ID: "x"}, p); err == nil && r.Header.Get("X-Task-ID") != "x" {
			t.Errorf("%q sets the task's id", text)
		}
	})
}
