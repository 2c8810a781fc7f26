package rebalancer

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A worker that the plan no longer gives a partition to stops waiting for it: it
// would become an owner that nobody wants.
func TestAWaiterThePlanGivesUpIsWithdrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, node := newFleet(t, 4), newFakeNode()
		a := f.join(f.config("a"), node.open)
		f.await(5*time.Second, "a owns everything", f.balanced(a))
		let := make(chan struct{})
		a.setDrain(func(context.Context, uint16) error { <-let; return nil })
		b := f.join(f.config("b"), node.open)
		waiters := func() (n int) {
			for p := range uint16(4) {
				n += node.waiters(partitionName(p))
			}
			return n
		}
		<-time.After(5 * time.Second)
		require.Equal(t, 2, waiters(), "b waits while a empties")
		b.r.Pause()
		<-time.After(5 * time.Second)
		require.Zero(t, waiters())
		close(let)
		f.await(5*time.Second, "a owns everything again", f.balanced(a))
		a.leave()
		b.leave()
	})
}

// slowFence answers when it is let, and counts its calls.
type slowFence struct {
	Fence
	let chan struct{}
}

func (s slowFence) Raise(ctx context.Context, partitions []uint16, owner string) (map[uint16]uint64, error) {
	epochs, err := s.Fence.Raise(context.WithoutCancel(ctx), partitions, owner)
	<-s.let
	return epochs, err
}

// What is raised when the session is gone belongs to somebody else by then.
func TestNothingIsHandedOverThatWasLostWhileItWasRaised(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, node := newFleet(t, 4), newFakeNode()
		cfg := f.config("a")
		fence := slowFence{f, make(chan struct{})}
		cfg.Fence = fence
		taken := &takes{}
		cfg.Consumer = taken
		r := newRebalancer(cfg.withDefaults(), func(ctx context.Context) (session, error) {
			if s, err := node.open(ctx); taken.sessions == nil {
				taken.sessions = s.(*fakeSession)
				return s, err
			}
			return nil, errTest
		})
		require.NoError(t, r.Start(context.WithoutCancel(t.Context())))
		<-time.After(5 * time.Second)
		taken.sessions.lose()
		close(fence.let)
		<-time.After(5 * time.Second)
		require.Zero(t, taken.count())
		require.NoError(t, r.Stop(t.Context()))
	})
}

// The answer of the database may come when the lease has ended.
func TestARaiseThatOutlivesItsSession(t *testing.T) {
	t.Parallel()
	for _, lost := range []bool{false, true} {
		ctx, lose := context.WithCancelCause(t.Context())
		tm := &term{gate: &gate{requests: make(chan raise)}}
		go func() {
			request := <-tm.gate.requests
			if lost {
				lose(errTest)
			}
			request.reply <- raised{epoch: 7}
		}()
		epoch, ok := tm.raise(&slot{wanted: t.Context()}, &fakeLease{ctx: ctx})
		require.EqualValues(t, 7, epoch)
		require.Equal(t, !lost, ok)
	}
}

// takes counts what is handed over.
type takes struct {
	sessions *fakeSession
	mu       sync.Mutex
	n        int
}

func (c *takes) Acquired(context.Context, uint16, uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
}

func (*takes) Revoke(context.Context, uint16) error { return nil }

func (c *takes) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

// A worker that stops says so before it empties anything, and gives up its place
// in the registry after everything else.
func TestStopGoesInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, node := newFleet(t, 4), newFakeNode()
		a := f.join(f.config("a"), node.open)
		f.await(5*time.Second, "a owns everything", f.balanced(a))
		states := make(chan string, 4)
		a.setDrain(func(ctx context.Context, p uint16) error {
			<-time.After(time.Duration(p) * time.Second)
			states <- node.state("a")
			return nil
		})
		a.leave()
		for range 4 {
			require.Equal(t, stateDraining, <-states)
		}
		require.Empty(t, node.left())
	})
}

// A worker whose place in the registry is gone gets no partitions, though its
// session lives: it begins anew.
func TestAWorkerThatIsNotRegisteredBeginsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, node := newFleet(t, 4), newFakeNode()
		a, b := f.join(f.config("a"), node.open), f.join(f.config("b"), node.open)
		f.await(5*time.Second, "they share", f.balanced(a, b))
		first := a.session().(*fakeSession)
		node.mu.Lock()
		node.remove(registryName, first)
		node.mu.Unlock()
		f.await(2*time.Minute, "it has another session", func() bool { return errors.Is(first.ctx.Err(), context.Canceled) })
		f.await(2*time.Minute, "they share again", f.balanced(a, b))
		require.NotEqual(t, first, a.session())
		a.leave()
		b.leave()
	})
}
