package rebalancer

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/internal/coord"
)

func TestWorkersJoinAndLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, node := newFleet(t, 64), newFakeNode()
		a := f.join(f.config("a"), node.open)
		f.await(5*time.Second, "a owns everything", f.balanced(a))
		<-a.r.Ready()
		require.Len(t, a.r.Owned(), 64)
		b := f.join(f.config("b"), node.open)
		f.await(5*time.Second, "a and b share", f.balanced(a, b))
		c := f.join(f.config("c"), node.open)
		f.await(5*time.Second, "a, b and c share", f.balanced(a, b, c))
		b.leave()
		f.await(5*time.Second, "a and c share", f.balanced(a, c))
		require.Empty(t, b.r.Owned())
		a.leave()
		c.leave()
		require.Empty(t, node.left(), "nothing is left behind")
		require.Empty(t, a.failed())
	})
}

func TestGrantsAreRaisedInBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, node := newFleet(t, 256), newFakeNode()
		a := f.join(f.config("a"), node.open)
		f.await(5*time.Second, "a owns everything", f.balanced(a))
		require.Equal(t, 256, f.raised)
		require.LessOrEqual(t, f.raises, 4)
		a.leave()
	})
}

func TestABurstOfJoinsIsAFewPlans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, node := newFleet(t, 256), newFakeNode()
		var all []*member
		for i := range 20 {
			all = append(all, f.join(f.config(fmt.Sprintf("w%d", i)), node.open))
		}
		f.await(10*time.Second, "everybody has a share", f.balanced(all...))
		require.LessOrEqual(t, f.raised, 2*256, "hardly anything was acquired in vain")
		for _, m := range all {
			require.LessOrEqual(t, m.planned(), 4)
		}
		var leaving sync.WaitGroup
		for _, m := range all {
			leaving.Go(m.leave)
		}
		leaving.Wait()
	})
}

func TestWeightsShareByWeight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, node := newFleet(t, 90), newFakeNode()
		heavy := f.config("heavy")
		heavy.Weight = 2
		a, b := f.join(heavy, node.open), f.join(f.config("light"), node.open)
		f.await(5*time.Second, "60 to 30", func() bool {
			n := f.loads()
			return n["heavy"] == 60 && n["light"] == 30
		})
		a.leave()
		b.leave()
	})
}

// I8: after a crash each partition has an owner within the session timeout plus
// two seconds, and loads differ by at most one.
func TestI8CrashedWorkerIsReplacedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, node := newFleet(t, 64), newFakeNode()
		a := f.join(f.config("a"), node.open)
		b := f.join(f.config("b"), node.open)
		c := f.join(f.config("c"), node.open)
		f.await(5*time.Second, "everybody has a share", f.balanced(a, b, c))

		dead := c.session().(*fakeSession)
		crashed := time.Now()
		node.mu.Lock()
		node.openErr = errTest // it does not come back
		node.mu.Unlock()
		dead.lose()
		timeout := a.r.cfg.SessionTimeout
		expiry := time.AfterFunc(timeout, func() { node.expire(dead) })
		defer expiry.Stop()
		f.await(timeout+2*time.Second, "a and b take over", f.balanced(a, b))
		require.GreaterOrEqual(t, time.Since(crashed), timeout)
		a.leave()
		b.leave()
		c.abort()
	})
}

// I4: a worker whose session is lost has ended all its leases at once, before
// the server could give its partitions away; and when it comes back it works
// under new epochs.
func TestI4LostSessionEndsEveryLeaseAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, node := newFleet(t, 32), newFakeNode()
		a := f.join(f.config("a"), node.open)
		f.await(5*time.Second, "a owns everything", f.balanced(a))
		old := a.session().(*fakeSession)
		before := f.raised
		var leases []context.Context
		f.mu.Lock()
		for _, o := range f.owners {
			leases = append(leases, o.lease)
		}
		f.mu.Unlock()
		old.lose()
		for _, lease := range leases {
			require.Error(t, lease.Err())
		}
		time.AfterFunc(a.r.cfg.SessionTimeout, func() { node.expire(old) })
		f.await(a.r.cfg.SessionTimeout+2*time.Second, "a owns everything again", f.balanced(a))
		require.Equal(t, before+32, f.raised)
		a.leave()
	})
}

// The semaphore is released only when the consumer has let go, and one slow
// partition does not hold up the others.
func TestDrainComesBeforeRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, node := newFleet(t, 16), newFakeNode()
		a := f.join(f.config("a"), node.open)
		f.await(5*time.Second, "a owns everything", f.balanced(a))
		slow := uint16(0)
		both := []Member{{"a", 1}, {"b", 1}}
		for p, owner := range Plan(both, 16) {
			if owner == "b" {
				slow = uint16(p)
			}
		}
		let := make(chan struct{})
		a.setDrain(func(ctx context.Context, p uint16) error {
			if p == slow {
				<-let
			}
			return nil
		})
		b := f.join(f.config("b"), node.open)
		f.await(5*time.Second, "b has all but the slow one", func() bool { return f.loads()["b"] == 7 })
		synctest.Wait()
		require.Equal(t, 1, node.waiters(fmt.Sprintf("partition-%d", slow)), "b stands in the queue")
		f.mu.Lock()
		require.Equal(t, "a", f.owners[slow].worker)
		require.NoError(t, f.owners[slow].lease.Err(), "the lease lives while the partition is emptied")
		f.mu.Unlock()
		close(let)
		f.await(time.Second, "b has its share", f.balanced(a, b))
		a.leave()
		b.leave()
	})
}

func TestDrainIsBoundedEvenForAConsumerThatDoesNotObey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, node := newFleet(t, 4), newFakeNode()
		cfg := f.config("a")
		cfg.DrainTimeout = 10 * time.Second
		a := f.join(cfg, node.open)
		f.await(5*time.Second, "a owns everything", f.balanced(a))
		let := make(chan struct{})
		a.setDrain(func(context.Context, uint16) error { <-let; return nil })
		began := time.Now()
		ended := make(chan error, 1)
		go func() { ended <- a.r.Stop(t.Context()) }()
		f.await(time.Minute, "the leases end", func() bool { return len(f.loads()) == 0 })
		require.Equal(t, 10*time.Second+lostGrace, time.Since(began))
		require.Error(t, <-ended, "the consumer still runs")
		require.Contains(t, a.failed(), "revoke: rebalancer: the consumer does not let go; releasing anyway")
		require.Empty(t, node.left())
		close(let)
		require.NoError(t, a.r.Stop(t.Context()))
	})
}

// A planned hand-over leaves a partition without an owner only for the time of
// the grant and of the fence, because the successor already waits.
func TestHandOverIsShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, node := newFleet(t, 64), newFakeNode()
		a := f.join(f.config("a"), node.open)
		f.await(5*time.Second, "a owns everything", f.balanced(a))
		b := f.join(f.config("b"), node.open)
		f.await(5*time.Second, "a and b share", f.balanced(a, b))
		a.leave()
		f.await(5*time.Second, "b owns everything", f.balanced(b))
		require.Len(t, f.gaps, 64)
		require.Less(t, slices.Max(f.gaps), 20*time.Millisecond)
		b.leave()
	})
}

func TestFencedPartitionIsGivenUpAndTakenAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, node := newFleet(t, 4), newFakeNode()
		a := f.join(f.config("a"), node.open)
		f.await(5*time.Second, "a owns everything", f.balanced(a))
		f.mu.Lock()
		lease := f.owners[2].lease
		f.mu.Unlock()
		a.r.Fenced(2)
		a.r.Fenced(99)
		f.await(time.Second, "it works under a new epoch", func() bool {
			return f.worked[2] == 2 && f.owners[2] != nil
		})
		require.ErrorIs(t, context.Cause(lease), errFenced)
		require.EqualValues(t, 1, f.worked[1], "the others stay")
		a.leave()
	})
}

// Nobody works on a partition whose epoch could not be raised; it stays ours.
func TestFailingFenceIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, node := newFleet(t, 8), newFakeNode()
		f.fenceErr = errTest
		a := f.join(f.config("a"), node.open)
		f.await(time.Minute, "it says so", func() bool { return len(a.failed()) == 5 })
		require.Equal(t, "fence: the test says so", a.failed()[0])
		require.Empty(t, a.r.Owned())
		f.mu.Lock()
		f.fenceErr = nil
		f.mu.Unlock()
		f.await(10*time.Second, "a owns everything", f.balanced(a))
		a.leave()
	})
}

// A partition that somebody keeps is asked for again and again, and told of.
func TestPartitionThatIsKeptIsToldOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, node := newFleet(t, 4), newFakeNode()
		stranger, err := node.open(t.Context())
		require.NoError(t, err)
		kept, err := stranger.Acquire(t.Context(), "partition-2", coord.Request{Exclusive: true})
		require.NoError(t, err)
		a := f.join(f.config("a"), node.open)
		f.await(5*time.Minute, "it says so", func() bool { return len(a.failed()) == 2 })
		require.Equal(t, []uint16{0, 1, 3}, a.r.Owned())
		require.NoError(t, kept.Release(t.Context()))
		f.await(time.Minute, "a owns everything", f.balanced(a))
		require.NoError(t, stranger.Close(t.Context()))
		a.leave()
	})
}

func TestMissingNodeIsTriedAgainWithPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, node := newFleet(t, 4), newFakeNode()
		node.openErr = errTest
		a := f.join(f.config("a"), node.open)
		f.await(time.Minute, "it says so", func() bool { return len(a.failed()) == 10 })
		require.Contains(t, a.failed()[0], "open: the test says so")
		node.mu.Lock()
		node.openErr = nil
		node.mu.Unlock()
		f.await(10*time.Second, "a owns everything", f.balanced(a))
		a.leave()
	})
}

// A server that is back is noticed at the next attempt, so attempts must not grow
// rare however long it was away; and they must not come in step.
func TestSessionsAreAskedForOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, node := newFleet(t, 4), newFakeNode()
		node.openErr = errTest
		a := f.join(f.config("a"), node.open)
		<-time.After(time.Hour)
		gaps := make(map[time.Duration]bool)
		node.mu.Lock()
		for i, at := range node.opens[1:] {
			gap := at.Sub(node.opens[i])
			require.Less(t, gap, 2*time.Second, "after attempt %d", i)
			gaps[gap] = true
		}
		require.Less(t, len(node.opens), 3600+10, "but a second apart")
		node.openErr = nil
		node.mu.Unlock()
		require.Greater(t, len(gaps), 100)
		f.await(3*time.Second, "a owns everything", f.balanced(a))
		a.leave()
	})
}

func TestStopWithoutASession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, node := newFleet(t, 4), newFakeNode()
		node.openErr = errTest
		a := f.join(f.config("a"), node.open)
		f.await(time.Minute, "it tries", func() bool { return len(a.failed()) == 2 })
		a.leave()
		a.leave()
		require.Error(t, a.r.Start(t.Context()))
		never := newRebalancer(f.config("b").withDefaults(), node.open)
		require.NoError(t, never.Stop(t.Context()))
		require.ErrorIs(t, never.Start(t.Context()), errStopped)
	})
}

// Stop ends everything at once when its context ends.
func TestStopGivesUpDrainingWhenToldTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, node := newFleet(t, 4), newFakeNode()
		a := f.join(f.config("a"), node.open)
		f.await(5*time.Second, "a owns everything", f.balanced(a))
		a.setDrain(func(ctx context.Context, _ uint16) error { <-ctx.Done(); return ctx.Err() })
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, a.r.Stop(ctx), context.DeadlineExceeded)
		require.Equal(t, time.Second, time.Since(began))
		require.Empty(t, node.left())
	})
}

// Of two processes with one worker id the newer one gets the share.
func TestNewestIncarnationWins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, node := newFleet(t, 8), newFakeNode()
		old := f.join(f.config("a"), node.open)
		f.await(5*time.Second, "the first owns everything", f.balanced(old))
		newer := f.join(f.config("a"), node.open)
		f.await(5*time.Second, "the second owns everything", func() bool { return len(newer.r.Owned()) == 8 })
		require.Empty(t, old.r.Owned())
		old.leave()
		newer.leave()
	})
}
