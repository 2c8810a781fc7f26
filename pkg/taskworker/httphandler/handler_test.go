package httphandler

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/taskfleet/taskfleet/pkg/task"
	"github.com/taskfleet/taskfleet/pkg/taskworker"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type seen struct {
	mu    sync.Mutex
	codes []int
}

func (s *seen) observe(code int, _ time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.codes = append(s.codes, code)
}

// deliver runs a handler once against a server, and closes what it opened.
func deliver(t *testing.T, ctx context.Context, payload string, serve http.HandlerFunc) ([]int, error) {
	t.Helper()
	server := httptest.NewServer(serve)
	defer server.Close()
	var s seen
	h := New(Config{Observe: s.observe})
	payload = strings.ReplaceAll(payload, "SERVER", server.URL)
	err := h(ctx, &task.Task{ID: "task-1", Attempt: 3, Payload: []byte(payload)})
	return s.codes, err
}

func isNever(err error) bool {
	return reflect.TypeOf(err) == reflect.TypeOf(taskworker.Never(nil))
}

func TestPostsThePayload(t *testing.T) {
	t.Parallel()
	const payload = `{"url":"SERVER/hook?x=1","n":[1,2]}`
	codes, err := deliver(t, t.Context(), payload, func(w http.ResponseWriter, r *http.Request) {
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
	require.Equal(t, []int{http.StatusNoContent}, codes)
}

func TestOtherAnswersFailTheAttempt(t *testing.T) {
	t.Parallel()
	for _, code := range []int{301, 307, 400, 404, 429, 500, 503} {
		codes, err := deliver(t, t.Context(), `{"url":"SERVER/"}`, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(code)
			_, _ = io.WriteString(w, " the reason\n"+strings.Repeat("long ", 1<<16))
		})
		require.ErrorContains(t, err, fmt.Sprintf("status %d", code))
		require.ErrorContains(t, err, ": the reason")
		require.Less(t, len(err.Error()), maxExcerpt+200)
		require.False(t, isNever(err))
		require.Equal(t, []int{code}, codes)
	}
}

func TestNoAnswerFailsTheAttempt(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	var s seen
	err := New(Config{Observe: s.observe})(t.Context(), &task.Task{Payload: []byte(`{"url":"` + server.URL + `"}`)})
	require.ErrorContains(t, err, "connection refused")
	require.False(t, isNever(err))
	require.Equal(t, []int{0}, s.codes)
}

func TestARequestEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	_, err := deliver(t, ctx, `{"url":"SERVER/"}`, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		cancel()
		<-r.Context().Done()
	})
	require.ErrorIs(t, err, context.Canceled)
	require.False(t, isNever(err))
}

func TestMalformedPayloadIsNeverTriedAgain(t *testing.T) {
	t.Parallel()
	h := New(Config{})
	for payload, want := range map[string]string{
		``:                               "payload: must be a JSON object",
		`[]`:                             "payload: must be a JSON object",
		`{"url":5}`:                      "payload: must be a JSON object with a string url",
		`{}`:                             "payload: url is missing",
		`{"url":""}`:                     "payload: url is missing",
		`{"url":"/path"}`:                "must be http://host/",
		`{"url":"ftp://host/x"}`:         "must be http://host/",
		`{"url":"http://"}`:              "must be http://host/",
		`{"url":"http://a b/"}`:          "payload: url: ",
		`{"url":"gopher://u:secret@h/"}`: "gopher://u:xxxxx@h/",
	} {
		err := h(t.Context(), &task.Task{Payload: []byte(payload)})
		require.ErrorContains(t, err, want, payload)
		require.True(t, isNever(err), payload)
		require.NotContains(t, err.Error(), "secret")
	}
}

func FuzzTarget(f *testing.F) {
	f.Add([]byte(`{"url":"http://host/x"}`))
	f.Add([]byte(`{"url":"http://[::1"}`))
	f.Fuzz(func(t *testing.T, payload []byte) {
		u, err := targetOf(payload)
		if err == nil && u.Host == "" {
			t.Errorf("%q has no host", payload)
		}
	})
}
