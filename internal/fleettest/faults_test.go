package fleettest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-sdk/v3/coordination"

	"github.com/taskfleet/taskfleet/pkg/task"
	"github.com/taskfleet/taskfleet/pkg/ydbembed"
)

// TestInvariantsHoldThrough lets one thing happen to a fleet of three workers that
// has tasks to do, and holds that nothing is lost, twice or late: I1 to I4 and I6
// by the judge and the tables, I8 by loads that are even again in time. Some tasks
// are delayed, and where attempts may be burned some fail first.
//
// A black hole, a silent stream and a worker that stalls are not here: the SDK's
// keep-alive asks again without a pause at the very moment that it ends, for ever on
// a virtual clock. They are in pkg/rebalancer, in internal/coord, and with a process
// in internal/invariants.
func TestInvariantsHoldThrough(t *testing.T) {
	t.Parallel()
	// noticed waits until c has ended its leases, so that what comes is recovery.
	noticed := func(w *world) {
		w.await(patience, "c ends its leases", func() bool { return w.loads()["c"] == 0 })
	}
	for _, c := range []event{
		{"join", func(w *world, _ *worker) map[string]int {
			w.start("d", 1)
			return weights("a", "b", "c", "d")
		}, true},
		{"leave", func(_ *world, c *worker) map[string]int {
			c.leave()
			return weights("a", "b")
		}, true},
		{"crash", func(_ *world, c *worker) map[string]int {
			c.network.Cut()
			go c.abort() // again at the end of the test, which waits for it
			return weights("a", "b")
		}, false},
		{"session stolen", func(w *world, c *worker) map[string]int {
			require.True(w.t, w.Faults().StealCoordinationSession(w.node(), c.sessionID()))
			noticed(w)
			return weights("a", "b", "c")
		}, false},
		{"session expired", func(w *world, c *worker) map[string]int {
			w.event(func() { w.forced = true })
			require.True(w.t, w.Faults().ExpireCoordinationSession(w.node(), c.sessionID()))
			noticed(w)
			return weights("a", "b", "c")
		}, false},
		{"stream broken", func(w *world, c *worker) map[string]int {
			require.True(w.t, w.Faults().DisconnectCoordinationSession(w.node(), c.sessionID()))
			return weights("a", "b", "c")
		}, false},
		{"node restarted", func(w *world, _ *worker) map[string]int {
			w.event(func() { w.forced = true })
			require.NoError(w.t, w.DB.Coordination().DropNode(w.t.Context(), w.node()))
			require.NoError(w.t, w.DB.Coordination().CreateNode(w.t.Context(), w.node(), coordination.NodeConfig{}))
			noticed(w)
			return weights("a", "b", "c")
		}, false},
		{"server restarted", func(w *world, _ *worker) map[string]int {
			w.Restart(0)
			return weights("a", "b", "c")
		}, false},
		// While partitions move, statements fail, and lose their answers.
		{"statements fail", func(w *world, _ *worker) map[string]int {
			w.start("d", 1)
			for _, fail := range []func(f *ydbembed.Faults){
				func(f *ydbembed.Faults) { f.DropAnswer("ExecuteQuery") },
				func(f *ydbembed.Faults) { f.Fail("ExecuteQuery", Ydb.StatusIds_ABORTED) },
				func(f *ydbembed.Faults) { f.Fail("ExecuteQuery", Ydb.StatusIds_UNAVAILABLE) },
				func(f *ydbembed.Faults) { f.Fail("ExecuteQuery", Ydb.StatusIds_OVERLOADED) },
				func(f *ydbembed.Faults) { f.EndSessions() },
			} {
				for range 4 {
					fail(w.Faults())
					time.Sleep(37 * time.Millisecond) // of the virtual clock: between handlers of 100
				}
			}
			return weights("a", "b", "c", "d")
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, 16, func(t *testing.T, w *world) {
				w.handler = func(ctx context.Context, t *task.Task) error {
					timer := time.NewTimer(100 * time.Millisecond)
					defer timer.Stop()
					select {
					case <-timer.C:
						if !c.orderly && t.Priority == 7 && t.Attempt == 1 {
							return errors.New("the first attempt fails")
						}
						return nil
					case <-ctx.Done():
						return ctx.Err()
					}
				}
				victim := w.start("c", 1)
				w.start("a", 1)
				w.start("b", 1)
				w.await(patience, "everybody has a share", w.share(weights("a", "b", "c")))
				w.enqueue(some(300, 0)...)
				w.await(patience, "tasks run at c", func() bool {
					for h := range w.handlers {
						if h.worker == "c" {
							return true
						}
					}
					return false
				})
				began := time.Now()
				want := c.fault(w, victim)
				w.await(patience, "all is owned again", w.share(want))
				require.LessOrEqual(t, time.Since(began), sessionTimeout+2*time.Second, "I8")
				w.enqueue(some(50, 300)...)
				w.drained()
				w.await(patience, "it stays so", w.share(want))
				if c.orderly {
					for id, places := range w.places() {
						require.EqualValues(t, 1, places[0].Attempt, "I9: attempts of task %s", id)
					}
				}
			})
		})
	}
}

// event is what happens to a fleet of a, b and c, and to c above all.
type event struct {
	name    string
	fault   func(w *world, c *worker) map[string]int // returns the weights of who is to own what
	orderly bool                                     // no attempt may be burned
}

// some returns n tasks with names from the number first on, of ten priorities; those
// of one of them are delayed.
func some(n, first int) []task.Task {
	tasks := make([]task.Task, n)
	for i := range tasks {
		tasks[i] = task.Task{ID: fmt.Sprintf("t-%d", first+i), Priority: uint8(i % 10)}
		if i%10 == 3 {
			tasks[i].Delay = time.Duration(i) * time.Millisecond
		}
	}
	return tasks
}
