package taskstore

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/ydb-platform/ydb-go-sdk/v3/query"
	"github.com/ydb-platform/ydb-go-sdk/v3/types"

	"github.com/taskfleet/taskfleet/pkg/task"
)

// finishParts are the outcomes that a batch has; a text names only those.
type finishParts uint8

const (
	withCompleted finishParts = 1 << iota
	withRetry
	withDead
	withReleased
	withoutHistory
	withIDs // of tasks that end now, given by their callers
)

// finishText moves the tasks whose lock is still held to where their outcome
// says. It reads each task once.
func finishText(parts finishParts) string {
	var b strings.Builder
	fmt.Fprintf(&b, `$now = CurrentUtcTimestamp();
$held = SELECT %s, %s, r.attempt AS attempt, t.crashes AS crashes, t.lock_value AS lock_value, t.scheduled_at AS due_at,
  t.last_error AS last_error, r.outcome AS outcome, COALESCE($now + r.delay, $now) AS at, r.error AS error
FROM AS_TABLE($results) AS r
JOIN coordinated_tasks AS t ON t.partition_id = r.partition_id AND t.rank = r.rank AND t.id = r.id
WHERE t.status = "locked"u AND t.lock_value = r.lock_value;
SELECT partition_id, rank, id FROM $held;
`, columns("t", "partition_id", "rank", "id"), columns("t", fixedColumns...))
	kept := "h.partition_id AS partition_id, h.rank AS rank, h.id AS id, h.attempt AS attempt, h.crashes AS crashes, h.lock_value AS lock_value, " + columns("h", fixedColumns...)
	move := func(table, more string, outcome task.Outcome) {
		fmt.Fprintf(&b, "UPSERT INTO %s\nSELECT %s, %s FROM $held AS h WHERE h.outcome = %dut;\n", table, kept, more, outcome)
	}
	if parts&withCompleted != 0 && parts&withoutHistory == 0 {
		move("completed_tasks", `"completed"u AS status, h.due_at AS scheduled_at, h.last_error AS last_error, $now AS done_at`, task.OutcomeCompleted)
	}
	if parts&withDead != 0 {
		move("dead_tasks", `"dead"u AS status, h.due_at AS scheduled_at, h.error AS last_error, $now AS died_at`, task.OutcomeDead)
	}
	if parts&withRetry != 0 {
		move("delayed_tasks", `"delayed"u AS status, h.at AS scheduled_at, h.error AS last_error`, task.OutcomeRetry)
	}
	if parts&withReleased != 0 {
		fmt.Fprintf(&b, `UPSERT INTO coordinated_tasks
SELECT partition_id, rank, id, "pending"u AS status FROM $held WHERE outcome = %dut;
`, task.OutcomeReleased)
	}
	if parts&(withCompleted|withDead|withRetry) != 0 {
		fmt.Fprintf(&b, "DELETE FROM coordinated_tasks ON SELECT partition_id, rank, id FROM $held WHERE outcome != %dut;\n", task.OutcomeReleased)
	}
	if parts&withIDs != 0 {
		fmt.Fprintf(&b, `UPSERT INTO task_ids
SELECT h.id AS id, $now + $memory AS expires_at FROM $held AS h WHERE h.id_given AND h.outcome IN (%dut, %dut);
`, task.OutcomeCompleted, task.OutcomeDead)
	}
	return b.String()
}

// Finish records outcomes, in one transaction, of those claims whose lock is
// still held, and returns which these were. A result whose lock is gone changes
// nothing. It may be repeated, with the same results marked Repeated: see
// resolve for how a repetition learns what an attempt did whose answer was lost.
func (s *Store) Finish(ctx context.Context, results []task.Result) ([]bool, error) {
	if len(results) == 0 {
		return nil, nil
	}
	parts := finishParts(0)
	if s.noHistory {
		parts |= withoutHistory
	}
	for _, r := range results {
		switch r.Outcome {
		case task.OutcomeCompleted:
			parts |= withCompleted
		case task.OutcomeRetry:
			parts |= withRetry
		case task.OutcomeDead:
			parts |= withDead
		case task.OutcomeReleased:
			parts |= withReleased
		default:
			return nil, fmt.Errorf("taskstore: finish task %s: outcome %d is none", r.Key.ID, r.Outcome)
		}
		if r.IDGiven && (r.Outcome == task.OutcomeCompleted || r.Outcome == task.OutcomeDead) {
			parts |= withIDs
		}
	}
	p := params{"$results": list(results, resultFields)}
	if parts&withIDs != 0 {
		p["$memory"] = types.IntervalValueFromDuration(memory)
	}
	var recorded map[task.Key]bool
	cost, err := s.run(ctx, statement{
		op: "finish", text: s.texts.finish[parts], params: p,
		reset: func() { recorded = make(map[task.Key]bool, len(results)) },
		row: func(_ int, row query.Row) error {
			var k task.Key
			err := row.Scan(&k.Partition, &k.Rank, &k.ID)
			recorded[k] = true
			return err
		},
	})
	if err != nil {
		return nil, err
	}
	held := make([]bool, len(results))
	for i, r := range results {
		held[i] = recorded[r.Key]
	}
	if (cost.Statements > 1 || results[0].Repeated) && len(recorded) == 0 {
		// An attempt is all or nothing: had an earlier one been committed, none
		// would be left for this one.
		return s.resolve(ctx, results)
	}
	return held, nil
}

func resultFields(r task.Result) []types.StructValueOption {
	return append(keyFields(r.Key),
		types.StructFieldValue("lock_value", types.TextValue(r.LockValue)),
		types.StructFieldValue("outcome", types.Uint8Value(uint8(r.Outcome))),
		types.StructFieldValue("attempt", types.Uint32Value(r.Attempt)),
		types.StructFieldValue("delay", types.IntervalValueFromDuration(max(r.Delay, 0))),
		types.StructFieldValue("error", types.TextValue(errorText(r.Error))),
	)
}

// errorText makes any text one that the database takes: valid UTF-8, bounded.
func errorText(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= task.MaxError {
		return s
	}
	s = s[:task.MaxError]
	for !utf8.ValidString(s) {
		s = s[:len(s)-1]
	}
	return s
}
