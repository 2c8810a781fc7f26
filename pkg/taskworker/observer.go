package taskworker

import (
	"time"

	"github.com/taskfleet/taskfleet/pkg/task"
)

// Buffers is how much a worker holds at a moment.
type Buffers struct {
	Partitions int // owned
	Waiting    int // claimed, not started
	Running    int // handlers at work
	Unrecorded int // ended, their outcome not yet stored
}

// Backlog is what waits in the partitions that a worker owns.
type Backlog struct {
	Partitions               int // that the figures cover: fewer than owned just after some came
	Pending, Locked, Delayed uint64
	// Oldest is how long the pending task that waits longest had been due when it
	// was counted.
	Oldest time.Duration
}

// Observer is told what a worker does. Its methods are called concurrently and
// must not block. Embed NopObserver to implement only some.
type Observer interface {
	// Swept reports one look for candidates over so many partitions.
	Swept(partitions, found int, took time.Duration)
	// Claimed reports one claim: how many keys it asked for and how many it got.
	Claimed(asked, got int, took time.Duration)
	// Started reports the start of a handler and how long the task had been due,
	// by the database's clock until its claim and the worker's from then on.
	Started(kind string, latency time.Duration)
	// Finished reports an outcome that was recorded, and how long the handler ran.
	Finished(kind string, outcome task.Outcome, took time.Duration)
	// LostLease reports a claim whose result was not recorded because another
	// worker has the task.
	LostLease(kind string)
	// Abandoned reports a handler that did not heed the end of its context.
	Abandoned(kind string)
	// Flushed reports one record of outcomes. With an error nothing was recorded
	// and the same outcomes will be tried again.
	Flushed(outcomes int, took time.Duration, err error)
	// Promoted reports one round of making due tasks runnable.
	Promoted(partitions, moved int, took time.Duration)
	// Skipped reports tasks that a read found and left to other workers, because
	// this one has no handler for their kind. The same task is reported by each read.
	Skipped(kind string, tasks int)
	// Quarantined reports a task that runs alone, because workers that held it died.
	Quarantined()
	// Refused reports a task that went to the dead tasks, or whose outcome was
	// replaced, because the database refuses the operation (claim, finish, promote) on it.
	Refused(op string)
	// Failed reports an operation on the database (candidates, claim, promote, bury, count)
	// that failed after its retries.
	Failed(op string, err error)
	// Holds reports what the worker holds, after every claim and every record.
	Holds(Buffers)
	// Backlog reports what waits in the owned partitions, after every count and
	// whenever partitions come or go. Over all workers the figures add up to the
	// fleet's: each counts its own partitions. It needs Config.Counter.
	Backlog(Backlog)
}

// NopObserver ignores everything.
type NopObserver struct{}

// Swept does nothing.
func (NopObserver) Swept(int, int, time.Duration) {}

// Claimed does nothing.
func (NopObserver) Claimed(int, int, time.Duration) {}

// Started does nothing.
func (NopObserver) Started(string, time.Duration) {}

// Finished does nothing.
func (NopObserver) Finished(string, task.Outcome, time.Duration) {}

// LostLease does nothing.
func (NopObserver) LostLease(string) {}

// Abandoned does nothing.
func (NopObserver) Abandoned(string) {}

// Flushed does nothing.
func (NopObserver) Flushed(int, time.Duration, error) {}

// Promoted does nothing.
func (NopObserver) Promoted(int, int, time.Duration) {}

// Skipped does nothing.
func (NopObserver) Skipped(string, int) {}

// Quarantined does nothing.
func (NopObserver) Quarantined() {}

// Refused does nothing.
func (NopObserver) Refused(string) {}

// Failed does nothing.
func (NopObserver) Failed(string, error) {}

// Holds does nothing.
func (NopObserver) Holds(Buffers) {}

// Backlog does nothing.
func (NopObserver) Backlog(Backlog) {}

var _ Observer = NopObserver{}
