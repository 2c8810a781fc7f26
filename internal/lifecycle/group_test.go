package lifecycle

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestStopWaitsForEveryGoroutine(t *testing.T) {
	t.Parallel()
	g := New(t.Context())
	var ended atomic.Int32
	for range 10 {
		require.True(t, g.Go("waiter", func(ctx context.Context) error {
			<-ctx.Done()
			ended.Add(1)
			return ctx.Err()
		}))
	}
	require.NoError(t, g.Stop(t.Context()))
	require.EqualValues(t, 10, ended.Load())
	require.NoError(t, g.Err(), "the end of the context is no error")
	require.ErrorIs(t, context.Cause(g.Context()), ErrStopped)
	require.False(t, g.Go("late", func(context.Context) error { return nil }))
	require.NoError(t, g.Stop(t.Context()), "a second stop is fine")
}

func TestStopIsBoundedByItsContext(t *testing.T) {
	t.Parallel()
	g := New(t.Context())
	release := make(chan struct{})
	g.Go("stubborn", func(context.Context) error { <-release; return nil })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, g.Stop(ctx), context.Canceled)
	close(release)
	require.NoError(t, g.Stop(t.Context()))
}

func TestFirstErrorStopsTheGroup(t *testing.T) {
	t.Parallel()
	g := New(t.Context())
	broken := errors.New("broken")
	g.Go("other", func(ctx context.Context) error { <-ctx.Done(); return errors.New("later") })
	g.Go("first", func(context.Context) error { return broken })
	<-g.Context().Done()
	require.NoError(t, g.Stop(t.Context()))
	require.ErrorIs(t, g.Err(), broken)
	require.EqualError(t, g.Err(), "first: broken")
}

func TestStartAndStopFromManyGoroutines(t *testing.T) {
	t.Parallel()
	for range 50 {
		g := New(t.Context())
		var callers sync.WaitGroup
		for range 10 {
			callers.Go(func() {
				g.Go("x", func(ctx context.Context) error { <-ctx.Done(); return nil })
				if err := g.Stop(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		callers.Wait()
	}
}
