package taskstore

import (
	"context"
	"fmt"

	"github.com/ydb-platform/ydb-go-sdk/v3/query"
	"github.com/ydb-platform/ydb-go-sdk/v3/types"

	"github.com/taskfleet/taskfleet/pkg/task"
)

// buriedColumns move to dead_tasks with a task that did not end by an outcome.
// Its lock value is not among them: there it would say that its holder's outcome
// was recorded.
var buriedColumns = append([]string{"partition_id", "rank", "id", "scheduled_at", "attempt", "crashes"}, fixedColumns...)

// buryRow ends the texts: $row goes from a table with the given key to dead_tasks.
func buryRow(table, key string) string {
	return fmt.Sprintf(`SELECT partition_id, rank, id FROM $row;
UPSERT INTO dead_tasks
SELECT %s, "dead"u AS status, $reason AS last_error, $now AS died_at FROM $row AS b;
UPSERT INTO task_ids SELECT b.id AS id, $now + $memory AS expires_at FROM $row AS b WHERE b.id_given;
DELETE FROM %s ON SELECT %s FROM $row;
`, columns("b", buriedColumns...), table, key)
}

// buryText takes a runnable task that no live lock holds.
var buryText = fmt.Sprintf(`$now = CurrentUtcTimestamp();
$row = SELECT %s FROM AS_TABLE($keys) AS k
JOIN partitions AS p ON p.partition_id = k.partition_id
JOIN coordinated_tasks AS t ON t.partition_id = k.partition_id AND t.rank = k.rank AND t.id = k.id
WHERE p.epoch = k.epoch AND (COALESCE(t.status != "locked"u, true) OR t.lock_epoch < k.epoch OR t.locked_until < $now);
SELECT d.partition_id AS partition_id, d.rank AS rank, d.id AS id
FROM AS_TABLE($keys) AS k JOIN dead_tasks AS d ON d.partition_id = k.partition_id AND d.id = k.id;
%s`, columns("t", buriedColumns...), buryRow("coordinated_tasks", "partition_id, rank, id"))

// buryDueText takes the delayed task of a partition that is due first.
var buryDueText = fmt.Sprintf(`$now = CurrentUtcTimestamp();
$first = SELECT * FROM delayed_tasks
WHERE partition_id = $partition AND scheduled_at <= $now ORDER BY partition_id, scheduled_at, id LIMIT 1;
$row = SELECT %s FROM $first AS d JOIN partitions AS p ON p.partition_id = d.partition_id WHERE p.epoch = $epoch;
%s`, columns("d", buriedColumns...), buryRow("delayed_tasks", "partition_id, scheduled_at, id"))

// Bury moves a runnable task to dead_tasks with the reason, in the database, when
// the partition's epoch still is owned.Epoch and no live lock holds the task, and
// reports whether the task is dead. It may be repeated.
func (s *Store) Bury(ctx context.Context, owned task.Owned, key task.Key, reason string) (bool, error) {
	keys := list([]task.Key{key}, func(k task.Key) []types.StructValueOption {
		return append(keyFields(k), types.StructFieldValue("epoch", types.Uint64Value(owned.Epoch)))
	})
	buried, err := s.bury(ctx, statement{op: "bury", text: s.texts.bury, params: params{"$keys": keys}}, reason)
	return len(buried) > 0, err
}

// buryDue moves the first due task of a partition to dead_tasks.
func (s *Store) buryDue(ctx context.Context, owned task.Owned, reason string) ([]task.Key, error) {
	return s.bury(ctx, statement{op: "bury due", text: s.texts.buryDue, params: params{
		"$partition": types.Uint16Value(owned.Partition), "$epoch": types.Uint64Value(owned.Epoch),
	}}, reason)
}

func (s *Store) bury(ctx context.Context, st statement, reason string) (buried []task.Key, err error) {
	st.params["$reason"] = types.TextValue(errorText(reason))
	st.params["$memory"] = types.IntervalValueFromDuration(memory)
	st.reset = func() { buried = nil }
	st.row = func(_ int, row query.Row) error {
		var k task.Key
		err := row.Scan(&k.Partition, &k.Rank, &k.ID)
		buried = append(buried, k)
		return err
	}
	_, err = s.run(ctx, st)
	return buried, err
}
