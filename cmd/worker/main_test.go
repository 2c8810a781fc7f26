package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/taskfleet/taskfleet/internal/cli"
	"github.com/taskfleet/taskfleet/internal/taskstore"
	"github.com/taskfleet/taskfleet/internal/testdb"
	"github.com/taskfleet/taskfleet/pkg/migrate"
	"github.com/taskfleet/taskfleet/pkg/task"
	"github.com/taskfleet/taskfleet/pkg/taskproducer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 30 * time.Second

// output is what a run writes; it may be read meanwhile.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// fleet is a fleet of eight partitions for the command.
type fleet struct {
	*testdb.Database
	t     *testing.T
	flags []string
	store *taskstore.Store
}

func newFleet(t *testing.T) *fleet {
	t.Helper()
	dsn, d := testdb.DSN(t)
	_, err := migrate.Up(t.Context(), d.DB, migrate.Options{Folder: d.Folder, Partitions: 8})
	require.NoError(t, err)
	return &fleet{
		Database: d, t: t, store: taskstore.New(d.DB, taskstore.Options{Folder: d.Folder}),
		flags: []string{"--endpoint", dsn, "--folder", d.Folder, "--metrics-addr", "", "--session-timeout", "3s"},
	}
}

// start runs the command; stop asks it to end and returns its exit code.
func (f *fleet) start(stdout io.Writer, args ...string) (stderr *output, stop func() int) {
	f.t.Helper()
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(f.t.Context()))
	stderr = &output{}
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, append(slices.Clone(f.flags), args...), strings.NewReader(""), stdout, stderr)
	}()
	return stderr, func() int {
		cancel(cli.ErrSignal)
		return <-code
	}
}

func (f *fleet) enqueue(tasks ...task.Task) {
	f.t.Helper()
	producer, err := taskproducer.Open(f.t.Context(), f.DB, taskproducer.Config{Folder: f.Folder})
	require.NoError(f.t, err)
	_, err = producer.Enqueue(f.t.Context(), tasks...)
	require.NoError(f.t, err)
}

func (f *fleet) counts() taskstore.Stats {
	f.t.Helper()
	stats, err := f.store.Stats(f.t.Context())
	require.NoError(f.t, err)
	return stats
}

// await waits until the counts are as wanted.
func (f *fleet) await(wanted func(taskstore.Stats) bool) {
	f.t.Helper()
	require.Eventually(f.t, func() bool { return wanted(f.counts()) }, patience, 10*time.Millisecond)
}

func TestBadFlags(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"extra"}, `argument "extra": there are only flags`},
		{[]string{"--concurrency", "0"}, "--concurrency 0: must be 1..10000"},
		{[]string{"--weight", "101"}, "--weight 101: must be 1..100"},
		{[]string{"--max-attempts", "1001"}, "--max-attempts 1001: must be 1..1000"},
		{[]string{"--task-timeout", "0s"}, "--task-timeout 0s: must be above 0"},
		{[]string{"--drain-timeout", "-1s"}, "--drain-timeout -1s: must be 0..1h"},
		{[]string{"--session-timeout", "10ms"}, "--session-timeout 10ms: must be 1s..5m"},
		{[]string{"--history", "48h"}, "--history 48h0m0s: must be 24h0m0s"},
		{[]string{"--log-format", "xml"}, "--log-format"},
		{[]string{"--endpoint", "localhost:2136"}, "--endpoint"},
		{[]string{"--per-host", "-1"}, "--per-host -1: must be 0..10000"},
		{[]string{"--break-after", "-1"}, "--break-after -1: must be 0..10000"},
		{[]string{"--break-for", "0s"}, "--break-for 0s: must be above 0"},
		{withEndpoint("--allow-host", "http://x"), `--allow-host: rule "http://x"`},
		{withEndpoint("--deny-host", "10.0.0.0/99"), `--deny-host: rule "10.0.0.0/99"`},
		{withEndpoint("--allow-port", "ssh"), `--allow-port: port "ssh"`},
		{withEndpoint("--outbound-proxy", "proxy"), "--outbound-proxy: must be a URL"},
		{withEndpoint("--nat64-prefix", "64:ff9b::/99"), `--nat64-prefix: prefix "64:ff9b::/99"`},
		{withEndpoint("--credential", "ref=env:NO_SUCH_TOKEN,provider=http,in=sign,url=x.example/"), `--credential: credential "env:NO_SUCH_TOKEN": is empty or not set`},
		{withEndpoint("--credential", "ref=file:x,provider=http,in=sign,url=x.example/"), "there is no --credentials-dir"},
		{withEndpoint("--credential", "ref=env:PATH,provider=http,in=sign,url=x.example"), `url "https://x.example": has no path`},
		{withEndpoint("--credential", "env:PATH=x.example"), "a grant that names only hosts is not read any more"},
		{withEndpoint("--sqs-queue", "q", "--sqs-access-key", "env:NO_SUCH_KEY"), `"env:NO_SUCH_KEY": is empty or not set`},
		{withEndpoint("--sqs-queue", "a b", "--sqs-access-key", "env:PATH", "--sqs-secret-key", "env:PATH"), `--sqs-queue "a b"`},
		{withEndpoint("--push-event-url", "host/x"), `--push-event-url "host/x": must be a URL`},
		{withEndpoint("--sqs-queue", "q", "--sqs-endpoint", "host"), `--sqs-endpoint "host": must be a URL`},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			t.Parallel()
			var stderr output
			require.Equal(t, cli.ExitUsage, run(t.Context(), c.args, nil, io.Discard, &stderr))
			require.Contains(t, stderr.String(), c.want)
			require.Contains(t, stderr.String(), "see worker --help")
		})
	}
}

func withEndpoint(args ...string) []string {
	return append([]string{"--endpoint", "grpc://127.0.0.1:1/local", "--metrics-addr", ""}, args...)
}

func TestHelpShowsExamples(t *testing.T) {
	t.Parallel()
	var stdout output
	require.Equal(t, cli.ExitOK, run(t.Context(), []string{"--help"}, nil, &stdout, io.Discard))
	for _, want := range []string{"worker --endpoint grpc://localhost:2136/local", "--drain-timeout", "X-Task-ID", "YDB_CONNECTION_STRING"} {
		require.Contains(t, stdout.String(), want)
	}
}

func TestNoSchemaSaysWhatToRun(t *testing.T) {
	t.Parallel()
	dsn, d := testdb.DSN(t)
	var stderr output
	code := run(t.Context(), []string{"--endpoint", dsn, "--folder", d.Folder, "--metrics-addr", ""}, nil, io.Discard, &stderr)
	require.Equal(t, cli.ExitFailed, code)
	require.Contains(t, stderr.String(), "run `taskctl migrate up --endpoint "+dsn+" --folder "+d.Folder)
}

func TestDeliversTasks(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	var mu sync.Mutex
	attempts := make(map[string]string)
	sink := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var payload struct{ N int }
		if err := json.NewDecoder(r.Body).Decode(&payload); err != nil || r.Header.Get("Content-Type") != "application/json" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		attempts[r.Header.Get("X-Task-ID")] = r.Header.Get("X-Task-Attempt")
	}))
	defer sink.Close()
	tasks := make([]task.Task, 100)
	for i := range tasks {
		tasks[i] = task.Task{ID: fmt.Sprintf("t%d", i), Payload: fmt.Appendf(nil, `{"url":%q,"n":%d}`, sink.URL, i)}
	}
	f.enqueue(append(tasks, task.Task{ID: "bad", Payload: []byte(`{"n":1}`)})...)

	stderr, stop := f.start(io.Discard, "--allow-private", "--worker-id", "w1", "--metrics-addr", "127.0.0.1:0")
	f.await(func(s taskstore.Stats) bool { return s.Completed == 100 && s.Dead == 1 })
	require.Contains(t, stderr.String(), `msg="worker ready" id=w1`)
	require.Zero(t, stop(), stderr.String())
	require.Contains(t, stderr.String(), `msg="worker stopped" id=w1`)
	require.Len(t, attempts, 100)
	for id, attempt := range attempts {
		require.Equal(t, "1", attempt, id)
	}
}

// TestTasksReachWhatTheOperatorMeant: without --allow-private a task that names a
// server of this machine is dead, and the server never hears of it.
func TestTasksReachWhatTheOperatorMeant(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	sink := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("reached") }))
	defer sink.Close()
	var tasks []task.Task
	for _, url := range []string{sink.URL, "http://169.254.169.254/latest/meta-data/", "http://2130706433/", "http://metadata.google.internal/"} {
		tasks = append(tasks, task.Task{Payload: fmt.Appendf(nil, `{"url":%q}`, url)})
	}
	tasks = append(tasks, task.Task{Kind: "ci-trigger", Payload: []byte(`{"provider":"gitlab","url":"` + sink.URL + `","project":"p","ref":"r","token":"env:PATH"}`)})
	f.enqueue(tasks...)
	_, stop := f.start(io.Discard)
	f.await(func(s taskstore.Stats) bool { return s.Dead == uint64(len(tasks)) })
	require.Zero(t, stop())
	dead, err := f.store.Dead(t.Context(), "", task.Key{}, 10)
	require.NoError(t, err)
	for _, d := range dead {
		require.Regexp(t, "refused: |not granted", d.LastError)
	}
}

// I9: a stop that is asked for burns no attempt and loses no result.
func TestI9StopBurnsNoAttemptAndLosesNoResult(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	arrived, release := make(chan string, 64), make(chan struct{})
	sink := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		arrived <- r.Header.Get("X-Task-ID") + " " + r.Header.Get("X-Task-Attempt")
		<-release
	}))
	defer sink.Close()
	tasks := make([]task.Task, 20)
	for i := range tasks {
		tasks[i] = task.Task{ID: fmt.Sprintf("t%d", i), Payload: fmt.Appendf(nil, `{"url":%q}`, sink.URL)}
	}
	f.enqueue(tasks...)

	_, stop := f.start(io.Discard, "--allow-private", "--concurrency", "2")
	<-arrived
	<-arrived
	stopped := make(chan int, 1)
	go func() { stopped <- stop() }()
	// Two are running; what was claimed and has not started goes back meanwhile.
	f.await(func(s taskstore.Stats) bool { return s.Locked == 2 })
	close(release)
	require.Zero(t, <-stopped)
	stats := f.counts()
	// What was running when the stop began is recorded, everything else is back.
	require.GreaterOrEqual(t, stats.Completed, uint64(2))
	require.EqualValues(t, 20, stats.Completed+stats.Pending)

	_, stop = f.start(io.Discard, "--allow-private")
	f.await(func(s taskstore.Stats) bool { return s.Completed == 20 })
	require.Zero(t, stop())
	for len(arrived) > 0 {
		require.True(t, strings.HasSuffix(<-arrived, " 1"), "every task was delivered at its first attempt")
	}
}

func TestStoppedBeforeItBeganIsNoFailure(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cli.ErrSignal)
	var stderr output
	require.Zero(t, run(ctx, []string{"--endpoint", "grpc://127.0.0.1:1/local", "--metrics-addr", ""}, nil, io.Discard, &stderr), stderr.String())
}
