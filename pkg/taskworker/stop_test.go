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

// TestI9AStopAtAnyMomentBurnsNothing: a stop that arrives while the worker is in
// any of its operations leaves every task that did not run as it was.
func TestI9AStopAtAnyMomentBurnsNothing(t *testing.T) {
	for _, op := range []string{"candidates", "claim", "finish", "promote", "count_runnable"} {
		t.Run(op, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &bundle{t: t, model: taskmodel.New(time.Now), seen: &recorder{}}
				b.worker = newWorker(t, b.model, b.seen, taskworker.Config{Concurrency: 1, Counter: b.model}, nothing)
				entered, release := make(chan struct{}, 1), make(chan struct{})
				var armed atomic.Bool
				b.model.Hook = func(_ context.Context, now string) error {
					if now != op || !armed.Load() {
						return nil
					}
					select {
					case entered <- struct{}{}:
					default:
					}
					<-release
					return nil
				}
				require.NoError(t, b.worker.Start(t.Context()))
				b.add(task.Task{})
				b.own(0)
				after(time.Minute) // a task was done before
				armed.Store(true)
				b.add(tasks(10, 1)...)
				b.add(task.Task{Delay: time.Millisecond})
				<-entered
				stopped := make(chan error, 1)
				go func() { stopped <- b.worker.Stop(within(t, time.Minute)) }()
				after(time.Second)
				close(release)
				require.NoError(t, <-stopped)
				for _, row := range b.model.Rows() {
					if row.Status != task.Completed {
						require.Zero(t, row.Attempt, row.ID)
						require.NotEqual(t, task.Locked, row.Status, row.ID)
					}
				}
			})
		})
	}
}

// TestI9AStoppingWorkerRepeatsAClaimUntilItKnows: the answer is lost, the stop
// comes, and what the claim took is given back.
func TestI9AStoppingWorkerRepeatsAClaimUntilItKnows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		repo := &dropped{Model: taskmodel.New(time.Now)}
		repo.claim.Store(5)
		b := &bundle{t: t, model: repo.Model, seen: &recorder{}}
		b.worker = newWorker(t, repo, b.seen, taskworker.Config{}, nothing)
		require.NoError(t, b.worker.Start(t.Context()))
		b.add(tasks(10, 1)...)
		b.own(0)
		after(10 * time.Millisecond)
		require.Equal(t, 10, b.model.Count(task.Locked))
		require.NoError(t, b.worker.Stop(within(t, time.Minute)))
		require.Equal(t, 10, b.model.Count(task.Pending))
	})
}

// TestAClaimThatStaysUnknownIsGivenBack: its lease ends before there is an
// answer; the locks are given back by their values, so that nothing crashed.
func TestAClaimThatStaysUnknownIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		repo := &dropped{Model: taskmodel.New(time.Now)}
		repo.claim.Store(1_000)
		b := &bundle{t: t, model: repo.Model, seen: &recorder{}}
		b.worker = newWorker(t, repo, b.seen, taskworker.Config{}, nothing)
		require.NoError(t, b.worker.Start(t.Context()))
		b.add(tasks(10, 1)...)
		endLease := b.own(0)
		after(time.Second)
		endLease()
		after(5 * time.Second)
		require.Equal(t, 10, b.model.Count(task.Pending))
		repo.claim.Store(0)
		b.own(0)
		after(5 * time.Second)
		require.Equal(t, 10, b.model.Count(task.Completed))
		for _, row := range b.model.Rows() {
			require.Zero(t, row.Crashes)
		}
		require.NoError(t, b.worker.Stop(t.Context()))
	})
}

func TestStopWhileTheDatabaseIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bundle{t: t, model: taskmodel.New(time.Now), seen: &recorder{}}
		b.worker = newWorker(t, b.model, b.seen, taskworker.Config{}, nothing)
		require.NoError(t, b.worker.Start(t.Context()))
		b.add(task.Task{ID: "x"})
		b.model.Hook = func(_ context.Context, op string) error {
			if op == "finish" {
				return errors.New("unavailable")
			}
			return nil
		}
		b.own(0)
		after(time.Second)
		err := b.worker.Stop(within(t, time.Second))
		require.ErrorContains(t, err, "1 outcomes were not recorded")
	})
}

func TestStopAgainAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, taskworker.Config{}, func(ctx context.Context, _ *task.Task) error {
			<-ctx.Done()
			return ctx.Err()
		})
		b.add(task.Task{ID: "x"})
		b.own(0)
		after(time.Second)
		begin := time.Now()
		go func() { _ = b.worker.Stop(within(t, time.Hour)) }()
		after(time.Second)
		now, cancel := context.WithCancel(t.Context())
		cancel()
		require.NoError(t, b.worker.Stop(now))
		require.Equal(t, time.Second, time.Since(begin), "a second stop ends the grace of the first")
		require.Equal(t, task.Pending, b.row("x").Status)
	})
}

// TestAWorkerOfAbandonedHandlersIsStalled: it says so, claims nothing, and goes on
// when a handler returns.
func TestAWorkerOfAbandonedHandlersIsStalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var reports atomic.Int64 // +1 stalled, then -1
		b := setup(t, taskworker.Config{
			Concurrency: 2, AbandonAfter: time.Second,
			Stalled: func(stalled bool) {
				if stalled {
					reports.Add(1)
				} else {
					reports.Add(-1)
				}
			},
		}, func(_ context.Context, t *task.Task) error {
			if t.Timeout > 0 {
				<-release
			}
			return nil
		})
		b.add(task.Task{ID: "a", Timeout: time.Second, MaxAttempts: 1}, task.Task{ID: "b", Timeout: time.Second, MaxAttempts: 1})
		b.own(0)
		after(time.Second)
		require.Zero(t, reports.Load())
		after(5 * time.Second)
		require.EqualValues(t, 1, reports.Load())
		b.add(tasks(10, 1)...)
		after(time.Minute)
		require.Equal(t, 10, b.model.Count(task.Pending), "nothing is claimed that cannot run")
		close(release)
		after(time.Minute)
		require.Zero(t, reports.Load())
		require.Equal(t, 10, b.model.Count(task.Completed))
	})
}
