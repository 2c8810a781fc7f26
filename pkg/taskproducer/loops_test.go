package taskproducer

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/internal/ydbfake"
	"github.com/taskfleet/taskfleet/pkg/task"
)

// failing is a store whose one operation fails.
type failing struct {
	keyed
	op    string
	err   error
	calls int // of op
}

func (f *failing) call(op string) error {
	if op != f.op || f.err == nil {
		return nil
	}
	f.calls++
	return f.err
}

func (f *failing) Enqueue(ctx context.Context, batch task.Batch) (task.EnqueueResult, error) {
	if err := f.call("enqueue"); err != nil {
		return task.EnqueueResult{}, err
	}
	if f.op == "split" {
		return task.EnqueueResult{}, task.ErrRefused
	}
	return f.keyed.Enqueue(ctx, batch)
}

func (f *failing) Split(context.Context, string) (bool, error) { return true, f.call("split") }

func (f *failing) KnownID(ctx context.Context, prefix string) (string, error) {
	if err := f.call("known id"); err != nil {
		return "", err
	}
	return f.keyed.KnownID(ctx, prefix)
}

// TestEachLoopByTheClassOfTheError: what may go through later is repeated with
// pauses until the context ends, and nothing else is.
func TestEachLoopByTheClassOfTheError(t *testing.T) {
	t.Parallel()
	repeated := map[string]bool{"retry": true, "conflict": true, "unknown": true}
	for class, failure := range ydbfake.OfEachClass(t) {
		for op, run := range map[string]func(context.Context, *Producer) error{
			"enqueue": func(ctx context.Context, p *Producer) error { _, err := p.EnqueueAll(ctx, "", task.Task{}); return err },
			"split":   func(ctx context.Context, p *Producer) error { _, err := p.Enqueue(ctx, task.Task{}); return err },
			"known id": func(ctx context.Context, p *Producer) error {
				_, err := p.EnqueueAll(ctx, "key", task.Task{})
				return err
			},
		} {
			t.Run(op+" "+class, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					store := &failing{op: op, err: failure}
					p, _ := setup(t, store, Config{})
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					err := run(ctx, p)
					require.ErrorIs(t, err, failure)
					require.Equal(t, repeated[class], errors.Is(err, context.DeadlineExceeded))
					if !repeated[class] {
						require.Equal(t, 1, store.calls)
						return
					}
					require.Greater(t, store.calls, 15)
					require.Less(t, store.calls, 50)
				})
			})
		}
	}
}
