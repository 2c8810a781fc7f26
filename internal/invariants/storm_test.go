package invariants

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"

	"github.com/taskfleet/taskfleet/pkg/task"
)

// shaky fails some attempts, and takes its time.
func shaky(ctx context.Context, t *task.Task) error {
	wait := time.NewTimer(time.Duration(len(t.ID)%3+int(t.Priority)%5) * time.Millisecond)
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if t.Priority%7 == 0 && t.Attempt < 3 {
		return errTest
	}
	return nil
}

// storm runs a fleet through everything that may happen to it and returns it
// when all tasks are done.
func storm(t *testing.T, seed uint64) *refereed {
	f := newRefereed(t, seed, shaky)
	for range 3 {
		f.join()
	}
	for p := range uint16(partitions) {
		f.take(p, f.workers[int(p)%len(f.workers)])
	}
	someone := func() *member { return f.workers[f.rand.IntN(len(f.workers))] }
	things := []func(){
		func() { f.enqueue(50, nil) },
		func() { f.enqueue(50, nil) },
		func() {
			f.enqueue(20, func(i int, tk *task.Task) { tk.Delay = time.Duration(i*10) * time.Millisecond })
		},
		func() { f.give(uint16(f.rand.IntN(partitions)), someone()) },
		func() { f.give(uint16(f.rand.IntN(partitions)), someone()) },
		func() { f.loseSession(someone()) },
	}
	if f.faults != nil {
		things = append(things,
			func() { f.faults.DropAnswer("ExecuteQuery") },
			func() { f.faults.DropAnswer("ExecuteQuery") },
			func() { f.faults.Fail("ExecuteQuery", Ydb.StatusIds_ABORTED) },
			func() { f.faults.Fail("ExecuteQuery", Ydb.StatusIds_UNAVAILABLE) },
			func() { f.faults.Fail("ExecuteQuery", Ydb.StatusIds_OVERLOADED) },
			func() { f.faults.EndSessions() },
		)
	}
	f.trouble(100, things...)
	if f.faults != nil {
		f.faults.Clear()
	}
	f.drained()
	return f
}

func TestI1NoAcknowledgedTaskIsLost(t *testing.T) {
	t.Parallel()
	f := storm(t, 1)
	places := f.places()
	require.Greater(t, len(f.acked), 200)
	for id := range f.acked {
		require.Len(t, places[id], 1, id)
		require.True(t, strings.HasPrefix(places[id][0], "completed_tasks/") || strings.HasPrefix(places[id][0], "dead_tasks/"), "%s is in %s", id, places[id])
	}
	require.Len(t, places, len(f.acked), "and nothing is there that nobody enqueued")
}

func TestI2ATaskIsInOneTableAtEverySnapshot(t *testing.T) {
	t.Parallel()
	f := newRefereed(t, 2, shaky)
	f.join()
	f.join()
	for p := range uint16(partitions) {
		f.take(p, f.workers[int(p)%2])
	}
	looks := 0
	f.trouble(80,
		func() {
			f.enqueue(30, func(i int, tk *task.Task) { tk.Delay = time.Duration(i%3*20) * time.Millisecond })
		},
		func() { f.give(uint16(f.rand.IntN(partitions)), f.workers[f.rand.IntN(2)]) },
		func() {
			looks++
			places := f.places()
			for id := range f.acked {
				require.Len(t, places[id], 1, "%s is in %s", id, places[id])
			}
		})
	require.Greater(t, looks, 10)
	f.drained()
}

func TestI3OneClaimHasOneOutcome(t *testing.T) {
	t.Parallel()
	f := storm(t, 3)
	f.log.do(func() {
		require.Greater(t, len(f.log.claims), 200)
		completed := 0
		for lock, outcomes := range f.log.outcomes {
			require.Len(t, outcomes, 1, lock)
			require.Equal(t, 1, f.log.claims[lock], "an outcome of a claim that was given out")
			if outcomes[0] == task.OutcomeCompleted.String() {
				completed++
			}
		}
		require.Equal(t, len(f.acked), completed, "every task was completed once")
	})
}

func TestI5BatchesMayBeSentAgainAndAgain(t *testing.T) {
	t.Parallel()
	f := newRefereed(t, 5, shaky)
	f.join()
	for p := range uint16(partitions) {
		f.take(p, f.workers[0])
	}
	again := func() {
		if len(f.batches) == 0 {
			return
		}
		batch := f.batches[f.rand.IntN(len(f.batches))]
		result, err := f.store.Enqueue(t.Context(), batch)
		require.NoError(t, err)
		require.True(t, result.Replayed)
	}
	f.trouble(60, func() { f.enqueue(20, nil) }, again, again)
	f.drained()
	f.log.do(func() {
		completed := 0
		for _, outcomes := range f.log.outcomes {
			if outcomes[0] == task.OutcomeCompleted.String() {
				completed++
			}
		}
		require.Equal(t, len(f.acked), completed, "nothing ran twice")
	})
}

func TestI6NoHandlerRunsOnWithoutItsLease(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	running := map[string]context.Context{} // by task
	f := newRefereed(t, 6, func(ctx context.Context, tk *task.Task) error {
		mu.Lock()
		other := running[tk.ID]
		running[tk.ID] = ctx
		mu.Unlock()
		if other != nil && other.Err() == nil {
			t.Errorf("task %s runs while the context of its former handler has not ended", tk.ID)
		}
		defer func() {
			mu.Lock()
			defer mu.Unlock()
			if running[tk.ID] == ctx {
				delete(running, tk.ID)
			}
		}()
		return shaky(ctx, tk)
	})
	for range 3 {
		f.join()
	}
	for p := range uint16(partitions) {
		f.take(p, f.workers[int(p)%3])
	}
	someone := func() *member { return f.workers[f.rand.IntN(3)] }
	f.trouble(80,
		func() { f.enqueue(40, nil) },
		func() { f.give(uint16(f.rand.IntN(partitions)), someone()) },
		func() { f.loseSession(someone()) },
	)
	f.drained()
}

func TestI9RollingStopsBurnNoAttemptAndLoseNoResult(t *testing.T) {
	t.Parallel()
	f := newRefereed(t, 9, func(ctx context.Context, tk *task.Task) error {
		wait := time.NewTimer(time.Duration(tk.Priority%20) * time.Millisecond)
		defer wait.Stop()
		select {
		case <-wait.C:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
	f.join()
	for p := range uint16(partitions) {
		f.take(p, f.workers[0])
	}
	for round := range 6 {
		f.enqueue(200, nil)
		next := f.join()
		former := f.workers[round]
		if round%2 == 0 {
			former.stop(t, 5*time.Millisecond) // with handlers that have to be ended
		}
		for p := range uint16(partitions) {
			f.give(p, next)
		}
		former.stop(t, time.Second)
	}
	f.drained()
	places := f.places()
	for id := range f.acked {
		require.Equal(t, []string{"completed_tasks/1"}, places[id], id)
	}
	f.log.do(func() { require.Zero(t, f.log.lost) })
}
