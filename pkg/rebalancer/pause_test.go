package rebalancer

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// state returns the state of a worker in the registry; "" when it is not there.
func (n *fakeNode) state(worker string) string {
	s, err := n.open(context.Background())
	if err != nil {
		return ""
	}
	defer func() { _ = s.Close(context.Background()) }()
	owners, _, err := s.Owners(context.Background(), registryName)
	if err != nil {
		return ""
	}
	all, _ := readRegistry(owners)
	for _, r := range all {
		if r.newest && r.Worker == worker {
			return r.State
		}
	}
	return ""
}

// count counts the log lines with a message.
type count struct {
	slog.Handler
	message string
	mu      sync.Mutex
	n       int
}

func (c *count) Enabled(context.Context, slog.Level) bool { return true }

func (c *count) WithAttrs([]slog.Attr) slog.Handler { return c }

func (c *count) Handle(_ context.Context, r slog.Record) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.Message == c.message {
		c.n++
	}
	return nil
}

func (c *count) lines() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

func TestPausedWorkerHandsOverAndComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, node := newFleet(t, 16), newFakeNode()
		a, b := f.join(f.config("a"), node.open), f.join(f.config("b"), node.open)
		f.await(5*time.Second, "a and b share", f.balanced(a, b))
		let := make(chan struct{})
		a.setDrain(func(context.Context, uint16) error { <-let; return nil })

		a.r.Pause()
		a.r.Pause()
		require.True(t, a.r.Paused())
		<-time.After(5 * time.Second)
		require.Len(t, a.r.Owned(), 8, "what is not empty is not released")
		close(let)
		f.await(5*time.Second, "b owns everything", f.balanced(b))
		require.Empty(t, a.r.Owned())
		require.Equal(t, statePaused, node.state("a"), "it stays registered")

		a.r.Resume()
		a.r.Resume()
		require.False(t, a.r.Paused())
		f.await(5*time.Second, "a and b share again", f.balanced(a, b))
		require.Equal(t, stateActive, node.state("a"))
		a.leave()
		b.leave()
	})
}

func TestPauseHoldsOverALostSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, node := newFleet(t, 8), newFakeNode()
		a := f.join(f.config("a"), node.open)
		f.await(5*time.Second, "a owns everything", f.balanced(a))
		lost := a.session().(*fakeSession)
		lost.lose()
		a.r.Pause() // while there is no session
		node.expire(lost)
		<-time.After(time.Minute)
		require.Empty(t, a.r.Owned())
		require.Equal(t, statePaused, node.state("a"))
		lost = a.session().(*fakeSession)
		lost.lose()
		node.expire(lost)
		<-time.After(time.Minute)
		require.Equal(t, statePaused, node.state("a"), "in the next session too")
		a.r.Resume()
		f.await(5*time.Second, "a owns everything again", f.balanced(a))
		a.leave()
	})
}

// A worker that is paused before Start, or while it registers, gets nothing.
func TestPauseBeforeTheWorkerHasJoined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, node := newFleet(t, 8), newFakeNode()
		m := &member{f: f, id: "a"}
		cfg := f.config("a")
		cfg.Consumer, cfg.Observer = m, m
		m.r = newRebalancer(cfg.withDefaults(), node.open)
		m.r.Pause()
		require.NoError(t, m.r.Start(context.WithoutCancel(t.Context())))
		<-m.r.Ready()
		<-time.After(time.Minute)
		require.Empty(t, f.worked, "it never owned anything")
		m.r.Resume()
		f.await(5*time.Second, "it owns everything", f.balanced(m))
		m.leave()
	})
}

// The order of an operator is stronger, and each ends by itself.
func TestPauseAndDrainAreTwo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, node := newFleet(t, 8), newFakeNode()
		a := f.join(f.config("a"), node.open)
		f.await(5*time.Second, "a owns everything", f.balanced(a))
		operator, err := node.open(t.Context())
		require.NoError(t, err)
		a.r.Pause()
		require.NoError(t, operator.SetData(t.Context(), drainedName, []byte(`{"a":"2026-01-01T00:00:00Z"}`)))
		<-time.After(time.Minute)
		require.Equal(t, stateDrained, node.state("a"))
		require.NoError(t, operator.SetData(t.Context(), drainedName, nil))
		<-time.After(time.Minute)
		require.Equal(t, statePaused, node.state("a"))
		require.Empty(t, a.r.Owned())
		require.NoError(t, operator.SetData(t.Context(), drainedName, []byte(`{"a":"2026-01-01T00:00:00Z"}`)))
		a.r.Resume()
		<-time.After(time.Minute)
		require.Empty(t, a.r.Owned())
		require.NoError(t, operator.SetData(t.Context(), drainedName, nil))
		f.await(5*time.Second, "a owns everything again", f.balanced(a))
		a.leave()
	})
}

func TestAFleetThatIsPausedAsAWholeSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, node := newFleet(t, 8), newFakeNode()
		said := &count{message: "no worker of the fleet is active: nobody owns the partitions, and no task runs until one is resumed"}
		var all []*member
		for _, id := range []string{"a", "b", "c"} {
			cfg := f.config(id)
			cfg.Logger = slog.New(said)
			all = append(all, f.join(cfg, node.open))
		}
		f.await(5*time.Second, "they share", f.balanced(all...))
		for _, m := range all {
			m.r.Pause()
		}
		f.await(5*time.Second, "nobody owns anything", func() bool { return len(f.loads()) == 0 })
		<-time.After(10 * time.Minute)
		require.Equal(t, 3, said.lines(), "each says it once")
		all[1].r.Resume()
		f.await(5*time.Second, "b owns everything", f.balanced(all[1]))
		for _, m := range all {
			m.leave()
		}
		require.Empty(t, node.left())
	})
}

func TestPauseAndResumeFromManyGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, node := newFleet(t, 8), newFakeNode()
		a := f.join(f.config("a"), node.open)
		var callers sync.WaitGroup
		for i := range 8 {
			callers.Go(func() {
				for range 20 {
					<-time.After(time.Duration(i) * 37 * time.Millisecond)
					a.r.Pause()
					<-time.After(time.Duration(i) * 23 * time.Millisecond)
					a.r.Resume()
				}
			})
		}
		callers.Wait()
		a.r.Pause()
		a.r.Resume()
		f.await(10*time.Second, "the last word counts", f.balanced(a))
		a.leave()
	})
}
