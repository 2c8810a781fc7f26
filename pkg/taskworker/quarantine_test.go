package taskworker_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/pkg/task"
	"github.com/taskfleet/taskfleet/pkg/taskworker"
)

// crash leaves dead locks on tasks of partition 0: a worker claims them, and its
// partition gets another epoch.
func (b *bundle) crash(ids ...string) {
	b.t.Helper()
	epochs, err := b.model.Raise(b.t.Context(), []uint16{0}, "dying")
	require.NoError(b.t, err)
	req := task.ClaimRequest{
		ID: fmt.Sprintf("crash-%d", epochs[0]), Owned: []task.Owned{{Partition: 0, Epoch: epochs[0]}}, Margin: time.Hour,
	}
	for _, id := range ids {
		req.Keys = append(req.Keys, task.Key{Rank: 255, ID: id})
	}
	result, err := b.model.Claim(b.t.Context(), req)
	require.NoError(b.t, err)
	require.Len(b.t, result.Claimed, len(ids))
}

func TestACrashSpendsNoAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var attempt, crashes uint32
		b := setup(t, taskworker.Config{}, func(_ context.Context, t *task.Task) error {
			attempt, crashes = t.Attempt, t.Crashes
			return nil
		})
		b.add(task.Task{ID: "x", MaxAttempts: 1})
		b.crash("x")
		b.own(0)
		after(time.Second)
		require.EqualValues(t, 1, attempt)
		require.EqualValues(t, 1, crashes)
		require.Equal(t, task.Completed, b.row("x").Status)
	})
}

// TestSuspectsRunAlone: tasks that were held in two crashes run one at a time
// with nothing beside them, and the others go on in between.
func TestSuspectsRunAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running atomic.Int64
		suspects := map[string]bool{}
		var others atomic.Int64
		b := setup(t, taskworker.Config{Concurrency: 8}, func(_ context.Context, task *task.Task) error {
			defer running.Add(-1)
			if n := running.Add(1); suspects[task.ID] && n != 1 {
				t.Errorf("%s starts beside %d tasks", task.ID, n-1)
			}
			if !suspects[task.ID] {
				time.Sleep(20 * time.Millisecond)
				others.Add(1)
				return nil
			}
			time.Sleep(200 * time.Millisecond)
			if n := running.Load(); n != 1 {
				t.Errorf("%d tasks have started beside %s", n-1, task.ID)
			}
			if task.Crashes != 2 || task.Attempt != 1 {
				t.Errorf("%s: crash %d, attempt %d", task.ID, task.Crashes, task.Attempt)
			}
			return nil
		})
		for i := range 10 { // two seconds of work
			id := fmt.Sprintf("000-%02d", i) // found before the others
			suspects[id] = true
			b.add(task.Task{ID: id})
			b.crash(id)
			b.crash(id)
		}
		b.add(tasks(400, 2)...)
		claims := 0
		b.model.Hook = func(_ context.Context, op string) error {
			if op == "claim" {
				claims++
			}
			return nil
		}
		b.own(0, 1)
		after(time.Second)
		require.Greater(t, others.Load(), int64(120), "the others have half of the time")
		after(time.Minute)
		require.Equal(t, 410, b.model.Count(task.Completed))
		require.Less(t, claims, 150, "what is claimed runs, but for what waits when a suspect runs")
		b.seen.read(func() { require.Equal(t, 10, b.seen.quarantined) })
	})
}

// TestASuspectRunsBeforeWhatWaits: giving back what waits, so that the suspect runs
// alone, does not let it be forgotten for what was given back.
func TestASuspectRunsBeforeWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		var at time.Duration
		b := setup(t, taskworker.Config{Concurrency: 2}, func(_ context.Context, t *task.Task) error {
			if t.ID == "s" {
				at = time.Since(begin)
				return nil
			}
			time.Sleep(10 * time.Second)
			return nil
		})
		b.add(tasks(10, 1)...)
		b.add(task.Task{ID: "s"}) // behind them, in the same read
		b.crash("s")
		b.crash("s")
		b.own(0)
		after(10 * time.Minute)
		require.Less(t, at, 50*time.Second, "before the last of the others")
		require.Equal(t, 11, b.model.Count(task.Completed))
	})
}

// TestASuspectDoesNotWaitForEver: a handler that takes long delays it, no longer
// than aloneFor.
func TestASuspectDoesNotWaitForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		var at time.Duration
		b := setup(t, taskworker.Config{Concurrency: 3}, func(ctx context.Context, t *task.Task) error {
			switch t.ID {
			case "long":
				<-ctx.Done() // its timeout
			case "s":
				at = time.Since(begin)
				time.Sleep(2 * time.Minute)
			}
			return nil
		})
		b.add(task.Task{ID: "long", Partition: 1, Timeout: 4 * time.Minute})
		b.own(1)
		after(time.Second)
		b.add(task.Task{ID: "s"})
		b.crash("s")
		b.crash("s")
		b.own(0)
		after(10 * time.Second)
		b.add(task.Task{ID: "other", Partition: 1})
		after(10 * time.Second)
		require.Zero(t, at)
		require.Equal(t, task.Pending, b.row("other").Status, "it waits while the suspect waits")
		after(20 * time.Second)
		require.InDelta(t, 31, at.Seconds(), 2)
		after(32 * time.Second)
		require.Equal(t, task.Completed, b.row("other").Status, "and not longer than the suspect may be alone")
		after(5 * time.Minute)
		require.Equal(t, task.Completed, b.row("s").Status)
	})
}

func TestTooManyCrashesEndATaskUncalled(t *testing.T) {
	for _, c := range []struct{ max, crashes int }{{-1, 1}, {1, 1}, {2, 2}, {0, 3}, {5, 5}} {
		t.Run(fmt.Sprint(c.max), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				called := map[string]bool{}
				b := setup(t, taskworker.Config{MaxCrashes: c.max}, func(_ context.Context, t *task.Task) error {
					called[t.ID] = true
					return nil
				})
				b.add(task.Task{ID: "poison"}, task.Task{ID: "good"})
				for range c.crashes {
					b.crash("poison")
				}
				b.own(0)
				after(time.Second)
				require.Equal(t, map[string]bool{"good": true}, called)
				row := b.row("poison")
				require.Equal(t, task.Dead, row.Status)
				require.Zero(t, row.Attempt, "no attempt was made")
				require.Contains(t, row.LastError, fmt.Sprintf("died, or lost its session, %d times", c.crashes))
			})
		})
	}
}
