package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/taskfleet/taskfleet/internal/cli"
	"github.com/taskfleet/taskfleet/internal/taskjson"
	"github.com/taskfleet/taskfleet/internal/taskstore"
	"github.com/taskfleet/taskfleet/internal/testdb"
	"github.com/taskfleet/taskfleet/pkg/migrate"
	"github.com/taskfleet/taskfleet/pkg/ydbembed"
)

// asProducer in the environment makes the test binary the command itself, so that
// a test can kill it.
const asProducer = "TASKFLEET_TEST_AS_PRODUCER"

func TestMain(m *testing.M) {
	if os.Getenv(asProducer) != "" {
		cli.Main(run)
	}
	goleak.VerifyTestMain(m)
}

// fleet is a migrated folder, and the flags that lead there.
type fleet struct {
	*testdb.Database
	flags []string
}

func newFleet(t *testing.T) *fleet {
	t.Helper()
	dsn, d := testdb.DSN(t)
	return migrated(t, dsn, d)
}

func migrated(t *testing.T, dsn string, d *testdb.Database) *fleet {
	t.Helper()
	_, err := migrate.Up(t.Context(), d.DB, migrate.Options{Folder: d.Folder, Partitions: 16})
	require.NoError(t, err)
	return &fleet{d, []string{"--endpoint", dsn, "--folder", d.Folder, "--metrics-addr", "", "--json"}}
}

func (f *fleet) stats(t *testing.T) taskstore.Stats {
	t.Helper()
	stats, err := taskstore.New(f.DB, taskstore.Options{Folder: f.Folder}).Stats(t.Context())
	require.NoError(t, err)
	return stats
}

// produce runs the command and returns its exit code, its last line and its stderr.
func (f *fleet) produce(ctx context.Context, t *testing.T, stdin io.Reader, args ...string) (int, summary, string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := run(ctx, append(append([]string{}, f.flags...), args...), stdin, &stdout, &stderr)
	var got summary
	if stdout.Len() > 0 {
		require.Equal(t, 1, strings.Count(stdout.String(), "\n"), stdout.String())
		require.NoError(t, json.Unmarshal(stdout.Bytes(), &got), stdout.String())
	}
	return code, got, stderr.String()
}

func TestSyntheticLoadHoldsTheRate(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	code, got, stderr := f.produce(t.Context(), t, nil,
		"--target-url", "http://localhost:1/", "--rate", "2400", "--count", "1200", "--delayed-share", "0.5", "--report-interval", "100ms")
	require.Equal(t, cli.ExitOK, code, stderr)
	require.EqualValues(t, 1200, got.Tasks)
	require.EqualValues(t, 1200, got.Enqueued)
	require.Zero(t, got.Failed)
	require.Contains(t, stderr, "msg=progress")
	require.Contains(t, stderr, "1200 tasks: 1200 enqueued, 0 duplicates, 0 invalid, 0 failed")
	stats := f.stats(t)
	require.EqualValues(t, 1200, stats.Pending+stats.Delayed)
	require.InDelta(t, 600, stats.Delayed, 120)
	require.GreaterOrEqual(t, got.Seconds, 0.49)
}

// TestI10BadLinesDoNotStopTheOthers is invariant I10 for the command.
func TestI10BadLinesDoNotStopTheOthers(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	var lines strings.Builder
	for i := 1; i <= 2500; i++ {
		switch i {
		case 17:
			fmt.Fprintln(&lines, `{"priority":300}`)
		case 1000:
			fmt.Fprintln(&lines, `{"prio":3}`)
		case 1500:
			fmt.Fprintln(&lines, `{"id":"github-1"}`)
		case 1600:
			fmt.Fprintln(&lines, `{"run_at":"2105-12-31T23:00:00-12:00"}`)
		case 2000:
			fmt.Fprintln(&lines, strings.Repeat("x", taskjson.MaxLine+1))
		case 2100:
			fmt.Fprintln(&lines)
		default:
			fmt.Fprintf(&lines, `{"payload":{"url":"http://h/","n":%d},"id":"task-%d"}`+"\n", i, i%2400)
		}
	}
	file := filepath.Join(t.TempDir(), "tasks.ndjson")
	require.NoError(t, os.WriteFile(file, []byte(lines.String()), 0o600))

	code, got, stderr := f.produce(t.Context(), t, nil, "--input", file)
	require.Equal(t, cli.ExitFailed, code)
	require.Contains(t, stderr, "line 17: priority 300: must be 0..255\n")
	require.Contains(t, stderr, `line 1000: "prio": unknown field; there are `)
	require.Contains(t, stderr, `line 1500: id "github-1": must not begin with "github-"`)
	require.Contains(t, stderr, "line 1600: run_at 2105-12-31T23:00:00-12:00: must lie between")
	require.Contains(t, stderr, "line 2000: the line is too long: must have at most ")
	require.EqualValues(t, 2499, got.Tasks)
	require.EqualValues(t, 5, got.Invalid)
	require.EqualValues(t, 99, got.Duplicates, "ids 1 to 100 come twice, 17 only the second time")
	require.EqualValues(t, 2395, got.Enqueued)
	require.Zero(t, got.Failed)
	require.EqualValues(t, 2500, got.LastLine)
	require.EqualValues(t, got.Enqueued, f.stats(t).Pending)

	code, got, stderr = f.produce(t.Context(), t, strings.NewReader("{}\n{}"), "--input", "-")
	require.Equal(t, cli.ExitOK, code, stderr)
	require.EqualValues(t, 2, got.Enqueued)
}

// TestASlowStreamIsNotHeldBack: a line goes in within a window, though the
// stream stays open, and a stop does not wait for the stream.
func TestASlowStreamIsNotHeldBack(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	in, out := io.Pipe()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	type result struct {
		code int
		got  summary
	}
	ended := make(chan result, 1)
	go func() {
		code, got, _ := f.produce(ctx, t, in, "--input", "-", "--batch-window", "10ms")
		ended <- result{code, got}
	}()
	for i := range 3 {
		_, err := fmt.Fprintln(out, `{}`)
		require.NoError(t, err)
		require.Eventually(t, func() bool { return f.stats(t).Pending == uint64(i+1) }, 10*time.Second, 5*time.Millisecond)
	}
	stop()
	got := <-ended
	require.Equal(t, cli.ExitOK, got.code)
	require.EqualValues(t, 3, got.got.Enqueued)
	require.EqualValues(t, 3, got.got.LastLine)
	require.NoError(t, out.Close()) // lets the reader go
}

// TestI1SignalDrains: what was made before the signal is stored.
func TestI1SignalDrains(t *testing.T) {
	t.Parallel()
	e := testdb.Start(t, testdb.Options{TCP: true})
	f := migrated(t, e.Server.DSN(), &e.Database)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	slow := e.Faults().Delay("ExecuteQuery", 200*time.Millisecond, ydbembed.Containing("enqueue_batches"), ydbembed.Keep())
	go func() {
		_ = slow.Wait(ctx, 3)
		stop()
	}()
	code, got, stderr := f.produce(ctx, t, nil, "--target-url", "http://localhost:1/", "--rate", "1000", "--batch-window", "20ms", "--delayed-share", "0")
	require.Equal(t, cli.ExitOK, code, stderr)
	require.NotZero(t, got.Enqueued)
	require.Equal(t, got.Tasks, got.Enqueued)
	require.Zero(t, got.Failed)
	require.EqualValues(t, got.Enqueued, f.stats(t).Pending)
}

func TestNoFleetSaysWhatToRun(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	code, _, stderr := f.produce(t.Context(), t, nil, "--target-url", "http://localhost:1/", "--folder", f.Folder+"-missing")
	require.Equal(t, cli.ExitFailed, code)
	require.Regexp(t, "no taskfleet schema in folder "+f.Folder+"-missing of .*: run `taskctl migrate up --endpoint grpc://.* --folder "+f.Folder+"-missing`", stderr)
}

func TestMetricsAreServed(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	stderr := &watched{}
	args := append(append([]string{}, f.flags...), "--metrics-addr", "127.0.0.1:0", "--target-url", "http://localhost:1/", "--rate", "100")
	ended := make(chan int, 1)
	go func() { ended <- run(ctx, args, nil, io.Discard, stderr) }()

	address := regexp.MustCompile(`msg="metrics served" addr=(\S+)`)
	require.Eventually(t, func() bool { return address.MatchString(stderr.String()) }, 10*time.Second, 5*time.Millisecond)
	base := "http://" + address.FindStringSubmatch(stderr.String())[1]
	require.Eventually(t, func() bool {
		return regexp.MustCompile(`(?m)^taskfleet_producer_tasks_total\{kind="http"\} [1-9]`).MatchString(get(t, base+"/metrics"))
	}, 10*time.Second, 20*time.Millisecond)
	require.Equal(t, "ok\n", get(t, base+"/healthz"))

	var taken bytes.Buffer
	args = append(append([]string{}, f.flags...), "--metrics-addr", strings.TrimPrefix(base, "http://"), "--target-url", "http://localhost:1/")
	require.Equal(t, cli.ExitFailed, run(t.Context(), args, nil, io.Discard, &taken))
	require.Contains(t, taken.String(), "is in use by another process")

	stop()
	require.Equal(t, cli.ExitOK, <-ended)
}

func get(t *testing.T, url string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return string(body)
}

// watched is a buffer that may be read while it is written.
type watched struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.Write(p)
}

func (w *watched) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.String()
}
