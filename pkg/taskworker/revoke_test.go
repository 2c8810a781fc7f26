package taskworker_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/pkg/task"
	"github.com/taskfleet/taskfleet/pkg/taskworker"
)

func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

func TestRevokeDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, taskworker.Config{Concurrency: 2}, func(context.Context, *task.Task) error {
			time.Sleep(5 * time.Second)
			return nil
		})
		b.add(tasks(40, 2)...)
		b.own(0)
		synctest.Wait() // both handlers have tasks of 0
		b.own(1)
		after(time.Second)
		begin := time.Now()
		require.NoError(t, b.worker.Revoke(within(t, time.Minute), 0))
		require.InDelta(t, 4*time.Second, time.Since(begin), float64(time.Second), "it waits for what runs and no longer")
		for _, row := range b.model.Rows() {
			if row.Partition != 0 {
				continue
			}
			require.Contains(t, []task.Status{task.Pending, task.Completed}, row.Status)
			if row.Status == task.Pending {
				require.Zero(t, row.Attempt, "given back, the attempt does not count")
			}
		}
		done := b.model.Count(task.Completed)
		after(time.Minute)
		require.Greater(t, b.model.Count(task.Completed), done, "the other partition goes on")
		require.NoError(t, b.worker.Revoke(within(t, time.Minute), 0), "what is not owned is revoked already")
	})
}

func TestI6RevokeEndsHandlersAtTheDrainDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cause error
		b := setup(t, taskworker.Config{}, func(ctx context.Context, _ *task.Task) error {
			<-ctx.Done()
			cause = context.Cause(ctx)
			return ctx.Err()
		})
		b.add(task.Task{ID: "x"})
		b.own(0)
		after(time.Second)
		begin := time.Now()
		require.NoError(t, b.worker.Revoke(within(t, 30*time.Second), 0))
		require.Equal(t, 30*time.Second, time.Since(begin))
		require.ErrorIs(t, cause, taskworker.ErrRevoked)
		require.Equal(t, task.Pending, b.row("x").Status)
		require.Zero(t, b.row("x").Attempt)
	})
}

func TestI6AHandlerThatIgnoresItsContextIsAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		b := setup(t, taskworker.Config{AbandonAfter: time.Second, Backoff: func(uint32) time.Duration { return time.Hour }},
			func(context.Context, *task.Task) error { <-release; return nil })
		b.add(task.Task{ID: "revoked"}, task.Task{ID: "slow", Partition: 1, Timeout: 10 * time.Second})
		b.own(0, 1)
		after(time.Second)
		begin := time.Now()
		require.NoError(t, b.worker.Revoke(within(t, 3*time.Second), 0))
		require.Equal(t, 4*time.Second, time.Since(begin), "drain deadline and AbandonAfter")
		require.Equal(t, task.Pending, b.row("revoked").Status)
		require.Zero(t, b.row("revoked").Attempt)

		after(10 * time.Second)
		require.Equal(t, task.Delayed, b.row("slow").Status)
		require.Contains(t, b.row("slow").LastError, "did not return")
		b.seen.read(func() { require.Equal(t, 2, b.seen.abandoned) })

		close(release)
		after(time.Second)
		require.Zero(t, b.model.Count(task.Completed), "what it returns later is dropped")
	})
}

// TestI6HandlersEndWithTheLease: at once; what has not started goes back, and a
// result that a handler has is recorded while its lock value holds.
func TestI6HandlersEndWithTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended atomic.Int64
		b := setup(t, taskworker.Config{Concurrency: 2}, func(ctx context.Context, t *task.Task) error {
			if t.ID == "warm" { // so that a task is claimed ahead
				time.Sleep(time.Second)
				return nil
			}
			<-ctx.Done()
			ended.Add(1)
			time.Sleep(time.Second)
			if t.ID == "done" {
				return nil
			}
			return ctx.Err()
		})
		b.add(task.Task{ID: "warm", Priority: 9})
		endLease := b.own(0)
		after(2 * time.Second)
		b.add(task.Task{ID: "done", MaxAttempts: 1}, task.Task{ID: "cut", MaxAttempts: 1}, task.Task{ID: "waits", MaxAttempts: 1})
		after(2 * time.Second)
		require.Equal(t, 3, b.model.Count(task.Locked), "two run and one waits")
		endLease()
		after(500 * time.Millisecond)
		require.EqualValues(t, 2, ended.Load())
		require.Equal(t, task.Pending, b.row("waits").Status, "at once, though both handlers take their time")
		after(time.Second)
		require.Equal(t, task.Completed, b.row("done").Status)
		for _, id := range []string{"cut", "waits"} {
			require.Equal(t, task.Pending, b.row(id).Status)
			require.Zero(t, b.row(id).Attempt, "no attempt is spent")
		}
		require.NoError(t, b.worker.Revoke(t.Context(), 0))
		b.own(0)
		after(time.Second)
		require.Zero(t, b.row("waits").Crashes, "what was given back did not crash")
	})
}

// TestAPartitionThatComesBackWaitsForItsOldClaims: their locks are this worker's
// own, and no crash.
func TestAPartitionThatComesBackWaitsForItsOldClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var starts atomic.Int64
		b := setup(t, taskworker.Config{AbandonAfter: 10 * time.Second}, func(context.Context, *task.Task) error {
			if starts.Add(1) == 1 {
				time.Sleep(5 * time.Second) // it does not heed its context
				return errors.New("cut off")
			}
			return nil
		})
		b.add(task.Task{ID: "x"})
		endLease := b.own(0)
		after(time.Second)
		endLease()
		b.own(0)
		after(2 * time.Second)
		require.EqualValues(t, 1, starts.Load())
		after(10 * time.Second)
		require.EqualValues(t, 2, starts.Load())
		require.Equal(t, task.Completed, b.row("x").Status)
		require.EqualValues(t, 1, b.row("x").Attempt)
		require.Zero(t, b.row("x").Crashes)
	})
}

func TestI3AResultOfALostLockIsNotRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, taskworker.Config{}, func(context.Context, *task.Task) error {
			time.Sleep(5 * time.Second)
			return nil
		})
		b.add(task.Task{ID: "x"})
		b.own(0)
		after(time.Second)
		// Another worker takes the partition and the task; this one does not know yet.
		epochs, err := b.model.Raise(t.Context(), []uint16{0}, "another")
		require.NoError(t, err)
		_, err = b.model.Claim(t.Context(), task.ClaimRequest{
			ID: "other", Owned: []task.Owned{{Partition: 0, Epoch: epochs[0]}}, Keys: []task.Key{{Rank: 255, ID: "x"}}, Margin: time.Hour,
		})
		require.NoError(t, err)
		after(10 * time.Second)
		require.Equal(t, task.Locked, b.row("x").Status)
		require.Equal(t, "other/1", b.row("x").LockValue)
		b.seen.read(func() {
			require.Equal(t, 1, b.seen.lost)
			require.Empty(t, b.seen.outcomes)
		})
	})
}

func TestI9StopLosesNoResultAndBurnsNoAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, taskworker.Config{Concurrency: 4}, func(ctx context.Context, t *task.Task) error {
			d := time.Second
			if t.Priority == 255 {
				d = time.Hour
			}
			select {
			case <-time.After(d):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		b.model.Hook = func(context.Context, string) error { time.Sleep(20 * time.Millisecond); return nil }
		b.add(task.Task{ID: "long", Priority: 255})
		b.own(0)
		after(200 * time.Millisecond) // it runs: which partition comes first is not said
		b.add(tasks(100, 3)...)
		b.own(1, 2)
		after(2500 * time.Millisecond)
		begin := time.Now()
		require.NoError(t, b.worker.Stop(within(t, 10*time.Second)))
		require.Less(t, time.Since(begin), 11*time.Second)
		completed := 0
		for _, row := range b.model.Rows() {
			switch row.Status {
			case task.Completed:
				completed++
				require.EqualValues(t, 1, row.Attempt)
			case task.Pending:
				require.Zero(t, row.Attempt, row.ID)
			default:
				t.Errorf("task %s is %s", row.ID, row.Status)
			}
		}
		require.Equal(t, 9, completed, "three handlers, three seconds")
		require.Equal(t, task.Pending, b.row("long").Status)

		b.own(0)
		b.add(task.Task{ID: "after"})
		after(time.Minute)
		require.Equal(t, task.Pending, b.row("after").Status, "a stopped worker takes nothing")
		require.NoError(t, b.worker.Revoke(t.Context(), 0))
	})
}
