//go:build !race

package invariants

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/internal/taskstore"
	"github.com/taskfleet/taskfleet/pkg/task"
	"github.com/taskfleet/taskfleet/pkg/taskworker"
)

// fleetOf starts plain workers with the default settings that share the partitions.
func (f *refereed) fleetOf(n int, cfg taskworker.Config) {
	f.t.Helper()
	for i := range n {
		cfg.Owner = fmt.Sprint("plain", i)
		cfg.Handlers = map[string]taskworker.Handler{"k": f.handle}
		cfg.Logger = slog.New(slog.DiscardHandler)
		w, err := taskworker.New(f.store, cfg)
		require.NoError(f.t, err)
		require.NoError(f.t, w.Start(f.t.Context()))
		m := &member{name: cfg.Owner, worker: w}
		f.workers = append(f.workers, m)
		f.t.Cleanup(func() { m.stop(f.t, 10*time.Second) })
	}
	for p := range uint16(partitions) {
		f.take(p, f.workers[int(p)%n])
	}
}

// TestBudgetAtSaturation measures what a drained task costs, batches included.
func TestBudgetAtSaturation(t *testing.T) {
	const n = 20_000
	f := newRefereed(t, 1, func(context.Context, *task.Task) error { return nil })
	enqueued := f.store.Usage()
	for range n / 1000 {
		batch := task.Batch{ID: uuid.NewString()}
		for range 1000 {
			id := uuid.Must(uuid.NewV7()).String()
			batch.Tasks = append(batch.Tasks, task.Task{
				ID: id, Partition: task.PartitionOf(id, partitions), Kind: "k", Priority: uint8(f.rand.IntN(256)),
				Payload: []byte(`{"url":"http://127.0.0.1:8080/hook","n":12345}`),
			})
		}
		_, err := f.store.Enqueue(t.Context(), batch)
		require.NoError(t, err)
	}
	before := f.store.Usage()
	begin := time.Now()
	done := make(chan struct{})
	counted := &counter{want: n, done: done}
	f.fleetOf(1, taskworker.Config{Observer: counted})
	select {
	case <-done:
	case <-time.After(2 * time.Minute):
		t.Fatal("not drained")
	}
	took := time.Since(begin)
	drain, all := f.store.Usage().Sub(before), f.store.Usage().Sub(enqueued)
	per := func(x uint64) float64 { return float64(x) / n }
	t.Logf("%.0f tasks/s; per task: %.3f statements, %.2f rows read, %.2f units with the enqueue; aborted %d of %d",
		n/took.Seconds(), per(drain.Statements), per(drain.RowsRead), per(all.RequestUnits), drain.Aborted, drain.Statements)
	require.LessOrEqual(t, per(drain.Statements), 0.1)
	require.LessOrEqual(t, per(drain.RowsRead), 4.0)
	require.LessOrEqual(t, per(all.RequestUnits), 12.0)
	require.Less(t, float64(drain.Aborted)/float64(drain.Statements), 0.01)
}

// TestBudgetOfAnIdleFleet counts statements with the slow sweep of a fleet that
// is woken otherwise.
func TestBudgetOfAnIdleFleet(t *testing.T) {
	t.Parallel()
	f := newRefereed(t, 1, func(context.Context, *task.Task) error { return nil })
	f.fleetOf(4, taskworker.Config{SweepMin: 2 * time.Second, SweepMax: 10 * time.Second})
	idle := func() taskstore.Usage {
		before := f.store.Usage()
		timer := time.NewTimer(5 * time.Second)
		<-timer.C
		return f.store.Usage().Sub(before)
	}
	idle() // until the sweeps have slowed down
	require.LessOrEqual(t, idle().Statements, uint64(10), "in 5 seconds")
}

// counter closes done when so many tasks are finished.
type counter struct {
	taskworker.NopObserver
	log  history
	n    int
	want int
	done chan struct{}
}

func (c *counter) Finished(string, task.Outcome, time.Duration) {
	c.log.do(func() {
		if c.n++; c.n == c.want {
			close(c.done)
		}
	})
}
