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

func TestASecretThatComesBackIsNotRecorded(t *testing.T) {
	t.Parallel()
	err := deliver(t, t.Context(), `{"url":"SERVER/","sign":"env:B"}`, func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "wrong secret: plain-secret", http.StatusInternalServerError)
	})
	require.ErrorContains(t, err, "wrong secret: [secret]")
}
