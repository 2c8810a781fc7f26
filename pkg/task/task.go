// Package task is the vocabulary of taskfleet: what a task is, where it
// belongs, what may stand in it, and the records that the producer, the worker
// and the store exchange. It depends on the standard library and murmur3 only.
package task

import (
	"errors"
	"fmt"
	"time"
)

// ErrRefused is wrapped by every error of the store that the same statement would
// meet again: it is too large, or the database refuses one of its rows. It must
// not be repeated as it stands; parts of it may go through.
var ErrRefused = errors.New("task: the database refuses the statement for good")

// Status is where a task stands in its life.
type Status string

// The states of a task. A pending or locked task is in coordinated_tasks, the
// others each have a table of their own.
const (
	Delayed   Status = "delayed"   // not due yet: delayed on purpose, or waiting for a retry
	Pending   Status = "pending"   // runnable
	Locked    Status = "locked"    // claimed by a worker
	Completed Status = "completed" // done
	Dead      Status = "dead"      // attempts exhausted, cancelled or rejected
)

// Task is one unit of work. The zero values of optional fields mean the
// defaults that the fields name.
type Task struct {
	// ID identifies the task in the whole fleet. Empty: NewID makes one at
	// enqueue, so that ids order by time. An id that the caller gives must not be
	// Reserved. It is remembered as long as the task lives, and for 45 days after
	// it is completed or dead: enqueuing it again changes nothing.
	ID string
	// IDGiven reports whether the caller chose ID, so that the store must remember
	// it. The producer sets it; ids that the producer makes need no memory.
	IDGiven bool
	// Kind chooses the handler. Empty: DefaultKind.
	Kind string
	// Payload is the handler's input, at most MaxPayload bytes, never changed.
	Payload []byte
	// Priority orders runnable tasks of one partition, 255 first.
	Priority uint8
	// PartitionKey keeps tasks together: equal keys share a partition. Empty: the id.
	PartitionKey string
	// RunAt is when the task becomes runnable, by the database's clock. Zero: now.
	RunAt time.Time
	// Delay is added to the database's clock at enqueue, instead of RunAt.
	Delay time.Duration
	// MaxAttempts bounds the attempts, the first included. Zero: the worker's setting.
	MaxAttempts uint32
	// Timeout bounds one attempt. Zero: the worker's setting.
	Timeout time.Duration
	// Headers travel with the task to the handler, at most MaxHeaders bytes in all.
	Headers map[string]string

	// What follows is the store's: it is read, never written, by callers.

	Partition uint16
	Attempt   uint32 // recorded outcomes; of a claimed task the number of the attempt that runs, from 1
	Crashes   uint32 // how often a lock on it died: its worker ended without an outcome
	CreatedAt time.Time
	LastError string // of the attempt before
}

// Key is where a runnable task stands in coordinated_tasks. Keys order as the
// claim takes them: by rank, which is 255 - priority, then by id.
type Key struct {
	Partition uint16
	Rank      uint8
	ID        string
}

// Owned is a partition with the epoch under which its owner claims in it.
type Owned struct {
	Partition uint16
	Epoch     uint64
}

// Cursor says where a read for candidates resumes in a partition: behind the
// key (After, ID), or at the head when ID is empty.
type Cursor struct {
	Owned
	AfterRank uint8
	AfterID   string
}

// Candidate is a task that may be claimed.
type Candidate struct {
	Key
	Kind    string
	Crashes uint32 // as a claim would return it: a lock that is dead is counted
}

// CandidateRun is what was read of one partition behind a cursor.
type CandidateRun struct {
	Candidates []Candidate // in key order
	Next       Cursor      // behind the last row that was read, claimable or not
	Exhausted  bool        // nothing was behind Next
}

// ClaimRequest asks for the lock of exactly these keys.
type ClaimRequest struct {
	// ID makes the claim exact: repeated with the same ID, after an answer was
	// lost, it finds the locks that it took. It must be unique among claims.
	ID    string
	Owner string  // worker id, for people who read the table
	Owned []Owned // every partition that Keys mention
	Keys  []Key
	// DefaultTimeout is for tasks without a timeout; Margin is added to the
	// timeout to make locked_until, the backstop.
	DefaultTimeout, Margin time.Duration
}

// LockValue is the lock that the claim puts on Keys[i]. A claim whose outcome
// stays unknown is given back by it.
func (r ClaimRequest) LockValue(i int) string { return fmt.Sprintf("%s/%d", r.ID, i+1) }

// Claimed is a task with the lock under which it runs.
type Claimed struct {
	Task
	Key       Key
	LockValue string
	Epoch     uint64
	// Waited is how long the task was due before this claim, by the database's clock.
	Waited time.Duration
}

// ClaimResult is what a claim got. What is missing is somebody else's, and no
// error. Stale lists partitions whose epoch is no longer the caller's.
type ClaimResult struct {
	Claimed []*Claimed
	Stale   []uint16
}

// Outcome is how a claim ended.
type Outcome uint8

// The outcomes of a claim.
const (
	OutcomeCompleted Outcome = iota + 1 // to completed_tasks
	OutcomeRetry                        // to delayed_tasks, runnable again after Delay
	OutcomeDead                         // to dead_tasks
	OutcomeReleased                     // pending again, as if it had not been claimed
)

// String returns the outcome's label in logs and metrics.
func (o Outcome) String() string {
	switch o {
	case OutcomeCompleted:
		return "completed"
	case OutcomeRetry:
		return "retry"
	case OutcomeDead:
		return "dead"
	case OutcomeReleased:
		return "released"
	}
	return "unknown"
}

// Result is one claim's outcome, to be recorded while LockValue still holds.
type Result struct {
	Key       Key
	LockValue string
	Epoch     uint64 // under which the claim was made; settles a retry whose answer was lost
	Outcome   Outcome
	Attempt   uint32        // outcomes with this one, as it is stored; ignored for OutcomeReleased
	IDGiven   bool          // of the task: its id is remembered for a time after it is completed or dead
	Delay     time.Duration // of OutcomeRetry
	Error     string        // of OutcomeRetry and OutcomeDead, at most MaxError bytes
	// Repeated says that a call with this result has ended without an answer: it
	// may be recorded already.
	Repeated bool
}

// PromoteResult reports, by partition, how many due tasks became runnable and how
// long, by the database's clock, until the next one is due. A partition without
// delayed tasks is missing in NextDue; one that had due tasks has zero there, since
// more may be due. Stale lists partitions whose epoch is no longer the caller's;
// nothing was moved in them. Buried are tasks that the database refused to move
// and that were moved to dead_tasks instead.
type PromoteResult struct {
	Moved   map[uint16]int
	NextDue map[uint16]time.Duration
	Stale   []uint16
	Buried  []Key
}

// Runnable counts the runnable tasks of a partition at one moment.
type Runnable struct {
	Pending, Locked uint64
	// Oldest is how long the pending task that waits longest has been due, by the
	// database's clock; zero without pending tasks.
	Oldest time.Duration
}

// Batch is what one enqueue writes, atomically. ID makes it exact:
// enqueuing a batch of the same id again writes nothing.
type Batch struct {
	ID    string
	Tasks []Task // validated, with ids and partitions
}

// EnqueueResult counts what an enqueue did.
type EnqueueResult struct {
	Enqueued   int  // tasks that are stored
	Duplicates int  // tasks whose id, given by the caller, was known already
	Replayed   bool // the whole batch had been committed before
}
