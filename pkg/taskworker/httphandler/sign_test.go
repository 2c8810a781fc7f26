package httphandler

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/internal/credential"
	"github.com/taskfleet/taskfleet/pkg/taskworker/internal/delivery"
)

func TestAReceiverCanVerify(t *testing.T) {
	t.Parallel()
	key, err := base64.StdEncoding.DecodeString("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	require.NoError(t, err)
	err = deliver(t, t.Context(), `{"url":"SERVER/","n":1,"sign":["env:A","env:B"]}`, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		id, at := r.Header.Get("webhook-id"), r.Header.Get("webhook-timestamp")
		var want []string
		for _, key := range [][]byte{key, []byte("plain-secret")} {
			mac := hmac.New(sha256.New, key)
			mac.Write([]byte(id + "." + at + "."))
			mac.Write(body)
			want = append(want, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
		}
		seconds, err := strconv.ParseInt(at, 10, 64)
		if err != nil || time.Since(time.Unix(seconds, 0)).Abs() > time.Minute || id != "task-1" || r.Header.Get("webhook-signature") != strings.Join(want, " ") {
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
	require.NoError(t, err)
}

func TestSigningNeedsAGrant(t *testing.T) {
	t.Parallel()
	never := func(http.ResponseWriter, *http.Request) { t.Error("sent") }
	for _, payload := range []string{
		`{"url":"SERVER/","sign":"env:OTHER"}`, `{"url":"SERVER/","sign":"env:PATH"}`, `{"url":"SERVER/","sign":"file:/etc/passwd"}`,
		`{"url":"http://evil.example/","sign":"env:A"}`,
	} {
		err := deliver(t, t.Context(), payload, never)
		require.ErrorContains(t, err, "payload: sign: credential is not granted", payload)
		require.True(t, isNever(err))
	}
	err := deliver(t, t.Context(), `{"url":"SERVER/","sign":"env:C"}`, never)
	require.ErrorContains(t, err, "base64")
	require.NotContains(t, err.Error(), "whsec_!")
	require.False(t, isNever(err), "the operator can put it right")
}

// TestWhatIsRecordedOfASignedRequest: the status alone, and the answer without the
// secret when that is asked for.
func TestWhatIsRecordedOfASignedRequest(t *testing.T) {
	t.Parallel()
	padding := strings.Repeat("x", delivery.MaxExcerpt-len("plain"))
	for answer, recorded := range map[string]string{
		"wrong secret: plain-secret": "wrong secret: [secret]",
		padding + "plain-secret":     padding + "[secr", // cut, but not within the secret
		"cGxhaW4tc2VjcmV0":           "[secret]",
		"706c61696e2d736563726574":   "[secret]",
	} {
		const payload, status = `{"url":"SERVER/","sign":"env:B"}`, ": status 500 Internal Server Error: "
		serve := func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, answer)
		}
		err := deliver(t, t.Context(), payload, serve)
		require.ErrorContains(t, err, status+"the answer is not recorded")
		require.NotContains(t, err.Error(), answer[:5])
		err = deliver(t, t.Context(), payload, serve, func(c *Config) { c.RecordAnswers = true })
		require.True(t, strings.HasSuffix(err.Error(), status+recorded), "%v", err)
		err = deliver(t, t.Context(), `{"url":"SERVER/"}`, serve)
		require.ErrorContains(t, err, status+answer[:5], "a request without a credential")
	}
}

// TestAGrantToSignIsForItsPath: a host that serves more than the receiver.
func TestAGrantToSignIsForItsPath(t *testing.T) {
	t.Parallel()
	grant := func(c *Config) {
		set, err := credential.New("", []string{"ref=env:B,provider=http,in=sign,url=http://127.0.0.1:1/hooks"},
			func(string) (string, bool) { return "plain-secret", true })
		require.NoError(t, err)
		c.Credentials = set
	}
	for _, url := range []string{"http://127.0.0.1:1/echo", "http://127.0.0.1:1/hooks/../echo", "http://127.0.0.1:1/hooks%2f..%2fecho", "http://127.0.0.1:2/hooks", "https://127.0.0.1:1/hooks"} {
		err := deliver(t, t.Context(), `{"url":"`+url+`","sign":"env:B"}`, nil, grant)
		require.ErrorContains(t, err, "payload: sign: credential is not granted: \"env:B\": url", url)
		require.True(t, isNever(err))
	}
	err := deliver(t, t.Context(), `{"url":"http://127.0.0.1:1/hooks/a","sign":"env:B"}`, nil, grant)
	require.NotContains(t, err.Error(), "granted")
}
