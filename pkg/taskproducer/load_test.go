package taskproducer

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/pkg/task"
)

func numbered(n int) task.Task { return task.Task{ID: fmt.Sprint(n)} }

func TestRunHoldsTheRate(t *testing.T) {
	t.Parallel()
	for _, rate := range []float64{0.5, 7, 500, 3456} {
		t.Run(fmt.Sprint(rate), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := &memory{}
				p, _ := setup(t, store, Config{})
				result, err := p.Run(t.Context(), Load{Make: numbered, Rate: rate, Duration: 10 * time.Second})
				require.NoError(t, err)
				require.InEpsilon(t, rate*10, result.Enqueued, 0.01)
				require.Zero(t, result.Backpressure)
				for i, stored := range store.tasks() {
					if stored.ID != fmt.Sprint(i) {
						t.Fatalf("task %d has id %s", i, stored.ID)
					}
				}
			})
		})
	}
}

func TestRunEndsAtCount(t *testing.T) {
	t.Parallel()
	for _, rate := range []float64{0, 1000} {
		synctest.Test(t, func(t *testing.T) {
			store := &memory{before: func(context.Context, int) error { time.Sleep(time.Second); return nil }} // virtual time
			p, _ := setup(t, store, Config{})
			result, err := p.Run(t.Context(), Load{Make: numbered, Rate: rate, Count: 12_345, InFlight: 32})
			require.NoError(t, err)
			require.Equal(t, 12_345, result.Made)
			require.Equal(t, 12_345, result.Enqueued)
		})
	}
}

// TestRunCatchesUp: a stall is backpressure, its windows stay bounded, and the
// rate over the whole time holds.
func TestRunCatchesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stalled := time.Now().Add(1950 * time.Millisecond)
		store := &memory{before: func(context.Context, int) error {
			if wait := time.Until(stalled); wait > 0 {
				time.Sleep(wait) // virtual time
			}
			return nil
		}}
		p, counts := setup(t, store, Config{})
		result, err := p.Run(t.Context(), Load{Make: numbered, Rate: 500, Duration: 10 * time.Second, InFlight: 4})
		require.NoError(t, err)
		require.InEpsilon(t, 5000, result.Enqueued, 0.03)
		require.Equal(t, 19-4, result.Backpressure, "of the 19 windows of the stall 4 found a place")
		require.Equal(t, result.Backpressure, counts.backpressed)
		for _, batch := range store.batches {
			require.LessOrEqual(t, len(batch.Tasks), 100, "twice the share of a window")
		}
	})
}

func TestRunDrainsWhenStopped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &memory{before: func(ctx context.Context, _ int) error {
			select {
			case <-time.After(5 * time.Second):
				return nil
			case <-ctx.Done():
				return errors.New("cut off")
			}
		}}
		p, _ := setup(t, store, Config{})
		ctx, cancel := context.WithTimeout(t.Context(), 250*time.Millisecond)
		defer cancel()
		result, err := p.Run(ctx, Load{Make: numbered, Rate: 100})
		require.NoError(t, err)
		require.Equal(t, 20, result.Made)
		require.Equal(t, 20, result.Enqueued)

		ctx, cancel = context.WithTimeout(t.Context(), 250*time.Millisecond)
		defer cancel()
		result, err = p.Run(ctx, Load{Make: numbered, Rate: 100, Drain: time.Second})
		require.ErrorContains(t, err, "cut off")
		require.Equal(t, 20, result.Made)
		require.Zero(t, result.Enqueued)
	})
}

// TestRunEndsAtItsDurationWhenNothingIsStored: a load as fast as possible waits for
// a slot, but not longer than it lasts.
func TestRunEndsAtItsDurationWhenNothingIsStored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &memory{before: func(ctx context.Context, _ int) error { <-ctx.Done(); return context.Cause(ctx) }}
		p, _ := setup(t, store, Config{})
		begin := time.Now()
		_, err := p.Run(t.Context(), Load{Make: numbered, Duration: 5 * time.Second, Drain: time.Second})
		require.ErrorContains(t, err, "batches not stored within 1s of the end")
		require.Equal(t, 6*time.Second, time.Since(begin))
	})
}

func TestRunEndsWhenAWindowCannotBeStored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		refused := errors.New("no rights")
		store := &memory{before: func(_ context.Context, call int) error {
			if call == 3 {
				return refused
			}
			return nil
		}}
		p, _ := setup(t, store, Config{})
		result, err := p.Run(t.Context(), Load{Make: numbered, Rate: 100})
		require.ErrorIs(t, err, refused)
		require.Equal(t, 20, result.Enqueued)
	})
}

func TestRunCountsInvalidTasks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, counts := setup(t, &memory{}, Config{})
		result, err := p.Run(t.Context(), Load{
			Make:  func(n int) task.Task { return task.Task{Delay: -time.Duration(n % 2)} },
			Rate:  100,
			Count: 50,
		})
		require.NoError(t, err)
		require.Equal(t, 25, result.Enqueued)
		require.Equal(t, 25, result.Invalid)
		require.Equal(t, 25, counts.invalid)
	})
}

func TestLoadIsChecked(t *testing.T) {
	t.Parallel()
	p, _ := setup(t, &memory{}, Config{})
	_, err := p.Run(t.Context(), Load{Rate: -1, Window: time.Hour, Count: -1, Duration: -1, InFlight: -1, Drain: -1})
	for _, text := range []string{"Make: must be set", "Rate -1", "Window 1h0m0s", "Count -1", "Duration -1ns", "InFlight -1", "Drain -1ns"} {
		require.ErrorContains(t, err, text)
	}
	_, err = p.Run(t.Context(), Load{Make: numbered})
	require.ErrorContains(t, err, "needs Count or Duration")
}

// TestRunBoundsWhatIsInFlight: however far the target is above what the store
// takes, the tasks in memory stay bounded.
func TestRunBoundsWhatIsInFlight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &memory{before: func(context.Context, int) error { time.Sleep(time.Second); return nil }} // virtual time
		p, counts := setup(t, store, Config{BatchTasks: 100})
		made := 0
		begin := time.Now()
		result, err := p.Run(t.Context(), Load{
			Make: func(n int) task.Task {
				made++
				stored := 400 * int(time.Since(begin)/time.Second)
				if made-stored > 400+400 { // in flight, and those that end in this very moment
					t.Errorf("%d tasks made, %d stored", made, stored)
				}
				return numbered(n)
			},
			Rate: 100_000, Duration: 5 * time.Second, InFlight: 4,
		})
		require.NoError(t, err)
		require.Equal(t, made, result.Enqueued)
		require.InDelta(t, 2000, made, 400)
		require.Equal(t, result.Backpressure, counts.backpressed)
		require.Greater(t, counts.backpressed, 40)
	})
}
