package taskproducer

import (
	"time"

	"github.com/taskfleet/taskfleet/pkg/task"
)

// Observer is told what a producer does. Its methods are called from several
// goroutines, must return at once, and keep nothing of their arguments. Embed
// NopObserver to implement some of them.
type Observer interface {
	// Enqueued: a batch was stored, took after it was sent.
	Enqueued(batch task.Batch, result task.EnqueueResult, took time.Duration)
	// Failed: a batch of so many tasks was not stored, or not known to be, took
	// after it was sent.
	Failed(tasks int, took time.Duration, err error)
	// Invalid: a task was refused; field is the first that is wrong.
	Invalid(field string)
	// Backpressure: a window did not fit, because too many batches are on their
	// way; so many of its tasks have to wait.
	Backpressure(tasks int)
}

// NopObserver does nothing.
type NopObserver struct{}

// Enqueued does nothing.
func (NopObserver) Enqueued(task.Batch, task.EnqueueResult, time.Duration) {}

// Failed does nothing.
func (NopObserver) Failed(int, time.Duration, error) {}

// Invalid does nothing.
func (NopObserver) Invalid(string) {}

// Backpressure does nothing.
func (NopObserver) Backpressure(int) {}
