package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/internal/cli"
	"github.com/taskfleet/taskfleet/pkg/task"
	"github.com/taskfleet/taskfleet/pkg/taskingest"
	"github.com/taskfleet/taskfleet/pkg/taskproducer"
	"github.com/taskfleet/taskfleet/pkg/taskworker"
)

// TestAStockWorkerHandlesWhatStockHooksMake: a signed push of GitHub's own example
// goes through the listener with its default rules, into a worker, to the URL that
// the worker was given. The task ends completed.
func TestAStockWorkerHandlesWhatStockHooksMake(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	events := make(chan []byte, 1)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		events <- body
	}))
	defer receiver.Close()
	_, stop := f.start(io.Discard, "--push-event-url", receiver.URL)
	url := f.serveHooks("the secret")

	push, err := os.ReadFile("../../internal/githook/testdata/github/push.json")
	require.NoError(t, err)
	mac := hmac.New(sha256.New, []byte("the secret"))
	mac.Write(push)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/hooks/github", bytes.NewReader(push))
	require.NoError(t, err)
	request.Header = http.Header{
		"Content-Type": {"application/json"}, "X-Github-Event": {"push"}, "X-Github-Delivery": {"72d3162e"},
		"X-Hub-Signature-256": {"sha256=" + hex.EncodeToString(mac.Sum(nil))},
	}
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	require.Equal(t, http.StatusAccepted, response.StatusCode)

	var event struct{ Event, Repository, After string }
	select {
	case body := <-events:
		require.NoError(t, json.Unmarshal(body, &event), "%s", body)
	case <-time.After(patience):
		t.Fatal("no event")
	}
	require.Equal(t, "Codertocat/Hello-World", event.Repository)
	require.Equal(t, "push", event.Event)
	require.Equal(t, cli.ExitOK, stop(), "a stop records what is done")
	got := f.counts()
	require.EqualValues(t, 1, got.Completed)
	require.Zero(t, got.Dead+got.Pending+got.Locked+got.Delayed)
}

// serveHooks starts a listener with the default rules until the test ends.
func (f *fleet) serveHooks(secret string) (url string) {
	t := f.t
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "secret"), []byte(secret), 0o600))
	file := filepath.Join(dir, "hooks.yaml")
	require.NoError(t, os.WriteFile(file, []byte("secrets: {github: [{file: "+filepath.Join(dir, "secret")+"}]}\n"), 0o600))
	hooks, err := taskingest.ReadHooks(file)
	require.NoError(t, err)
	producer, err := taskproducer.Open(t.Context(), f.DB, taskproducer.Config{Folder: f.Folder})
	require.NoError(t, err)
	handler, err := taskingest.New(taskingest.Config{Producer: producer, InsecureNoAuth: true, Hooks: hooks})
	require.NoError(t, err)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- handler.Serve(ctx, listener, patience) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	return "http://" + listener.Addr().String()
}

func TestPushEventsForwardsThePayload(t *testing.T) {
	t.Parallel()
	var sent *task.Task
	send := func(_ context.Context, t *task.Task) error { sent = t; return nil }
	handle := pushEvents("http://ci.internal/events", send)
	given := &task.Task{ID: "a", Attempt: 2, Payload: []byte(`{"event":"push"}`)}
	require.NoError(t, handle(t.Context(), given))
	require.JSONEq(t, `{"url":"http://ci.internal/events","body":{"event":"push"}}`, string(sent.Payload))
	require.Equal(t, "a", sent.ID)
	require.EqualValues(t, 2, sent.Attempt)
	require.Equal(t, `{"event":"push"}`, string(given.Payload), "the task is not changed")
	err := handle(t.Context(), &task.Task{Payload: []byte("no JSON")})
	require.IsType(t, taskworker.Never(nil), err)
}
