package taskproducer

import (
	"context"
	"errors"

	"github.com/taskfleet/taskfleet/internal/derived"
	"github.com/taskfleet/taskfleet/pkg/task"
)

// prepared is what became of the tasks of one call.
type prepared struct {
	batches []task.Batch
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
		size := sizeOf(&t)
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

// sizeOf estimates the bytes of a task in a call: what varies, and the numbers,
// times and framing of a record, which stay below 256.
func sizeOf(t *task.Task) int {
	size := 256 + len(t.ID) + len(t.Kind) + len(t.Payload) + len(t.PartitionKey)
	for name, value := range t.Headers {
		size += 2*len(name) + 2*len(value) + 8 // JSON may escape
	}
	return size
}
