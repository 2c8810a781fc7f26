package invariants

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	ydb "github.com/ydb-platform/ydb-go-sdk/v3"
	"github.com/ydb-platform/ydb-go-sdk/v3/query"
	"go.uber.org/goleak"

	"github.com/taskfleet/taskfleet/internal/lab/fleet"
	"github.com/taskfleet/taskfleet/internal/taskstore"
	"github.com/taskfleet/taskfleet/pkg/migrate"
	"github.com/taskfleet/taskfleet/pkg/taskproducer"
)

const (
	partitions = 16
	patience   = 90 * time.Second
	poll       = 20 * time.Millisecond
	// sessionTimeout of the workers: short, so that a killed one is missed soon.
	sessionTimeout = 3 * time.Second
)

// TestMain runs the tests, or a worker when a test started this program as one.
func TestMain(m *testing.M) {
	if os.Getenv(asWorker) != "" {
		if err := work(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// programs builds the programs when the first test needs them, and returns their
// folder.
var programs = sync.OnceValues(fleet.Build)

// processes is a fleet of processes with a connection of the test's own.
type processes struct {
	*fleet.Fleet
	t        *testing.T
	db       *ydb.Driver
	store    *taskstore.Store
	producer *taskproducer.Producer
}

func startProcesses(t *testing.T) *processes {
	t.Helper()
	bin, err := programs()
	require.NoError(t, err)
	f, err := fleet.Start(t.Context(), bin)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	db, err := ydb.Open(t.Context(), f.DSN, ydb.WithDialTimeout(time.Second))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close(context.Background())) })
	_, err = migrate.Up(t.Context(), db, migrate.Options{Partitions: partitions})
	require.NoError(t, err)
	producer, err := taskproducer.Open(t.Context(), db, taskproducer.Config{})
	require.NoError(t, err)
	return &processes{Fleet: f, t: t, db: db, store: taskstore.New(db, taskstore.Options{}), producer: producer}
}

// workers starts n workers and waits until they own every partition.
func (b *processes) workers(n int) []string {
	b.t.Helper()
	names := make([]string, n)
	for i := range names {
		var err error
		names[i], err = b.StartWorker("--session-timeout", sessionTimeout.String(), "--drain-timeout", "10s", "--log-level", "debug")
		require.NoError(b.t, err)
	}
	b.balanced()
	return names
}

// balanced waits until every partition has an owner and loads differ by at most one.
func (b *processes) balanced() {
	b.t.Helper()
	b.eventually("the loads are even", func() bool {
		counts := b.Ownership.Counts()
		total, low, high := 0, partitions, 0
		for _, n := range counts {
			total, low, high = total+n, min(low, n), max(high, n)
		}
		return total == partitions && high-low <= 1 && len(counts) == b.Running()
	})
}

func (b *processes) eventually(what string, condition func() bool) {
	b.t.Helper()
	require.Eventually(b.t, func() bool {
		if err := b.Failed(); err != nil {
			b.t.Fatal(err)
		}
		return condition()
	}, patience, poll, what)
}

// drained waits until nothing is left to do, and returns the counts.
func (b *processes) drained() taskstore.Stats {
	b.t.Helper()
	var stats taskstore.Stats
	b.eventually("no task is left", func() bool {
		var err error
		stats, err = b.store.Stats(b.t.Context())
		return err == nil && stats.Pending+stats.Locked+stats.Delayed == 0
	})
	return stats
}

// rows reads all rows of a query, in one snapshot, into scan.
func (b *processes) rows(text string, scan func(row query.Row) error) {
	b.t.Helper()
	text = fmt.Sprintf("PRAGMA TablePathPrefix(%q);\n%s", "/local/taskfleet", text)
	result, err := b.db.Query().QueryResultSet(b.t.Context(), text, query.WithIdempotent(), query.WithTxControl(query.SnapshotReadOnlyTxControl()))
	require.NoError(b.t, err)
	defer func() { require.NoError(b.t, result.Close(context.Background())) }()
	for {
		row, err := result.NextRow(b.t.Context())
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(b.t, err)
		require.NoError(b.t, scan(row))
	}
}

func payload(url string) []byte { return fmt.Appendf(nil, `{"url":%q}`, url) }
