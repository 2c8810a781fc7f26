package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	ydb "github.com/ydb-platform/ydb-go-sdk/v3"
	"go.uber.org/goleak"

	"github.com/taskfleet/taskfleet/internal/cli"
	"github.com/taskfleet/taskfleet/internal/migrate"
	"github.com/taskfleet/taskfleet/internal/taskstore"
	"github.com/taskfleet/taskfleet/pkg/task"
	"github.com/taskfleet/taskfleet/pkg/taskproducer"
	"github.com/taskfleet/taskfleet/pkg/ydbembed"
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

// start runs the command; stop asks it to end and returns its exit code.
func start(t *testing.T, args ...string) (stderr *output, stop func() int) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(t.Context()))
	stderr = &output{}
	code := make(chan int, 1)
	go func() { code <- run(ctx, args, strings.NewReader(""), io.Discard, stderr) }()
	return stderr, func() int {
		cancel(cli.ErrSignal)
		return <-code
	}
}

// fleet is a server with a fleet of eight partitions in it.
func fleet(t *testing.T) (dsn string, db *ydb.Driver) {
	t.Helper()
	server, err := ydbembed.Start(t.Context(), ydbembed.Config{Memory: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	db, err = ydb.Open(t.Context(), server.DSN())
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		require.NoError(t, db.Close(ctx))
	})
	_, err = migrate.Up(t.Context(), db, migrate.Options{Partitions: 8})
	require.NoError(t, err)
	return server.DSN(), db
}

func enqueue(t *testing.T, db *ydb.Driver, tasks ...task.Task) {
	t.Helper()
	producer, err := taskproducer.Open(t.Context(), db, taskproducer.Config{Folder: "taskfleet"})
	require.NoError(t, err)
	_, err = producer.Enqueue(t.Context(), tasks...)
	require.NoError(t, err)
}

func counts(t *testing.T, db *ydb.Driver) taskstore.Stats {
	t.Helper()
	stats, err := taskstore.New(db, taskstore.Options{}).Stats(t.Context())
	require.NoError(t, err)
	return stats
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
		{[]string{"--planner", "all"}, `--planner "all": must be peers or leader`},
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
	server, err := ydbembed.Start(t.Context(), ydbembed.Config{Memory: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	var stderr output
	code := run(t.Context(), []string{"--endpoint", server.DSN(), "--metrics-addr", ""}, nil, io.Discard, &stderr)
	require.Equal(t, cli.ExitFailed, code)
	require.Contains(t, stderr.String(), "run `taskctl migrate up --endpoint "+server.DSN())
}

func TestDeliversTasks(t *testing.T) {
	t.Parallel()
	dsn, db := fleet(t)
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
	enqueue(t, db, append(tasks, task.Task{ID: "bad", Payload: []byte(`{"n":1}`)})...)

	stderr, stop := start(t, "--endpoint", dsn, "--allow-private", "--worker-id", "w1", "--metrics-addr", "127.0.0.1:0", "--session-timeout", "3s")
	require.Eventually(t, func() bool {
		stats := counts(t, db)
		return stats.Completed == 100 && stats.Dead == 1
	}, patience, 20*time.Millisecond)
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
	dsn, db := fleet(t)
	sink := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("reached") }))
	defer sink.Close()
	var tasks []task.Task
	for _, url := range []string{sink.URL, "http://169.254.169.254/latest/meta-data/", "http://2130706433/", "http://metadata.google.internal/"} {
		tasks = append(tasks, task.Task{Payload: fmt.Appendf(nil, `{"url":%q}`, url)})
	}
	tasks = append(tasks, task.Task{Kind: "ci-trigger", Payload: []byte(`{"provider":"gitlab","url":"` + sink.URL + `","project":"p","ref":"r","token":"env:PATH"}`)})
	enqueue(t, db, tasks...)
	_, stop := start(t, "--endpoint", dsn, "--metrics-addr", "", "--session-timeout", "3s")
	require.Eventually(t, func() bool { return counts(t, db).Dead == uint64(len(tasks)) }, patience, 20*time.Millisecond)
	require.Zero(t, stop())
	dead, err := taskstore.New(db, taskstore.Options{}).Dead(t.Context(), "", task.Key{}, 10)
	require.NoError(t, err)
	for _, d := range dead {
		require.Regexp(t, "refused: |not granted", d.LastError)
	}
}

// I9: a stop that is asked for burns no attempt and loses no result.
func TestI9StopBurnsNoAttemptAndLosesNoResult(t *testing.T) {
	t.Parallel()
	dsn, db := fleet(t)
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
	enqueue(t, db, tasks...)

	_, stop := start(t, "--endpoint", dsn, "--allow-private", "--concurrency", "2", "--metrics-addr", "", "--session-timeout", "3s")
	<-arrived
	<-arrived
	stopped := make(chan int, 1)
	go func() { stopped <- stop() }()
	// Two are running; what was claimed and has not started goes back meanwhile.
	require.Eventually(t, func() bool { return counts(t, db).Locked == 2 }, patience, 10*time.Millisecond)
	close(release)
	require.Zero(t, <-stopped)
	stats := counts(t, db)
	// What was running when the stop began is recorded, everything else is back.
	require.GreaterOrEqual(t, stats.Completed, uint64(2))
	require.EqualValues(t, 20, stats.Completed+stats.Pending)

	_, stop = start(t, "--endpoint", dsn, "--allow-private", "--metrics-addr", "", "--session-timeout", "3s")
	require.Eventually(t, func() bool { return counts(t, db).Completed == 20 }, patience, 20*time.Millisecond)
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
