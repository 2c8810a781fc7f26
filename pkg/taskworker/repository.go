package taskworker

import (
	"context"

	"github.com/taskfleet/taskfleet/pkg/task"
)

// Handler does the work of one task. Its error decides what becomes of it: nil
// completes it, Never ends it, RetryAfter and any other error give it another
// attempt later. The task is the handler's to read until it returns.
type Handler func(ctx context.Context, t *task.Task) error

// Counter counts the tasks of partitions; every partition that is asked for is
// in the answer. All methods may be called concurrently, and repeated.
type Counter interface {
	// CountRunnable counts tasks that are pending or locked.
	CountRunnable(ctx context.Context, partitions []uint16) (map[uint16]task.Runnable, error)
	// CountDelayed counts tasks that are not due.
	CountDelayed(ctx context.Context, partitions []uint16) (map[uint16]uint64, error)
}

// TaskRepository is where tasks are kept. All methods may be called
// concurrently, and repeated after an error, unless it wraps task.ErrRefused: the
// same statement would be refused again.
type TaskRepository interface {
	// Candidates reads up to limit keys behind each cursor, in claim order, and
	// returns a run for each cursor, in their order.
	Candidates(ctx context.Context, cursors []task.Cursor, limit int) ([]task.CandidateRun, error)
	// Claim locks those of the keys that are free and whose partition's epoch
	// still is the caller's. The same request may be repeated: it finds its own locks.
	Claim(ctx context.Context, req task.ClaimRequest) (task.ClaimResult, error)
	// Bury moves a runnable task that no live lock holds to the dead tasks, with the
	// reason, if the partition's epoch still is the caller's, and reports whether it
	// did. It may be repeated.
	Bury(ctx context.Context, owned task.Owned, key task.Key, reason string) (bool, error)
	// Finish records outcomes, fenced by lock value, and returns which were still
	// held. It may be repeated: an outcome is recorded once.
	Finish(ctx context.Context, results []task.Result) (held []bool, err error)
	// Promote moves up to limit due tasks of each partition to where Candidates
	// finds them, and returns when the next are due. It may be repeated.
	Promote(ctx context.Context, partitions []task.Owned, limit int) (task.PromoteResult, error)
}
