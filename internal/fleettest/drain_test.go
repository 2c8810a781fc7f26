package fleettest

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/pkg/task"
	"github.com/taskfleet/taskfleet/pkg/taskworker"
)

// busy is a fleet in which worker a owns eight partitions and runs one task of
// each, and b has just joined.
type busy struct {
	*world
	a, b    *worker
	ids     map[uint16][]string // three of each partition: the first runs, the others come later
	release map[uint16]chan struct{}
	obey    bool // handlers end with their context
}

func startBusy(w *world, drain time.Duration, obey bool) *busy {
	w.cfg.DrainTimeout = drain
	s := &busy{world: w, ids: w.idsIn(3), release: map[uint16]chan struct{}{}, obey: obey}
	for p := range s.ids {
		s.release[p] = make(chan struct{})
	}
	w.handler = s.handle
	s.a = w.start("a", 1)
	w.await(patience, "a owns everything", w.share(weights("a")))
	for _, ids := range s.ids {
		w.enqueue(task.Task{ID: ids[0]})
	}
	w.await(patience, "a runs a task of each", func() bool { return len(w.handlers) == 8 })
	s.b = w.start("b", 1)
	w.await(patience, "a begins to give up four", func() bool { return len(w.revoked["a"]) == 4 })
	return s
}

// handle runs first tasks until they are released, wherever, and the others at once.
func (s *busy) handle(ctx context.Context, t *task.Task) error {
	if s.ids[t.Partition][0] != t.ID {
		return nil
	}
	ended := ctx.Done()
	if !s.obey {
		ended = nil
	}
	select {
	case <-s.release[t.Partition]:
		return nil
	case <-ended:
		return context.Cause(ctx)
	}
}

// moving adds tasks everywhere and returns the partitions that a gives up, once it
// is seen that nothing new is claimed in them.
func (s *busy) moving() []uint16 {
	s.t.Helper()
	s.mu.Lock()
	moving := slices.Clone(s.revoked["a"])
	s.mu.Unlock()
	for _, ids := range s.ids {
		s.enqueue(task.Task{ID: ids[1]}, task.Task{ID: ids[2]})
	}
	s.later(2, func(p uint16) bool { return !slices.Contains(moving, p) })
	all := s.places()
	for _, p := range moving {
		require.Equal(s.t, place{Table: "coordinated", ID: s.ids[p][1], Status: "pending"}, all[s.ids[p][1]][0])
	}
	return moving
}

// later waits until the n tasks that came later have run in the chosen partitions.
func (s *busy) later(n int, chosen func(p uint16) bool) {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		all := s.places()
		for p, ids := range s.ids {
			for _, id := range ids[1 : n+1] {
				if chosen(p) && all[id][0].Table != "completed" {
					return false
				}
			}
		}
		return true
	}, patience, 10*time.Millisecond, "later tasks run")
}

// Up to the drain timeout a moving partition waits for its running tasks and
// claims nothing new.
func TestAMovingPartitionWaitsForItsTasksAndClaimsNothing(t *testing.T) {
	inBubble(t, 8, func(t *testing.T, w *world) {
		s := startBusy(w, time.Minute, true)
		moving := s.moving()
		s.mu.Lock()
		require.Equal(t, 8, s.loads()["a"], "what runs keeps its partition")
		for h := range s.handlers {
			require.NoError(t, h.ctx.Err())
		}
		s.mu.Unlock()
		for _, release := range s.release {
			close(release)
		}
		s.await(patience, "b has its share", s.share(weights("a", "b")))
		s.drained()
		require.Zero(t, s.a.count(task.OutcomeReleased), "nothing was given back that ran")
		all := s.places()
		for _, p := range moving {
			require.EqualValues(t, 1, all[s.ids[p][0]][0].Attempt)
		}
	})
}

// Past the drain timeout their contexts end, the tasks are given back without
// burning the attempt, and only then is the semaphore released.
func TestPastTheDrainTimeoutTasksAreGivenBackBeforeTheRelease(t *testing.T) {
	inBubble(t, 8, func(t *testing.T, w *world) {
		s := startBusy(w, time.Second, true)
		s.mu.Lock()
		moving := slices.Clone(s.revoked["a"])
		s.mu.Unlock()
		s.await(patience, "b has its share", func() bool { return s.loads()["b"] == 4 })
		s.mu.Lock()
		for h := range s.handlers {
			if slices.Contains(moving, h.task.Partition) && h.worker == "a" {
				require.Fail(t, "a handler outlived the release", "task %s", h.task.ID)
			}
		}
		s.mu.Unlock()
		require.Equal(t, 4, s.a.count(task.OutcomeReleased), "recorded before the release, or b would have waited")
		for _, release := range s.release {
			close(release)
		}
		s.drained()
		all := s.places()
		for _, p := range moving {
			require.EqualValues(t, 1, all[s.ids[p][0]][0].Attempt, "the attempt that was given back does not count")
		}
	})
}

// One slow partition does not hold up the others.
func TestOneSlowPartitionDoesNotHoldUpTheOthers(t *testing.T) {
	inBubble(t, 8, func(t *testing.T, w *world) {
		s := startBusy(w, time.Minute, true)
		moving := s.moving()
		slow := moving[0]
		for p, release := range s.release {
			if p != slow {
				close(release)
			}
		}
		s.await(patience, "b has all but the slow one", func() bool { return s.loads()["b"] == 3 && s.tenures[slow].worker == "a" })
		s.later(2, func(p uint16) bool { return p != slow })
		s.mu.Lock()
		require.Equal(t, "a", s.tenures[slow].worker)
		s.mu.Unlock()
		close(s.release[slow])
		s.await(patience, "b has its share", s.share(weights("a", "b")))
		s.drained()
	})
}

// A handler that ignores its context is abandoned, logged with its task id,
// counted, and its result is fenced off.
func TestAHandlerThatIgnoresItsContextIsFencedOff(t *testing.T) {
	inBubble(t, 8, func(t *testing.T, w *world) {
		s := startBusy(w, 500*time.Millisecond, false)
		s.mu.Lock()
		moving := slices.Clone(s.revoked["a"])
		s.mu.Unlock()
		s.await(patience, "b has its share", func() bool { return s.loads()["b"] == 4 })
		s.a.mu.Lock()
		require.Equal(t, 4, s.a.abandoned)
		s.a.mu.Unlock()
		for _, p := range moving {
			require.Contains(t, s.a.log.String(), `msg="handler ignores the end of its context and is abandoned" worker_id=a task_id=`+s.ids[p][0])
		}
		require.Equal(t, 4, s.a.count(task.OutcomeReleased))
		for _, release := range s.release {
			close(release) // a's abandoned handlers return nil now, and b's are let go
		}
		s.await(patience, "every handler has returned", func() bool { return len(s.handlers) == 0 })
		s.drained()
		require.Equal(t, 4, s.a.count(task.OutcomeReleased))
		require.Equal(t, 4, s.a.count(task.OutcomeCompleted), "of the eight that began at a, four are recorded by it")
		require.Equal(t, 4, s.b.count(task.OutcomeCompleted))
		all := s.places()
		for _, p := range moving {
			require.EqualValues(t, 1, all[s.ids[p][0]][0].Attempt)
		}
	})
}

var _ taskworker.Observer = taskObserver{}
