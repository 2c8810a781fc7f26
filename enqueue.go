package taskfleet

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"time"

	"github.com/taskfleet/taskfleet/pkg/metrics"
	"github.com/taskfleet/taskfleet/pkg/task"
	"github.com/taskfleet/taskfleet/pkg/taskproducer"
)

// EnqueueFunc stores tasks: see taskproducer.Producer.Enqueue.
type EnqueueFunc func(ctx context.Context, tasks ...task.Task) (taskproducer.Result, error)

// EnqueueMiddleware wraps an enqueue: it may change the tasks, as tracing headers do,
// refuse them, or see the result.
type EnqueueMiddleware func(next EnqueueFunc) EnqueueFunc

// Receipt is what is known of a task that was enqueued.
type Receipt struct {
	ID string
	// Duplicate says that a task with this id, given by the caller, was known
	// already: it is left as it is.
	Duplicate bool
}

// Option changes a task that is made by NewTask or Enqueue.
type Option func(*task.Task)

// Priority orders the runnable tasks of a partition, 255 first. Default 0.
func Priority(p uint8) Option { return func(t *task.Task) { t.Priority = p } }

// Delay makes the task runnable only after d, by the database's clock; at most 366 days.
func Delay(d time.Duration) Option { return func(t *task.Task) { t.Delay = d } }

// RunAt makes the task runnable only at a time, by the database's clock.
func RunAt(at time.Time) Option { return func(t *task.Task) { t.RunAt = at } }

// ID gives the task an id of the caller's, of at most 128 bytes. It is remembered as
// long as the task lives, and for 45 days after that: enqueuing it again changes
// nothing. Ids that the library makes or derives are refused: see task.Reserved.
func ID(id string) Option { return func(t *task.Task) { t.ID = id } }

// PartitionKey keeps tasks together: equal keys share a partition, and so a worker.
// It is no order. Default: the id.
func PartitionKey(key string) Option { return func(t *task.Task) { t.PartitionKey = key } }

// MaxAttempts bounds the attempts, the first one included. Default: the worker's, 25.
func MaxAttempts(n uint32) Option { return func(t *task.Task) { t.MaxAttempts = n } }

// Timeout bounds one attempt. Default: the worker's, 5 minutes; at most 24 hours.
func Timeout(d time.Duration) Option { return func(t *task.Task) { t.Timeout = d } }

// Header adds a header, which travels with the task to its handler.
func Header(name, value string) Option {
	return func(t *task.Task) {
		t.Headers = maps.Clone(t.Headers)
		if t.Headers == nil {
			t.Headers = map[string]string{}
		}
		t.Headers[name] = value
	}
}

// NewTask makes the task that runs with args: its kind is that of the type of args
// (see Kinder), its payload their JSON. It checks nothing else; an enqueue does.
func NewTask(args any, options ...Option) (task.Task, error) {
	if args == nil {
		return task.Task{}, fmt.Errorf("taskfleet: the arguments are nil")
	}
	kind, err := kindOf(reflect.TypeOf(args))
	if err != nil {
		return task.Task{}, fmt.Errorf("taskfleet: %w", err)
	}
	payload, err := json.Marshal(args)
	if err != nil {
		return task.Task{}, fmt.Errorf("taskfleet: arguments of kind %s: %w", kind, err)
	}
	t := task.Task{Kind: kind, Payload: payload}
	for _, option := range options {
		option(&t)
	}
	return t, nil
}

// Enqueue stores a task that a handler of the type of args will run. When it returns
// nil, the task is stored. A *task.FieldError in the error says what is wrong with the
// task. A *taskproducer.BatchError says that it is not known whether the task is
// stored: repeating Enqueue may then store it twice, unless it has an ID.
func (f *Fleet) Enqueue(ctx context.Context, args any, options ...Option) (Receipt, error) {
	t, err := NewTask(args, options...)
	if err != nil {
		return Receipt{}, err
	}
	result, err := f.EnqueueTasks(ctx, t)
	if err != nil {
		return Receipt{}, err
	}
	return Receipt{ID: result.IDs[0], Duplicate: result.Duplicates > 0}, nil
}

// EnqueueTasks stores tasks made by NewTask or by hand, a thousand of them atomically
// and more in batches: see taskproducer.Producer.Enqueue, also for the errors.
func (f *Fleet) EnqueueTasks(ctx context.Context, tasks ...task.Task) (taskproducer.Result, error) {
	return f.enqueue(ctx, tasks...)
}

// enqueueMetrics reports to the metrics of a producer, which are shown from the first
// enqueue on: a process that only works shows none.
type enqueueMetrics struct{ m *metrics.Metrics }

func (e enqueueMetrics) Enqueued(batch task.Batch, result task.EnqueueResult, took time.Duration) {
	e.m.Producer().Enqueued(batch, result, took)
}

func (e enqueueMetrics) Failed(tasks int, took time.Duration, err error) {
	e.m.Producer().Failed(tasks, took, err)
}

func (e enqueueMetrics) Invalid(field string) { e.m.Producer().Invalid(field) }

func (e enqueueMetrics) Backpressure(tasks int) { e.m.Producer().Backpressure(tasks) }
