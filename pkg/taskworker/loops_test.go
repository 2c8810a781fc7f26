package taskworker_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/internal/taskmodel"
	"github.com/taskfleet/taskfleet/pkg/task"
	"github.com/taskfleet/taskfleet/pkg/taskworker"
)

// TestEveryLoopRepeatsWithAPause: an operation that fails is repeated, not in a
// hot loop, and goes on when the database does. What a refused claim, finish or
// promotion does is in refuse_test.go and in the store's tests; reads and counts
// that are refused say nothing about a task and are repeated like the others.
func TestEveryLoopRepeatsWithAPause(t *testing.T) {
	unavailable := errors.New("unavailable")
	refused := fmt.Errorf("refused: %w", task.ErrRefused)
	for _, c := range []struct {
		op   string
		err  error
		most int64 // calls in a minute of failures
	}{
		{"candidates", unavailable, 80},
		{"candidates", refused, 80},
		{"claim", unavailable, 80},
		{"finish", unavailable, 80},
		{"promote", unavailable, 130},
		{"promote", refused, 130},
		{"count_runnable", unavailable, 5},
		{"count_runnable", refused, 5},
	} {
		t.Run(fmt.Sprint(c.op, " ", c.err), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &bundle{t: t, model: taskmodel.New(time.Now), seen: &recorder{}}
				var calls atomic.Int64
				var up atomic.Bool
				b.model.Hook = func(_ context.Context, op string) error {
					if op != c.op || up.Load() {
						return nil
					}
					calls.Add(1)
					return c.err
				}
				b.worker = newWorker(t, b.model, b.seen, taskworker.Config{Counter: b.model}, nothing)
				require.NoError(t, b.worker.Start(t.Context()))
				b.add(task.Task{ID: "now"}, task.Task{ID: "later", Delay: time.Second})
				b.own(0)
				after(time.Minute)
				require.Positive(t, calls.Load())
				require.LessOrEqual(t, calls.Load(), c.most)
				up.Store(true)
				after(5 * time.Minute)
				require.Equal(t, 2, b.model.Count(task.Completed))
				require.NoError(t, b.worker.Stop(t.Context()))
			})
		})
	}
}
