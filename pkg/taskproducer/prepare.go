package taskproducer

import (
	"context"
	"errors"

	"github.com/taskfleet/taskfleet/internal/derived"
	"github.com/taskfleet/taskfleet/internal/taskstore"
	"github.com/taskfleet/taskfleet/pkg/task"
)

// prepared is what became of the tasks of one call.
type prepared struct {
	batches []task.Batch
	order   []int    // the call's index of each task of the batches
	ids     []string // by the call's index; "" of an invalid task
	invalid int
	err     error // joined *TaskError
}

// prepare checks the tasks, fills in what they leave out and cuts them into
// batches. The caller's tasks are not changed.
func (p *Producer) prepare(ctx context.Context, tasks []task.Task) prepared {
	var (
		out   = prepared{ids: make([]string, len(tasks))}
		errs  []error
		batch task.Batch
		bytes int
	)
	flush := func() {
		if len(batch.Tasks) > 0 {
			out.batches = append(out.batches, batch)
		}
		batch, bytes = task.Batch{}, 0
	}
	for i, t := range tasks {
		if err := check(ctx, &t); err != nil {
			p.cfg.Observer.Invalid(firstField(err))
			errs = append(errs, &TaskError{Index: i, Err: err})
			out.invalid++
			continue
		}
		p.fill(&t)
		out.ids[i] = t.ID
		out.order = append(out.order, i)
		size := taskstore.EnqueueSize(&t)
		if len(batch.Tasks) == p.cfg.BatchTasks || bytes+size > p.cfg.BatchBytes {
			flush()
		}
		if batch.ID == "" {
			batch = task.Batch{ID: p.cfg.NewID(), Tasks: make([]task.Task, 0, min(len(tasks)-i, p.cfg.BatchTasks))}
		}
		batch.Tasks = append(batch.Tasks, t)
		bytes += size
	}
	flush()
	out.err = errors.Join(errs...)
	return out
}

// check validates a task that a caller gave. Ids of the library's own pass.
func check(ctx context.Context, t *task.Task) error {
	err := t.Validate()
	if t.ID != "" && !derived.Allowed(ctx) {
		err = errors.Join(task.CheckGivenID(t.ID), err)
	}
	return err
}

// fill sets the id, the kind and the partition.
func (p *Producer) fill(t *task.Task) {
	t.IDGiven = true
	if t.ID == "" {
		t.ID = p.cfg.NewID()
		t.IDGiven = !task.Reserved(t.ID) // a caller could give it again
	}
	if t.Kind == "" {
		t.Kind = task.DefaultKind
	}
	key := t.PartitionKey
	if key == "" {
		key = t.ID
	}
	t.Partition = task.PartitionOf(key, p.cfg.Partitions)
}
