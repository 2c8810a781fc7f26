package taskstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-sdk/v3"
	"github.com/ydb-platform/ydb-go-sdk/v3/query"
	"github.com/ydb-platform/ydb-go-sdk/v3/types"

	"github.com/taskfleet/taskfleet/pkg/task"
)

// ErrBatchExists says that a batch of this id was committed before.
var ErrBatchExists = errors.New("the batch was enqueued before")

// taskLists are the lists that a batch has; a text names only those.
type taskLists uint8

const (
	dueTasks   taskLists = 1 << iota // runnable now
	laterTasks                       // with a delay or a time
	givenTasks                       // with an id that the caller chose
)

// enqueueText writes the batch's row and its tasks. Whether a task is due is
// decided by the database's clock.
func enqueueText(lists taskLists) string {
	var b strings.Builder
	b.WriteString("$now = CurrentUtcTimestamp();\n")
	b.WriteString("INSERT INTO enqueue_batches (batch_id, created_at, tasks) VALUES ($batch_id, $now, $tasks);\n")
	if lists&dueTasks != 0 {
		fmt.Fprintf(&b, `UPSERT INTO coordinated_tasks
SELECT %s, "pending"u AS status, 0u AS attempt, $now AS scheduled_at, $now AS created_at
FROM AS_TABLE($due) AS r;
`, columns("r", sentColumns...))
	}
	timed := func(name, more string) {
		for _, to := range []struct{ table, status, when string }{
			{"coordinated_tasks", "pending", "<="},
			{"delayed_tasks", "delayed", ">"},
		} {
			fmt.Fprintf(&b, `UPSERT INTO %s
SELECT %s, %qu AS status, 0u AS attempt, r.at AS scheduled_at, $now AS created_at%s
FROM %s AS r WHERE r.at %s $now;
`, to.table, columns("r", sentColumns...), to.status, more, name, to.when)
		}
	}
	const at = "COALESCE(r.run_at, $now + r.delay, $now) AS at"
	if lists&laterTasks != 0 {
		fmt.Fprintf(&b, "$timed = SELECT %s, %s FROM AS_TABLE($later) AS r;\n", columns("r", sentColumns...), at)
		timed("$timed", "")
	}
	if lists&givenTasks != 0 {
		fmt.Fprintf(&b, `$fresh = SELECT %s, %s
FROM AS_TABLE($given) AS r LEFT ONLY JOIN task_ids AS known ON known.id = r.id;
SELECT COUNT(*) AS fresh FROM $fresh;
`, columns("r", sentColumns...), at)
		timed("$fresh", ", true AS id_given")
		// Without expires_at: it is set when the task ends.
		b.WriteString("UPSERT INTO task_ids SELECT r.id AS id, r.partition_id AS partition_id FROM $fresh AS r;\n")
	}
	return b.String()
}

const batchText = "SELECT tasks FROM enqueue_batches WHERE batch_id = $batch_id;\n"

// sentColumns are what a producer sends of a task.
var sentColumns = []string{
	"partition_id", "rank", "id", "priority", "kind", "payload", "partition_key",
	"max_attempts", "timeout_ms", "headers",
}

// Enqueue writes a batch atomically. A batch whose id is known was
// committed before, by an attempt whose answer was lost or by an earlier call:
// that writes nothing and succeeds, with Replayed set. The memory of batch ids
// lasts an hour. Tasks whose given id is known are left out and counted. A batch
// that was split is refused.
func (s *Store) Enqueue(ctx context.Context, batch task.Batch) (task.EnqueueResult, error) {
	if len(batch.Tasks) == 0 {
		return task.EnqueueResult{}, nil
	}
	st, result := s.enqueue(batch)
	_, err := s.run(ctx, st)
	if err == nil {
		return result(), nil
	}
	if !ydb.IsOperationError(err, Ydb.StatusIds_PRECONDITION_FAILED) {
		return task.EnqueueResult{}, err
	}
	tasks, known, lookErr := s.batch(ctx, batch.ID)
	switch {
	case lookErr != nil: // so that it may have been committed
		return task.EnqueueResult{}, fmt.Errorf("%w (after: %v)", lookErr, err)
	case !known:
		return task.EnqueueResult{}, err
	case tasks == 0:
		return task.EnqueueResult{}, fmt.Errorf("taskstore: enqueue: the batch was split: %w", err)
	}
	return task.EnqueueResult{Enqueued: len(batch.Tasks), Replayed: true}, nil
}

// Split decides that a batch, which was refused, is never stored as it is: its
// row has no tasks from now on, so that not even a late statement of an earlier
// Enqueue stores it. It reports false when the batch is stored already. A batch
// may be split again.
func (s *Store) Split(ctx context.Context, batchID string) (split bool, err error) {
	st, _ := s.enqueue(task.Batch{ID: batchID})
	st.op = "split batch"
	_, err = s.run(ctx, st)
	if !ydb.IsOperationError(err, Ydb.StatusIds_PRECONDITION_FAILED) {
		return err == nil, err
	}
	tasks, known, lookErr := s.batch(ctx, batchID)
	switch {
	case lookErr != nil:
		return false, lookErr
	case !known:
		return false, err
	}
	return tasks == 0, nil
}

// EnqueueTx writes a batch inside the caller's transaction: the tasks exist if
// and when it commits. A batch that was committed before ends the transaction, as
// every error of a statement does, and the error wraps ErrBatchExists: what the
// caller committed with the batch is stored already. It may have no tasks.
func (s *Store) EnqueueTx(ctx context.Context, tx query.TxActor, batch task.Batch) (task.EnqueueResult, error) {
	st, result := s.enqueue(batch)
	err := s.runTx(ctx, tx, st)
	if err == nil {
		return result(), nil
	}
	if ydb.IsOperationError(err, Ydb.StatusIds_PRECONDITION_FAILED) {
		// Not in the transaction, which has ended: what it wrote is not to be found.
		_, known, lookErr := s.batch(ctx, batch.ID)
		switch {
		case lookErr != nil:
			err = fmt.Errorf("%w (after: %v)", lookErr, err)
		case known:
			err = fmt.Errorf("%w: %w", ErrBatchExists, err)
		}
	}
	return task.EnqueueResult{}, err
}

// enqueue makes the statement of a batch, and what counts its result afterwards.
func (s *Store) enqueue(batch task.Batch) (statement, func() task.EnqueueResult) {
	var due, later, given []*task.Task
	seen := map[string]bool{} // a batch may give an id twice: the first counts
	for i := range batch.Tasks {
		t := &batch.Tasks[i]
		switch {
		case t.IDGiven && seen[t.ID]:
		case t.IDGiven:
			seen[t.ID] = true
			given = append(given, t)
		case isTimed(t):
			later = append(later, t)
		default:
			due = append(due, t)
		}
	}
	lists := taskLists(0)
	p := params{
		"$batch_id": types.TextValue(batch.ID),
		"$tasks":    types.Uint32Value(uint32(len(batch.Tasks))),
	}
	if len(due) > 0 {
		lists |= dueTasks
		p["$due"] = list(due, sentFields)
	}
	if len(later) > 0 {
		lists |= laterTasks
		p["$later"] = list(later, timedFields)
	}
	if len(given) > 0 {
		lists |= givenTasks
		p["$given"] = list(given, timedFields)
	}
	var fresh uint64
	st := statement{
		op: "enqueue", text: s.texts.enqueue[lists], params: p,
		reset: func() { fresh = 0 },
		row:   func(_ int, row query.Row) error { return row.Scan(&fresh) },
	}
	return st, func() task.EnqueueResult {
		stored := len(due) + len(later) + int(fresh)
		return task.EnqueueResult{Enqueued: stored, Duplicates: len(batch.Tasks) - stored}
	}
}

// isTimed reports whether a task has a time or a delay.
func isTimed(t *task.Task) bool { return t.Delay > 0 || !t.RunAt.IsZero() }

// batch looks a committed batch up: its number of tasks, 0 when it was split.
func (s *Store) batch(ctx context.Context, id string) (tasks uint32, known bool, err error) {
	_, err = s.run(ctx, statement{
		op: "enqueue: look up batch", text: s.texts.batch, snapshot: true,
		params: params{"$batch_id": types.TextValue(id)},
		reset:  func() { known = false },
		row:    func(_ int, row query.Row) error { known = true; return row.Scan(&tasks) },
	})
	return tasks, known, err
}

func sentFields(t *task.Task) []types.StructValueOption {
	return append(keyFields(task.Key{Partition: t.Partition, Rank: task.Rank(t.Priority), ID: t.ID}),
		types.StructFieldValue("priority", types.Uint8Value(t.Priority)),
		types.StructFieldValue("kind", types.TextValue(t.Kind)),
		types.StructFieldValue("payload", types.BytesValue(t.Payload)),
		types.StructFieldValue("partition_key", types.TextValue(t.PartitionKey)),
		types.StructFieldValue("max_attempts", types.Uint32Value(t.MaxAttempts)),
		types.StructFieldValue("timeout_ms", types.Uint64Value(milliseconds(t.Timeout))),
		types.StructFieldValue("headers", headersValue(t.Headers)),
	)
}

func timedFields(t *task.Task) []types.StructValueOption {
	var runAt *time.Time
	if !t.RunAt.IsZero() {
		runAt = &t.RunAt
	}
	return append(sentFields(t),
		types.StructFieldValue("run_at", types.NullableTimestampValueFromTime(runAt)),
		types.StructFieldValue("delay", types.IntervalValueFromDuration(t.Delay)),
	)
}
