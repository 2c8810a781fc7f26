package taskworker_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/internal/taskmodel"
	"github.com/taskfleet/taskfleet/pkg/task"
	"github.com/taskfleet/taskfleet/pkg/taskworker"
)

func TestMostUrgentFirstThenFirstInFirstOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran []string
		b := setup(t, taskworker.Config{Concurrency: 1}, func(_ context.Context, t *task.Task) error {
			ran = append(ran, t.ID)
			return nil
		})
		b.add(task.Task{ID: "a", Priority: 1}, task.Task{ID: "b", Priority: 9}, task.Task{ID: "c", Priority: 9}, task.Task{ID: "d", Priority: 200})
		b.own(0)
		after(time.Second)
		require.Equal(t, []string{"d", "b", "c", "a"}, ran)
	})
}

func TestEveryTaskRunsOnceAndInBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		ran := map[string]int{}
		b := setup(t, taskworker.Config{}, func(_ context.Context, t *task.Task) error {
			time.Sleep(time.Millisecond)
			mu.Lock()
			defer mu.Unlock()
			ran[t.ID]++
			return nil
		})
		var statements atomic.Int64
		b.model.Hook = func(context.Context, string) error {
			statements.Add(1)
			time.Sleep(2 * time.Millisecond)
			return nil
		}
		const n = 4_000
		b.add(tasks(n, 64)...)
		own := make([]uint16, 64)
		for i := range own {
			own[i] = uint16(i)
		}
		b.own(own...)
		for b.model.Count(task.Completed) < n {
			after(100 * time.Millisecond)
		}
		require.Len(t, ran, n)
		for id, times := range ran {
			require.Equal(t, 1, times, id)
		}
		require.Less(t, float64(statements.Load())/n, 0.1, "statements per task")
	})
}

func TestConcurrencyAndBuffersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int64
		b := setup(t, taskworker.Config{Concurrency: 8, Prefetch: 4, FinishBatch: 4}, func(context.Context, *task.Task) error {
			most.Store(max(most.Load(), now.Add(1)))
			time.Sleep(10 * time.Millisecond)
			now.Add(-1)
			return nil
		})
		b.add(tasks(500, 2)...)
		b.own(0, 1)
		after(10 * time.Second)
		require.Equal(t, 500, b.model.Count(task.Completed))
		require.EqualValues(t, 8, most.Load())
		b.seen.read(func() {
			require.LessOrEqual(t, b.seen.most.Waiting, 12)
			require.LessOrEqual(t, b.seen.most.Running, 8)
		})
	})
}

func TestAFullBacklogOfOutcomesStopsClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, taskworker.Config{Concurrency: 4, FinishBatch: 4, FinishBacklog: 8}, func(context.Context, *task.Task) error { return nil })
		var down atomic.Bool
		down.Store(true)
		b.model.Hook = func(_ context.Context, op string) error {
			if op == "finish" && down.Load() {
				return errors.New("overloaded")
			}
			return nil
		}
		b.add(tasks(200, 1)...)
		b.own(0)
		after(time.Minute)
		require.Zero(t, b.model.Count(task.Completed))
		require.LessOrEqual(t, b.model.Count(task.Locked), 8+4+4)
		down.Store(false)
		after(time.Minute)
		require.Equal(t, 200, b.model.Count(task.Completed), "and they go on when the database does")
	})
}

func TestABusyPartitionDoesNotStarveTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		done := map[uint16]time.Time{}
		b := setup(t, taskworker.Config{Concurrency: 2}, func(_ context.Context, t *task.Task) error {
			time.Sleep(10 * time.Millisecond)
			mu.Lock()
			defer mu.Unlock()
			done[t.Partition] = time.Now()
			return nil
		})
		b.add(tasks(2_000, 1)...)
		b.own(0, 1)
		after(time.Second)
		begin := time.Now()
		b.add(task.Task{ID: "late", Partition: 1})
		after(2 * time.Second)
		mu.Lock()
		defer mu.Unlock()
		require.Less(t, done[1].Sub(begin), 1500*time.Millisecond)
	})
}

// TestWhatWaitsIsOrderedByRank: of what one claim brings, the most urgent starts
// first, whatever the partition.
func TestWhatWaitsIsOrderedByRank(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran []uint8
		b := setup(t, taskworker.Config{Concurrency: 1, Prefetch: 64}, func(_ context.Context, t *task.Task) error {
			ran = append(ran, t.Priority)
			time.Sleep(10 * time.Millisecond)
			return nil
		})
		b.own(0, 1, 2, 3)
		b.add(tasks(20, 1)...)
		after(time.Minute) // what handlers take is measured; the idle partitions are polled together
		ran = nil
		for range 8 {
			b.add(task.Task{Partition: 1, Priority: 1}, task.Task{Partition: 2, Priority: 200}, task.Task{Partition: 3, Priority: 100})
		}
		after(time.Minute)
		require.Len(t, ran, 24)
		// The claim leaves some of the last partition to the next one.
		require.IsNonIncreasing(t, ran[:20])
	})
}

// TestFewAreClaimedAheadOfSlowHandlers: an urgent task finds its place before the
// handlers are through with what was there.
func TestFewAreClaimedAheadOfSlowHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at time.Time
		b := setup(t, taskworker.Config{Concurrency: 2, Prefetch: 64}, func(_ context.Context, t *task.Task) error {
			if t.ID == "urgent" {
				at = time.Now()
			}
			time.Sleep(3 * time.Second)
			return nil
		})
		b.add(tasks(200, 2)...)
		b.own(0, 1)
		after(10 * time.Second)
		require.LessOrEqual(t, b.model.Count(task.Locked), 2+1)
		begin := time.Now()
		b.add(task.Task{ID: "urgent", Priority: 255})
		after(time.Minute)
		require.False(t, at.IsZero())
		require.Less(t, at.Sub(begin), 13*time.Second, "the next rewind, and two handlers")
	})
}

// TestABusyPartitionIsPolledAlone: the others keep their pace, which is at most two
// reads a second where nothing is found.
func TestABusyPartitionIsPolledAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, taskworker.Config{}, nothing)
		own := make([]uint16, 256)
		for i := range own {
			own[i] = uint16(i)
		}
		b.own(own...)
		after(time.Minute)
		b.seen.read(func() { b.seen.reads, b.seen.readPartitions = 0, 0 })
		const seconds = 20
		for range 20 * seconds {
			b.add(task.Task{})
			after(50 * time.Millisecond)
		}
		after(time.Second)
		require.Equal(t, 20*seconds, b.model.Count(task.Completed))
		b.seen.read(func() {
			require.Less(t, b.seen.reads, 40*seconds, "for 20 tasks a second")
			require.Less(t, b.seen.readPartitions, 40*seconds+255*(2*(seconds+1)+1), "the others as when they are alone")
		})
	})
}

// TestManyDueTasksArePromotedWithoutAPause: a round that leaves due tasks behind
// is followed by the next at once.
func TestManyDueTasksArePromotedWithoutAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, taskworker.Config{PromoteBatch: 100}, func(ctx context.Context, _ *task.Task) error {
			<-ctx.Done()
			return ctx.Err()
		})
		b.own(0)
		due := tasks(10_000, 1)
		for i := range due {
			due[i].Delay = 5 * time.Second
		}
		b.add(due...)
		after(6500 * time.Millisecond)
		require.Zero(t, b.model.Count(task.Delayed))
		stop, cancel := context.WithCancel(t.Context())
		cancel()
		require.NoError(t, b.worker.Stop(stop))
	})
}

func TestMoreUrgentWorkOvertakesABacklog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at time.Time
		b := setup(t, taskworker.Config{Concurrency: 2}, func(_ context.Context, t *task.Task) error {
			time.Sleep(10 * time.Millisecond)
			if t.ID == "urgent" {
				at = time.Now()
			}
			return nil
		})
		b.add(tasks(2_000, 1)...)
		b.own(0)
		after(time.Second)
		begin := time.Now()
		b.add(task.Task{ID: "urgent", Priority: 255})
		after(10 * time.Second)
		require.False(t, at.IsZero())
		require.Less(t, at.Sub(begin), 6*time.Second)
	})
}

func TestDelayedTasksRunWhenTheyAreDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := map[string]time.Duration{}
		b := setup(t, taskworker.Config{}, func(_ context.Context, t *task.Task) error {
			late[t.ID] = time.Since(t.RunAt)
			return nil
		})
		b.own(0, 1)
		after(10 * time.Second) // the worker is idle
		for i := range 20 {
			b.add(task.Task{ID: fmt.Sprint(i), Partition: uint16(i % 2), Delay: time.Duration(i) * 700 * time.Millisecond})
		}
		after(time.Minute)
		require.Len(t, late, 20)
		for id, d := range late {
			require.GreaterOrEqual(t, d, time.Duration(0), id)
			require.Less(t, d, 1200*time.Millisecond, id)
		}
	})
}

func TestAnIdleWorkerAsksLessAndLess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, taskworker.Config{}, nothing)
		var calls atomic.Int64
		b.model.Hook = func(context.Context, string) error { calls.Add(1); return nil }
		b.own(0, 1, 2, 3)
		after(time.Minute)
		calls.Store(0)
		after(time.Minute)
		require.Less(t, calls.Load(), int64(180), "in a minute: candidates and due tasks once a second")
	})
}

func TestAPartitionWhoseEpochMovedOnIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ran := false
		b := setup(t, taskworker.Config{}, func(context.Context, *task.Task) error { ran = true; return nil })
		b.own(0)
		_, err := b.model.Raise(t.Context(), []uint16{0}, "another")
		require.NoError(t, err)
		b.add(task.Task{ID: "x"})
		after(10 * time.Second)
		require.False(t, ran)
		b.seen.read(func() { require.Equal(t, []uint16{0}, b.seen.stale, "once") })
		b.own(0)
		after(2 * time.Second)
		require.True(t, ran, "taken again, it works again")
	})
}

// slowPromote answers late.
type slowPromote struct{ *taskmodel.Model }

func (s *slowPromote) Promote(ctx context.Context, owned []task.Owned, limit int) (task.PromoteResult, error) {
	result, err := s.Model.Promote(ctx, owned, limit)
	time.Sleep(500 * time.Millisecond)
	return result, err
}

func TestALateAnswerAboutAnOldEpochDoesNotStopTheNewOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		repo := &slowPromote{taskmodel.New(time.Now)}
		seen := &recorder{}
		w := newWorker(t, repo, seen, taskworker.Config{}, nothing)
		require.NoError(t, w.Start(t.Context()))
		b := &bundle{t: t, model: repo.Model, worker: w, seen: seen}
		b.add(task.Task{ID: "x", Delay: time.Second})
		endLease := b.own(0)
		after(1200 * time.Millisecond)
		_, err := b.model.Raise(t.Context(), []uint16{0}, "another")
		require.NoError(t, err)
		after(400 * time.Millisecond) // it is looking for due tasks under the old epoch
		endLease()
		b.own(0)
		after(10 * time.Second)
		require.Equal(t, task.Completed, b.row("x").Status)
		require.NoError(t, w.Stop(t.Context()))
	})
}

func TestOwnWorkIsNotClaimedTwiceWhenItsLockEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var runs atomic.Int64
		b := setup(t, taskworker.Config{Concurrency: 1, TaskTimeout: time.Second, LockMargin: 3 * time.Second}, func(ctx context.Context, t *task.Task) error {
			runs.Add(1)
			<-ctx.Done()
			return nil
		})
		// The second waits for the first, until after its own lock has ended.
		b.add(task.Task{ID: "a", Timeout: time.Minute}, task.Task{ID: "b"})
		b.own(0)
		after(2 * time.Minute)
		require.EqualValues(t, 2, runs.Load())
		require.EqualValues(t, 1, b.row("b").Attempt)
		require.Equal(t, task.Completed, b.row("b").Status)
	})
}

// dropped is a repository whose answers get lost after the work was done.
type dropped struct {
	*taskmodel.Model
	claim, finish atomic.Int64 // how many answers are still to be lost
}

func (d *dropped) Claim(ctx context.Context, req task.ClaimRequest) (task.ClaimResult, error) {
	result, err := d.Model.Claim(ctx, req)
	if d.claim.Add(-1) >= 0 {
		return task.ClaimResult{}, errors.New("answer lost")
	}
	return result, err
}

func (d *dropped) Finish(ctx context.Context, results []task.Result) ([]bool, error) {
	held, err := d.Model.Finish(ctx, results)
	if d.finish.Add(-1) >= 0 {
		return nil, errors.New("answer lost")
	}
	return held, err
}

func TestALostAnswerToAClaimBurnsNoAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		repo := &dropped{Model: taskmodel.New(time.Now)}
		repo.claim.Store(3)
		seen := &recorder{}
		w := newWorker(t, repo, seen, taskworker.Config{}, nothing)
		require.NoError(t, w.Start(t.Context()))
		b := &bundle{t: t, model: repo.Model, worker: w, seen: seen}
		b.add(tasks(10, 1)...)
		b.own(0)
		after(10 * time.Second)
		for _, row := range repo.Rows() {
			require.Equal(t, task.Completed, row.Status)
			require.EqualValues(t, 1, row.Attempt)
		}
		require.NoError(t, w.Stop(t.Context()))
	})
}

func TestALostAnswerToARecordLosesNoOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		repo := &dropped{Model: taskmodel.New(time.Now)}
		repo.finish.Store(3)
		seen := &recorder{}
		w := newWorker(t, repo, seen, taskworker.Config{}, nothing)
		require.NoError(t, w.Start(t.Context()))
		b := &bundle{t: t, model: repo.Model, worker: w, seen: seen}
		b.add(tasks(10, 1)...)
		b.own(0)
		after(10 * time.Second)
		seen.read(func() {
			require.Equal(t, 10, seen.outcomes[task.OutcomeCompleted])
			require.Zero(t, seen.lost)
		})
		require.NoError(t, w.Stop(t.Context()))
	})
}

func nothing(context.Context, *task.Task) error { return nil }
