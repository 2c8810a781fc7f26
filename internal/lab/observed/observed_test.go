//go:build verify

package observed

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	ydb "github.com/ydb-platform/ydb-go-sdk/v3"
	"go.yaml.in/yaml/v3"

	"github.com/taskfleet/taskfleet/internal/lab/fleet"
	"github.com/taskfleet/taskfleet/pkg/migrate"
	"github.com/taskfleet/taskfleet/pkg/task"
	"github.com/taskfleet/taskfleet/pkg/taskproducer"
)

const (
	patience   = 90 * time.Second
	partitions = 32
	later      = 40 // tasks that are due in an hour
)

// TestEveryExpressionReturnsData: a panel or an alert without data is a lie that
// nobody notices.
func TestEveryExpressionReturnsData(t *testing.T) {
	f := startFleet(t)
	p := startPrometheus(t)
	watch := func() { p.scrape(f.Metrics()) }

	// The backlog is exact: what is in the database, whoever owns it.
	for range 2 {
		startWorker(t, f)
	}
	require.Eventually(t, func() bool { watch(); return len(f.Metrics()) == 2 }, patience, 100*time.Millisecond)
	p.eventually(`sum(taskfleet_worker_counted_partitions)`, partitions)
	p.eventually(`sum(taskfleet_worker_backlog_tasks{state="delayed"})`, later)

	// Some work, so that there is something to move.
	_, err := f.StartProducer(nil, "--target-url", f.Sink.URL(), "--rate", "50", "--delayed-share", "0")
	require.NoError(t, err)
	feed(t, f)
	listen(t, f)
	require.Eventually(t, func() bool { watch(); return len(f.Metrics()) == 5 }, patience, 100*time.Millisecond)
	p.eventually(`count(taskfleet_producer_target_tasks_per_second)`, 3)
	// A third worker makes the others drain and hand over; the end of the first
	// one makes the others acquire.
	startWorker(t, f)
	require.Eventually(t, func() bool { watch(); return len(f.Metrics()) == 6 }, patience, 100*time.Millisecond)
	p.eventually(`taskfleet:workers`, 3)
	p.eventually(`taskfleet:unowned_partitions`, 0)
	require.NoError(t, f.StopWorker("worker-1"))
	p.eventually(`taskfleet:workers`, 2)
	p.eventually(`taskfleet:unowned_partitions`, 0)
	p.eventually(`sum(taskfleet_worker_counted_partitions)`, partitions)
	p.eventually(`sum(taskfleet_worker_backlog_tasks{state="delayed"})`, later)

	expressions := append(dashboards(t), rules(t)...)
	require.Greater(t, len(expressions), 80)
	missing := expressions
	for deadline := time.Now().Add(patience); len(missing) > 0 && time.Now().Before(deadline); <-time.After(time.Second) {
		missing = slices.DeleteFunc(missing, func(e expression) bool {
			figures, err := p.query(e.text)
			require.NoError(t, err, "%s: %s", e.where, e.text)
			return len(figures) > 0
		})
	}
	require.Empty(t, missing, "expressions without data")
	require.NoError(t, f.Failed())
}

// startFleet starts a database with a schema and tasks for later, and no worker.
func startFleet(t *testing.T) *fleet.Fleet {
	t.Helper()
	bin, err := fleet.Build()
	require.NoError(t, err)
	f, err := fleet.Start(t.Context(), bin)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	db, err := ydb.Open(t.Context(), f.DSN)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close(context.Background())) })
	_, err = migrate.Up(t.Context(), db, migrate.Options{Partitions: partitions})
	require.NoError(t, err)
	producer, err := taskproducer.Open(t.Context(), db, taskproducer.Config{})
	require.NoError(t, err)
	tasks := make([]task.Task, later)
	for i := range tasks {
		tasks[i].Delay = time.Hour
	}
	_, err = producer.Enqueue(t.Context(), tasks...)
	require.NoError(t, err)
	return f
}

func startWorker(t *testing.T, f *fleet.Fleet) {
	t.Helper()
	_, err := f.StartWorker("--session-timeout", "3s", "--max-attempts", "1")
	require.NoError(t, err)
}

// listen starts a producer that takes tasks over HTTP, and posts some.
func listen(t *testing.T, f *fleet.Fleet) {
	t.Helper()
	const token = "0123456789abcdef0123456789abcdef"
	t.Setenv("OBSERVED_TOKEN", token)
	address := freeAddress(t)
	p, err := f.StartProducer(nil, "--listen", address, "--token-env", "OBSERVED_TOKEN")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Stop(patience)) })
	every(t, 300*time.Millisecond, func() {
		body := strings.NewReader(fmt.Sprintf(`{"payload":{"url":%q}}`, f.Sink.URL()))
		request, err := http.NewRequest(http.MethodPost, "http://"+address+"/v1/tasks", body)
		if err != nil {
			panic(err)
		}
		request.Header.Set("Authorization", "Bearer "+token)
		request.Header.Set("Content-Type", "application/json")
		if response, err := http.DefaultClient.Do(request); err == nil { // it may not listen yet
			response.Body.Close()
		}
	})
}

// every calls f again and again until the test ends.
func every(t *testing.T, pause time.Duration, f func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	t.Cleanup(func() { cancel(); <-done })
	go func() {
		defer close(done)
		for {
			f()
			select {
			case <-ctx.Done():
				return
			case <-time.After(pause):
			}
		}
	}()
}

// feed starts a producer that reads lines from a pipe, and writes some: good
// ones, one that is refused, one twice, and one whose target does not answer.
func feed(t *testing.T, f *fleet.Fleet) {
	t.Helper()
	pipe := filepath.Join(t.TempDir(), "tasks")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	w, err := os.OpenFile(pipe, os.O_RDWR, 0) // so that the producer's end stays open
	require.NoError(t, err)
	p, err := f.StartProducer(nil, "--input", pipe)
	require.NoError(t, err)
	t.Cleanup(func() {
		p.Signal(syscall.SIGTERM)
		w.Close()
		<-p.Done() // with 1: a line was bad
	})
	every(t, 500*time.Millisecond, func() {
		fmt.Fprintf(w, `{"id":"one","payload":{"url":%q}}`+"\n", f.Sink.URL())
		fmt.Fprintln(w, `{"priority":999,"payload":{}}`)
		fmt.Fprintln(w, `{"payload":{"url":"http://127.0.0.1:1/"}}`)
	})
}

// expression is one that people rely on.
type expression struct{ where, text string }

// dashboards lists the expressions of the committed dashboards, with Grafana's
// variables filled in.
func dashboards(t *testing.T) []expression {
	t.Helper()
	files, err := filepath.Glob("../../../deploy/grafana/dashboards/*.json")
	require.NoError(t, err)
	require.Len(t, files, 5)
	var all []expression
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var board struct {
			Panels []struct {
				Title   string
				Targets []struct{ Expr string }
			}
		}
		require.NoError(t, json.Unmarshal(text, &board))
		for _, panel := range board.Panels {
			for _, target := range panel.Targets {
				filled := strings.NewReplacer("$fleet", "test", "$__rate_interval", "1m").Replace(target.Expr)
				require.NotContains(t, filled, "$")
				all = append(all, expression{filepath.Base(file) + ": " + panel.Title, filled})
			}
		}
	}
	return all
}

// alertForm is what every alert looks like: a recorded figure and a number, or
// the absence of a figure.
var alertForm = regexp.MustCompile(`^(?:(taskfleet:\w+) > [0-9.]+|absent\((taskfleet:\w+)\))$`)

// rules lists the expressions of the rules and the figures that the alerts look at.
func rules(t *testing.T) []expression {
	t.Helper()
	text, err := os.ReadFile("../../../deploy/prometheus/rules.yml")
	require.NoError(t, err)
	var file struct {
		Groups []struct {
			Rules []struct{ Record, Alert, Expr string }
		}
	}
	require.NoError(t, yaml.Unmarshal(text, &file))
	var all []expression
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			if r.Record != "" {
				all = append(all, expression{"record " + r.Record, r.Expr})
				continue
			}
			parts := alertForm.FindStringSubmatch(r.Expr)
			require.NotNil(t, parts, "alert %s: %s", r.Alert, r.Expr)
			all = append(all, expression{"alert " + r.Alert, parts[1] + parts[2]})
		}
	}
	return all
}
