package taskproducer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/taskfleet/taskfleet/pkg/task"
)

// parts is a store that refuses batches above a limit, and those with a bad task,
// and that keeps the rows of batches as the real one does.
type parts struct {
	memory
	limit int            // of tasks in a batch
	rows  map[string]int // tasks of a batch, 0 of one that was split
	fault func() fault   // of each call; it may change the limit of the next
	late  []func()       // statements that were lost on their way, and run later
	calls int
}

type fault uint8

const (
	noFault   fault = iota
	lost            // the answer
	straggles       // the statement, and so the answer
)

var errLost = fmt.Errorf("lost: %w", context.DeadlineExceeded)

func bad(t task.Task) bool { return strings.HasPrefix(t.ID, "bad") }

func (p *parts) Enqueue(_ context.Context, batch task.Batch) (task.EnqueueResult, error) {
	refused := len(batch.Tasks) > p.limit
	for _, t := range batch.Tasks {
		refused = refused || bad(t)
	}
	return p.run(func() (task.EnqueueResult, error) {
		n, known := p.rows[batch.ID]
		switch {
		case refused || known && n == 0:
			return task.EnqueueResult{}, fmt.Errorf("too large: %w", task.ErrRefused)
		case known:
			return task.EnqueueResult{Enqueued: n, Replayed: true}, nil
		}
		p.rows[batch.ID] = len(batch.Tasks)
		p.batches = append(p.batches, batch)
		return task.EnqueueResult{Enqueued: len(batch.Tasks)}, nil
	})
}

func (p *parts) Split(_ context.Context, batchID string) (bool, error) {
	result, err := p.run(func() (task.EnqueueResult, error) {
		if _, known := p.rows[batchID]; !known {
			p.rows[batchID] = 0
		}
		return task.EnqueueResult{Enqueued: p.rows[batchID]}, nil
	})
	return result.Enqueued == 0, err
}

func (p *parts) run(statement func() (task.EnqueueResult, error)) (task.EnqueueResult, error) {
	p.calls++
	what := noFault
	if p.fault != nil {
		what = p.fault()
	}
	if what == straggles {
		p.late = append(p.late, func() { _, _ = statement() })
		return task.EnqueueResult{}, errLost
	}
	result, err := statement()
	if what == lost {
		return task.EnqueueResult{}, errLost
	}
	return result, err
}

// TestI5SplitBatchesAreExact is invariant I5 for batches that are refused: servers
// have different limits, answers get lost, statements come late, and callers give
// up and repeat. Every good task is stored once; the bad ones are named.
func TestI5SplitBatchesAreExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		store := &parts{rows: map[string]int{}, limit: rapid.IntRange(1, 12).Draw(r, "first limit")}
		p, _ := setup(t, store, Config{})
		batch := task.Batch{ID: "batch"}
		var wantBad []int
		for i := range rapid.IntRange(1, 12).Draw(r, "tasks") {
			id := fmt.Sprint("good", i)
			if rapid.IntRange(0, 5).Draw(r, "bad") == 0 {
				id = fmt.Sprint("bad", i)
				wantBad = append(wantBad, i)
			}
			batch.Tasks = append(batch.Tasks, task.Task{ID: id})
		}
		faults := rapid.IntRange(0, 10).Draw(r, "faults")
		var result task.EnqueueResult
		for {
			ctx, giveUp := context.WithCancel(t.Context())
			store.fault = func() fault {
				store.limit = rapid.IntRange(1, 12).Draw(r, "limit")
				if len(store.late) > 0 && rapid.Bool().Draw(r, "run late") {
					store.late[0]()
					store.late = store.late[1:]
				}
				if faults == 0 || !rapid.Bool().Draw(r, "fault") {
					return noFault
				}
				faults--
				giveUp()
				return rapid.SampledFrom([]fault{lost, straggles}).Draw(r, "kind")
			}
			var err error
			result, err = p.EnqueueBatch(ctx, batch)
			giveUp()
			if errors.Is(err, context.Canceled) {
				continue // the caller repeats the whole batch
			}
			require.Equal(t, wantBad, indexes(t, err))
			break
		}
		for _, statement := range store.late {
			statement()
		}
		stored := map[string]int{}
		for _, one := range store.tasks() {
			stored[one.ID]++
		}
		require.Len(t, stored, len(batch.Tasks)-len(wantBad))
		for id, n := range stored {
			require.Equal(t, 1, n, id)
		}
		require.Equal(t, len(stored), result.Enqueued)
	})
}

// indexes of the tasks that an error names.
func indexes(t require.TestingT, err error) (found []int) {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	require.True(t, ok, "%v", err)
	for _, one := range joined.Unwrap() {
		var ofTask *TaskError
		require.ErrorAs(t, one, &ofTask)
		require.ErrorIs(t, one, task.ErrRefused)
		found = append(found, ofTask.Index)
	}
	return found
}

// TestI10ARefusedTaskFailsAlone is invariant I10 for what the database refuses:
// the error names the task of the call, and those behind it are stored.
func TestI10ARefusedTaskFailsAlone(t *testing.T) {
	t.Parallel()
	store := &parts{rows: map[string]int{}, limit: 100}
	p, counts := setup(t, store, Config{BatchTasks: 4})
	tasks := make([]task.Task, 11)
	for i := range tasks {
		tasks[i].ID = fmt.Sprint("good", i)
	}
	tasks[2].Timeout = -1
	tasks[7].ID = "bad7"
	result, err := p.Enqueue(t.Context(), tasks...)
	require.ErrorContains(t, err, "task 2: timeout -1ns")
	require.ErrorContains(t, err, "task 7: the database refuses it: too large")
	var failed *BatchError
	require.NotErrorAs(t, err, &failed)
	require.Equal(t, Result{
		IDs:      []string{"good0", "good1", "", "good3", "good4", "good5", "good6", "", "good8", "good9", "good10"},
		Enqueued: 9, Invalid: 2,
	}, result)
	require.Equal(t, 2, counts.invalid)
	require.Equal(t, 9, counts.tasks)
	require.Equal(t, 10, store.calls, "three batches, three splits, four parts")
}

// TestWhatCannotBeSplitIsRefused: EnqueueAll is atomic, and a store may not split.
func TestWhatCannotBeSplitIsRefused(t *testing.T) {
	t.Parallel()
	store := &parts{rows: map[string]int{}, limit: 1}
	p, _ := setup(t, store, Config{})
	_, err := p.EnqueueAll(t.Context(), "", task.Task{}, task.Task{})
	require.ErrorIs(t, err, ErrTooMany)
	require.ErrorIs(t, err, task.ErrRefused)
	require.Equal(t, 1, store.calls)

	plain, _ := setup(t, &memory{before: func(context.Context, int) error { return task.ErrRefused }}, Config{})
	_, err = plain.Enqueue(t.Context(), task.Task{}, task.Task{})
	var failed *BatchError
	require.ErrorAs(t, err, &failed)
	require.ErrorIs(t, err, task.ErrRefused)
}
