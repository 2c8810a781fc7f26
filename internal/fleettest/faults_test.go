package fleettest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/ydb-platform/ydb-go-sdk/v3/coordination"

	"github.com/taskfleet/taskfleet/pkg/rebalancer"
	"github.com/taskfleet/taskfleet/pkg/task"
)

// TestInvariantsHoldThrough lets one thing happen to a fleet of three workers that
// has tasks to do, and holds that nothing is lost, twice or late: I1 to I4 and I6
// by the judge and the tables, I8 by loads that are even again. How long that
// takes is logged here, where the machine may be busy, and held on a virtual
// clock by the tests of I8 in pkg/rebalancer. The stall of a whole process, which
// cannot be had inside one, is in cmd/taskctl/internal/invariants.
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
		}},
		{"leave", func(_ *world, c *worker) map[string]int {
			c.leave()
			return weights("a", "b")
		}},
		{"crash", func(_ *world, c *worker) map[string]int {
			c.network.Cut()
			go c.abort() // again at the end of the test, which waits for it
			return weights("a", "b")
		}},
		// The server notices a mute client two pings after the last one, and waits then.
		{"black hole", func(_ *world, c *worker) map[string]int {
			c.network.BlackHole()
			return weights("a", "b")
		}},
		{"session stolen", func(w *world, c *worker) map[string]int {
			require.True(w.t, w.srv.Faults().StealCoordinationSession(node, c.sessionID()))
			noticed(w)
			return weights("a", "b", "c")
		}},
		{"session expired", func(w *world, c *worker) map[string]int {
			w.event(func() { w.forced = true })
			require.True(w.t, w.srv.Faults().ExpireCoordinationSession(node, c.sessionID()))
			noticed(w)
			return weights("a", "b", "c")
		}},
		{"stream broken", func(w *world, c *worker) map[string]int {
			require.True(w.t, w.srv.Faults().DisconnectCoordinationSession(node, c.sessionID()))
			return weights("a", "b", "c")
		}},
		{"stream silent", func(w *world, c *worker) map[string]int {
			require.True(w.t, w.srv.Faults().SilenceCoordinationSession(node, c.sessionID()))
			return weights("a", "b", "c")
		}},
		{"node restarted", func(w *world, _ *worker) map[string]int {
			w.event(func() { w.forced = true })
			require.NoError(w.t, w.db.Coordination().DropNode(w.t.Context(), node))
			require.NoError(w.t, w.db.Coordination().CreateNode(w.t.Context(), node, coordination.NodeConfig{}))
			noticed(w)
			return weights("a", "b", "c")
		}},
		{"server restarted", func(w *world, _ *worker) map[string]int {
			w.restart()
			return weights("a", "b", "c")
		}},
	} {
		for _, planner := range c.planners() {
			t.Run(c.name+"/"+planner, func(t *testing.T) {
				t.Parallel()
				w := setup(t, 16)
				w.cfg.Planner = planner
				w.handler = func(ctx context.Context, _ *task.Task) error {
					timer := time.NewTimer(100 * time.Millisecond)
					defer timer.Stop()
					select {
					case <-timer.C:
						return nil
					case <-ctx.Done():
						return ctx.Err()
					}
				}
				victim := w.start("c", 1)
				if planner == rebalancer.PlannerLeader {
					w.await(patience, "c has everything, and leads", w.share(weights("c")))
				}
				w.start("a", 1)
				w.start("b", 1)
				w.await(patience, "everybody has a share", w.share(weights("a", "b", "c")))
				w.enqueue(some(600, 0)...)
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
				t.Logf("%s: owned and balanced %v after the fault", t.Name(), time.Since(began).Round(time.Millisecond))
				w.enqueue(some(50, 600)...)
				w.drained()
				w.await(patience, "it stays so", w.share(want))
			})
		}
	}
}

// event is what happens to a fleet of a, b and c, and to c above all.
type event struct {
	name  string
	fault func(w *world, c *worker) map[string]int // returns the weights of who is to own what
}

// planners are those under which the event is tried. What ends a leader is tried
// with a leader too.
func (e event) planners() []string {
	switch e.name {
	case "leave", "crash", "session stolen":
		return []string{rebalancer.PlannerPeers, rebalancer.PlannerLeader}
	}
	return []string{rebalancer.PlannerPeers}
}

// some returns n tasks with names from the number first on.
func some(n, first int) []task.Task {
	tasks := make([]task.Task, n)
	for i := range tasks {
		tasks[i].ID = fmt.Sprintf("t-%d", first+i)
	}
	return tasks
}
