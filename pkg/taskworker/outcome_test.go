package taskworker_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/pkg/task"
	"github.com/taskfleet/taskfleet/pkg/taskworker"
)

func TestWhatAHandlerReturnsDecides(t *testing.T) {
	broken := errors.New("connection refused")
	tests := []struct {
		name    string
		task    task.Task
		handler taskworker.Handler
		status  task.Status
		attempt uint32
		text    string // in LastError
	}{
		{"nil completes", task.Task{}, func(context.Context, *task.Task) error { return nil }, task.Completed, 1, ""},
		{"an error fails the attempt", task.Task{}, func(context.Context, *task.Task) error { return broken }, task.Delayed, 1, "connection refused"},
		{"the last attempt ends the task", task.Task{MaxAttempts: 1}, func(context.Context, *task.Task) error { return broken }, task.Dead, 1, "connection refused"},
		{"never ends the task", task.Task{}, func(context.Context, *task.Task) error { return taskworker.Never(broken) }, task.Dead, 1, "connection refused"},
		{"never without a reason has one", task.Task{}, func(context.Context, *task.Task) error { return taskworker.Never(nil) }, task.Dead, 1, "rejected"},
		{"retry after", task.Task{}, func(context.Context, *task.Task) error { return taskworker.RetryAfter(time.Hour, broken) }, task.Delayed, 1, "connection refused"},
		{"retry after the last attempt", task.Task{MaxAttempts: 1}, func(context.Context, *task.Task) error { return taskworker.RetryAfter(time.Hour, nil) }, task.Dead, 1, "after 1h"},
		{"a panic fails the attempt with its stack", task.Task{}, func(context.Context, *task.Task) error { panic("boom") }, task.Delayed, 1, "outcome_test.go"},
		{"a handler that ends its goroutine", task.Task{}, func(context.Context, *task.Task) error { runtime.Goexit(); return nil }, task.Delayed, 1, "ended its goroutine"},
		{"the task's timeout ends the context", task.Task{Timeout: time.Second}, func(ctx context.Context, _ *task.Task) error {
			<-ctx.Done()
			return context.Cause(ctx)
		}, task.Delayed, 1, "timed out after 1s"},
		{"a text that is not UTF-8, and long", task.Task{}, func(context.Context, *task.Task) error {
			return errors.New("\xff" + strings.Repeat("é", task.MaxError))
		}, task.Delayed, 1, "\uFFFD"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := setup(t, taskworker.Config{Backoff: func(uint32) time.Duration { return time.Hour }}, tt.handler)
				tt.task.ID = "x"
				b.add(tt.task)
				b.own(0)
				after(2 * time.Second)
				row := b.row("x")
				require.Equal(t, tt.status, row.Status)
				require.Equal(t, tt.attempt, row.Attempt)
				require.Contains(t, row.LastError, tt.text)
				require.LessOrEqual(t, len(row.LastError), task.MaxError)
			})
		})
	}
}

func TestAFailedTaskComesBackLaterAndLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at []time.Time
		b := setup(t, taskworker.Config{
			Backoff: func(attempt uint32) time.Duration { return time.Duration(attempt) * time.Minute },
		}, func(_ context.Context, t *task.Task) error {
			at = append(at, time.Now())
			if t.Attempt < 4 {
				return errors.New("not yet")
			}
			return nil
		})
		b.add(task.Task{ID: "x"})
		b.own(0)
		after(time.Hour)
		require.Len(t, at, 4)
		for i := 1; i < len(at); i++ {
			require.InDelta(t, time.Duration(i)*time.Minute, at[i].Sub(at[i-1]), float64(time.Second))
		}
		require.Equal(t, task.Completed, b.row("x").Status)
	})
}

func TestExponentialStaysWithinItsBounds(t *testing.T) {
	t.Parallel()
	backoff := taskworker.Exponential(time.Second, time.Hour)
	for attempt, want := range map[uint32]time.Duration{1: time.Second, 2: 2 * time.Second, 5: 16 * time.Second, 13: time.Hour, 1000: time.Hour} {
		for range 100 {
			d := backoff(attempt)
			require.LessOrEqual(t, d, want, "attempt %d", attempt)
			require.GreaterOrEqual(t, d, want/2, "attempt %d", attempt)
		}
	}
}
