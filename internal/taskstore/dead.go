package taskstore

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ydb-platform/ydb-go-sdk/v3/query"
	"github.com/ydb-platform/ydb-go-sdk/v3/types"

	"github.com/taskfleet/taskfleet/pkg/task"
)

// deadText reads dead tasks in key order behind a key. It reads on past tasks of
// other kinds: it is for people, not for loops.
const deadText = `SELECT d.partition_id AS partition_id, d.rank AS rank, d.id AS id, d.kind AS kind, d.partition_key AS partition_key,
  d.attempt AS attempt, d.crashes AS crashes, d.last_error AS last_error, d.created_at AS created_at, d.died_at AS died_at
FROM dead_tasks AS d
WHERE (d.partition_id > $partition OR d.partition_id = $partition AND d.id > $id) AND ($kind = ""u OR d.kind = $kind)
ORDER BY partition_id, id LIMIT $limit;
`

// replayText makes dead tasks runnable, with all their attempts before them. Only
// those that are still dead are moved. Their given ids live again as long as they.
var replayText = fmt.Sprintf(`$now = CurrentUtcTimestamp();
$move = SELECT %s, COALESCE(d.rank, 0ut) AS rank
FROM AS_TABLE($keys) AS k JOIN dead_tasks AS d ON d.partition_id = k.partition_id AND d.id = k.id;
SELECT partition_id, id FROM $move;
UPSERT INTO coordinated_tasks
SELECT %s, "pending"u AS status, 0u AS attempt, 0u AS crashes, $now AS scheduled_at FROM $move AS m;
UPSERT INTO task_ids SELECT m.id AS id, $never AS expires_at FROM $move AS m WHERE m.id_given;
DELETE FROM dead_tasks ON SELECT partition_id, id FROM $move;
`, columns("d", append([]string{"partition_id", "id", "last_error"}, fixedColumns...)...),
	columns("m", append([]string{"partition_id", "rank", "id", "last_error"}, fixedColumns...)...))

// replayBatch bounds one transaction of Replay: so many of the largest tasks stay
// below what YDB holds for one.
const replayBatch = 100

// DeadTask is a task that ended without having been done.
type DeadTask struct {
	Key          task.Key
	Kind         string
	PartitionKey string
	Attempt      uint32 // how many there were
	Crashes      uint32 // how often a lock on it died
	LastError    string
	CreatedAt    time.Time
	DiedAt       time.Time
}

// Dead returns up to limit dead tasks behind a key, in the order of partition and
// id; the zero key is before all. An empty kind is every kind.
func (s *Store) Dead(ctx context.Context, kind string, after task.Key, limit int) ([]DeadTask, error) {
	var found []DeadTask
	_, err := s.run(ctx, statement{
		op: "dead", text: s.texts.dead, snapshot: true,
		params: params{
			"$partition": types.Uint16Value(after.Partition), "$id": types.TextValue(after.ID),
			"$kind": types.TextValue(kind), "$limit": types.Uint64Value(uint64(limit)),
		},
		reset: func() { found = nil },
		row: func(_ int, row query.Row) error {
			var d DeadTask
			err := row.Scan(&d.Key.Partition, &d.Key.Rank, &d.Key.ID, &d.Kind, &d.PartitionKey, &d.Attempt, &d.Crashes, &d.LastError, &d.CreatedAt, &d.DiedAt)
			found = append(found, d)
			return err
		},
	})
	return found, err
}

// Replay makes dead tasks runnable again, as if they were new: their attempts and
// crashes count from the start, their last error stays. It returns those that it moved: a
// task that is not dead any more is left out. It may be repeated; a lost answer
// makes the result too short, nothing else.
func (s *Store) Replay(ctx context.Context, keys []task.Key) ([]task.Key, error) {
	var moved []task.Key
	for chunk := range slices.Chunk(keys, replayBatch) {
		var now []task.Key
		_, err := s.run(ctx, statement{
			op: "replay", text: s.texts.replay,
			params: params{
				"$keys": list(chunk, func(k task.Key) []types.StructValueOption {
					return []types.StructValueOption{
						types.StructFieldValue("partition_id", types.Uint16Value(k.Partition)),
						types.StructFieldValue("id", types.TextValue(k.ID)),
					}
				}),
				"$never": types.NullableTimestampValueFromTime(nil),
			},
			reset: func() { now = nil },
			row: func(_ int, row query.Row) error {
				var k task.Key
				err := row.Scan(&k.Partition, &k.ID)
				now = append(now, k)
				return err
			},
		})
		if err != nil {
			return moved, err
		}
		moved = append(moved, now...)
	}
	return moved, nil
}
