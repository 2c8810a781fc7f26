package httptask_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/taskfleet/taskfleet/internal/taskmodel"
	"github.com/taskfleet/taskfleet/pkg/task"
	"github.com/taskfleet/taskfleet/pkg/taskworker"
	"github.com/taskfleet/taskfleet/pkg/taskworker/httptask"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve starts a receiver and returns a payload for it, and a handler.
func serve(t *testing.T, receive http.HandlerFunc) (string, taskworker.Handler) {
	t.Helper()
	server := httptest.NewServer(receive)
	client := httptask.NewClient(4)
	t.Cleanup(func() { client.CloseIdleConnections(); server.Close() })
	return server.URL, httptask.New(httptask.Options{Client: client})
}

func payload(url string) *task.Task {
	return &task.Task{ID: "id-1", Attempt: 3, Payload: fmt.Appendf(nil, `{"url":%q,"n":1}`, url)}
}

func TestDelivery(t *testing.T) {
	t.Parallel()
	var got *http.Request
	var body []byte
	var codes []int
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		w.WriteHeader(http.StatusAccepted)
	}))
	defer server.Close()
	client := httptask.NewClient(4)
	defer client.CloseIdleConnections()
	handler := httptask.New(httptask.Options{Client: client, Observe: func(code int, _ time.Duration) { codes = append(codes, code) }})
	work := payload(server.URL + "/hook?x=1")
	require.NoError(t, handler(t.Context(), work))
	require.Equal(t, http.MethodPost, got.Method)
	require.Equal(t, "/hook?x=1", got.URL.String())
	require.Equal(t, work.Payload, body)
	require.Equal(t, "application/json", got.Header.Get("Content-Type"))
	require.Equal(t, "id-1", got.Header.Get("X-Task-ID"))
	require.Equal(t, "3", got.Header.Get("X-Task-Attempt"))
	require.Equal(t, []int{202}, codes)
}

func TestAnswersThatFailTheAttempt(t *testing.T) {
	t.Parallel()
	url, handler := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprintf(w, "no\ncoffee\x00 here %s", strings.Repeat("x", 10_000))
	})
	err := handler(t.Context(), payload(url))
	require.ErrorContains(t, err, "418 I'm a teapot: no coffee here xxx")
	require.Less(t, len(err.Error()), 700)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, handler(ctx, payload(url)), context.Canceled)
	require.ErrorContains(t, handler(t.Context(), payload("http://127.0.0.1:1/?secret=s")), "POST to 127.0.0.1:1: dial")
	require.NotContains(t, handler(t.Context(), payload("http://127.0.0.1:1/?secret=s")).Error(), "secret")
}

func TestRedirects(t *testing.T) {
	t.Parallel()
	var delivered []string
	url, handler := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/again":
			http.Redirect(w, r, "/there", http.StatusTemporaryRedirect)
		case "/get":
			http.Redirect(w, r, "/there", http.StatusFound)
		case "/file":
			http.Redirect(w, r, "ftp://example.org/", http.StatusTemporaryRedirect)
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusPermanentRedirect)
		case "/there":
			body, _ := io.ReadAll(r.Body)
			delivered = append(delivered, r.Method+" "+string(body))
		}
	})
	require.NoError(t, handler(t.Context(), payload(url+"/again")))
	require.ErrorContains(t, handler(t.Context(), payload(url+"/get")), "302 Found", "a GET would drop the payload")
	require.ErrorContains(t, handler(t.Context(), payload(url+"/file")), "307")
	require.ErrorContains(t, handler(t.Context(), payload(url+"/loop")), "308")
	require.Len(t, delivered, 1)
	require.Contains(t, delivered[0], "POST {")
}

func TestIdsThatAreNoHeaderTextAreEncoded(t *testing.T) {
	t.Parallel()
	var id string
	url, handler := serve(t, func(_ http.ResponseWriter, r *http.Request) { id = r.Header.Get("X-Task-ID") })
	work := payload(url)
	work.ID = "a\nb"
	require.NoError(t, handler(t.Context(), work))
	require.Equal(t, "a%0Ab", id)
}

// outcome runs a handler in a worker and returns what became of the task.
func outcome(t *testing.T, handler taskworker.Handler, work task.Task) (row taskmodel.Row) {
	synctest.Test(t, func(t *testing.T) {
		model := taskmodel.New(time.Now)
		w, err := taskworker.New(model, taskworker.Config{Owner: "w", Handlers: map[string]taskworker.Handler{"http": handler},
			Backoff: func(uint32) time.Duration { return time.Minute }})
		require.NoError(t, err)
		require.NoError(t, w.Start(t.Context()))
		epochs, err := model.Raise(t.Context(), []uint16{0}, "w")
		require.NoError(t, err)
		work.ID, work.Kind = "x", "http"
		_, err = model.Enqueue(t.Context(), task.Batch{ID: "b", Tasks: []task.Task{work}})
		require.NoError(t, err)
		w.Acquired(t.Context(), 0, epochs[0])
		time.Sleep(time.Second)
		require.NoError(t, w.Stop(t.Context()))
		row = model.Rows()[0]
	})
	return row
}

func TestI10PayloadsThatCanNeverBeDelivered(t *testing.T) {
	t.Parallel()
	handler := httptask.New(httptask.Options{Client: httptask.NewClient(1)})
	for text, reason := range map[string]string{
		``:                              "not a JSON object",
		`nonsense`:                      "not a JSON object",
		`[1]`:                           "not a JSON object",
		`{"url":7}`:                     "not a JSON object",
		`{}`:                            "has no url",
		`null`:                          "has no url",
		`{"url":""}`:                    "has no url",
		`{"url":"ftp://x/"}`:            `scheme "ftp"`,
		`{"url":"example.org"}`:         `scheme ""`,
		`{"url":"http:///path"}`:        "no host",
		`{"url":"http://u:pw@host/"}`:   "credentials",
		`{"url":"http://[::1/%zz?pw"}`:  "cannot be parsed",
		`{"url":"http://host:port/pw"}`: "cannot be parsed",
	} {
		row := outcome(t, handler, task.Task{Payload: []byte(text)})
		require.Equal(t, task.Dead, row.Status, text)
		require.Contains(t, row.LastError, reason, text)
		require.NotContains(t, row.LastError, "pw", text)
	}
}

// answer is a transport that always gives the same answer.
type answer struct{ resp http.Response }

func (a *answer) RoundTrip(*http.Request) (*http.Response, error) {
	resp := a.resp
	resp.Body = http.NoBody
	return &resp, nil
}

func TestRetryAfterIsHeeded(t *testing.T) {
	t.Parallel()
	header := func(value string) http.Header { return http.Header{"Retry-After": {value}} }
	for _, tt := range []struct {
		resp http.Response
		want time.Duration
	}{
		{http.Response{StatusCode: 429, Header: header("120")}, 2 * time.Minute},
		{http.Response{StatusCode: 503, Header: header("999999")}, time.Hour},
		{http.Response{StatusCode: 503, Header: header("soon")}, time.Minute},
		{http.Response{StatusCode: 500, Header: header("120")}, time.Minute},
	} {
		handler := httptask.New(httptask.Options{Client: &http.Client{Transport: &answer{tt.resp}}})
		row := outcome(t, handler, task.Task{Payload: []byte(`{"url":"http://host/"}`)})
		require.Equal(t, task.Delayed, row.Status)
		require.InDelta(t, tt.want, row.RunAt.Sub(row.CreatedAt), float64(time.Second))
	}
}
