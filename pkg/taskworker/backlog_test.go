package taskworker_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/internal/taskmodel"
	"github.com/taskfleet/taskfleet/pkg/task"
	"github.com/taskfleet/taskfleet/pkg/taskworker"
)

// counted makes a worker whose tasks wait for a handler that never ends, so that
// the backlog stays, and counts the counts.
func counted(t *testing.T, model *taskmodel.Model, cfg taskworker.Config) (*bundle, *atomic.Int64) {
	counts := &atomic.Int64{}
	model.Hook = func(_ context.Context, op string) error {
		if op == "count_runnable" {
			counts.Add(1)
		}
		return nil
	}
	b := &bundle{t: t, model: model, seen: &recorder{}}
	cfg.Counter, cfg.Concurrency, cfg.Prefetch = model, 1, -1
	b.worker = newWorker(t, model, b.seen, cfg, func(ctx context.Context, _ *task.Task) error {
		<-ctx.Done()
		return ctx.Err()
	})
	require.NoError(t, b.worker.Start(t.Context()))
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		require.NoError(t, b.worker.Stop(ctx))
	})
	return b, counts
}

// TestBacklogsOfWorkersAddUp: each counts its own partitions, so that the sum is
// the fleet's, also after a partition moved.
func TestBacklogsOfWorkersAddUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := taskmodel.New(time.Now)
		a, _ := counted(t, model, taskworker.Config{})
		b, _ := counted(t, model, taskworker.Config{})
		sum := func() taskworker.Backlog {
			x, y := a.seen.waits(), b.seen.waits()
			return taskworker.Backlog{
				Partitions: x.Partitions + y.Partitions, Pending: x.Pending + y.Pending,
				Locked: x.Locked + y.Locked, Delayed: x.Delayed + y.Delayed, Oldest: max(x.Oldest, y.Oldest),
			}
		}
		a.own(0, 1)
		b.own(2, 3)
		a.add(
			task.Task{Partition: 0}, task.Task{Partition: 0},
			task.Task{Partition: 2}, task.Task{Partition: 3, Delay: 24 * time.Hour},
		)
		after(5 * time.Second) // a's only handler has a task of 0, so that none of 1 starts
		a.add(task.Task{Partition: 1})
		after(2 * time.Minute)
		want := taskworker.Backlog{Partitions: 4, Pending: 2, Locked: 2, Delayed: 1}
		got := sum()
		require.InDelta(t, 110, got.Oldest.Seconds(), 20)
		got.Oldest = 0
		require.Equal(t, want, got)

		require.NoError(t, a.worker.Revoke(t.Context(), 1))
		b.own(1)
		after(3 * time.Second)
		got = sum()
		got.Oldest = 0
		require.Equal(t, want, got, "soon after the move, not at the next count of all")
		require.Equal(t, 1, a.seen.waits().Partitions)
	})
}

// TestCountingReadsRowsAtABoundedRate: with a large backlog the counts become
// rare, with none they come every CountEvery.
func TestCountingReadsRowsAtABoundedRate(t *testing.T) {
	for name, c := range map[string]struct{ tasks, least, most int }{
		"small": {10, 40, 81},   // every 7.5 to 15 s
		"large": {6000, 10, 21}, // 6000 rows at 100 a second: every 30 to 60 s
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				model := taskmodel.New(time.Now)
				b, counts := counted(t, model, taskworker.Config{CountRows: 100})
				b.add(tasks(c.tasks, 4)...)
				b.own(0, 1, 2, 3)
				after(10 * time.Minute)
				require.GreaterOrEqual(t, int(counts.Load()), c.least)
				require.LessOrEqual(t, int(counts.Load()), c.most)
				require.EqualValues(t, c.tasks, b.seen.waits().Pending+b.seen.waits().Locked)
			})
		})
	}
}

// TestCountsThatFailBecomeRare: a count fails where the backlog is largest, so it
// is not repeated at the pace of one that is small.
func TestCountsThatFailBecomeRare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := taskmodel.New(time.Now)
		b, _ := counted(t, model, taskworker.Config{})
		var counts atomic.Int64
		model.Hook = func(_ context.Context, op string) error {
			if op == "count_runnable" {
				counts.Add(1)
				return errors.New("timeout")
			}
			return nil
		}
		b.own(0, 1)
		for i := range 60 { // partitions come and go meanwhile
			after(time.Minute)
			b.own(uint16(2 + i))
		}
		require.LessOrEqual(t, counts.Load(), int64(10))
		require.Positive(t, counts.Load())
	})
}
