package taskstore

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ydb-platform/ydb-go-sdk/v3/query"
	"github.com/ydb-platform/ydb-go-sdk/v3/types"

	"github.com/taskfleet/taskfleet/pkg/task"
)

// peekText reads the first delayed task of each partition: one row each.
func peekText(arms int) string {
	return "$now = CurrentUtcTimestamp();\n" + union(arms, func(i int) string {
		return fmt.Sprintf(`SELECT partition_id, scheduled_at, $now AS now FROM delayed_tasks
WHERE partition_id = $p%d ORDER BY partition_id, scheduled_at, id LIMIT 1`, i)
	}) + ";\n"
}

// promoteText moves the due tasks of each partition whose epoch is still the
// caller's. The range that it locks ends now, where nobody writes: producers and
// retries write behind it.
func promoteText(arms int) string {
	moved := columns("d", append([]string{
		"partition_id", "rank", "id", "scheduled_at", "attempt", "crashes", "lock_value", "last_error",
	}, fixedColumns...)...)
	// rank is a key there and none here, so that only here it may be NULL by its type.
	moved = strings.Replace(moved, "d.rank AS", "COALESCE(d.rank, 0ut) AS", 1)
	return fmt.Sprintf(`$now = CurrentUtcTimestamp();
$own = SELECT o.partition_id AS partition_id, o.epoch AS epoch
FROM AS_TABLE($owned) AS o JOIN partitions AS p ON p.partition_id = o.partition_id WHERE p.epoch = o.epoch;
$due = %s;
$move = SELECT %s FROM $due AS d JOIN $own AS o ON o.partition_id = d.partition_id;
SELECT partition_id FROM $own;
SELECT partition_id, COUNT(*) AS moved FROM $move GROUP BY partition_id;
UPSERT INTO coordinated_tasks SELECT m.*, "pending"u AS status FROM $move AS m;
DELETE FROM delayed_tasks ON SELECT partition_id, scheduled_at, id FROM $move;
`, union(arms, func(i int) string {
		return fmt.Sprintf(`SELECT * FROM delayed_tasks
WHERE partition_id = $p%d AND scheduled_at <= $now ORDER BY partition_id, scheduled_at, id LIMIT $limit`, i)
	}), moved)
}

// peek returns how long each partition's first delayed task has to wait; zero is due.
func (s *Store) peek(ctx context.Context, partitions []task.Owned) (map[uint16]time.Duration, error) {
	var next map[uint16]time.Duration
	arms := armsFor(len(partitions))
	_, err := s.run(ctx, statement{
		op: "peek", text: s.texts.peek[arms], params: partitionParams(partitions, arms), snapshot: true,
		reset: func() { next = map[uint16]time.Duration{} },
		row: func(_ int, row query.Row) error {
			var partition uint16
			var at, now time.Time
			err := row.Scan(&partition, &at, &now)
			next[partition] = max(at.Sub(now), 0)
			return err
		},
	})
	return next, err
}

// promote runs one transaction and learns from it how large delayed tasks are:
// at once when they are larger than believed, by and by when they are smaller.
func (s *Store) promote(ctx context.Context, due []task.Owned, limit int) (moved map[uint16]int, own map[uint16]bool, err error) {
	arms := armsFor(len(due))
	p := partitionParams(due, arms)
	p["$owned"] = ownedList(due)
	p["$limit"] = types.Uint64Value(uint64(limit))
	total := 0
	cost, err := s.run(ctx, statement{
		op: "promote", text: s.texts.promote[arms], params: p,
		reset: func() { own, moved, total = map[uint16]bool{}, map[uint16]int{}, 0 },
		row: func(set int, row query.Row) error {
			var partition uint16
			if set == 0 {
				err := row.Scan(&partition)
				own[partition] = true
				return err
			}
			var n uint64
			err := row.Scan(&partition, &n)
			moved[partition] = int(n)
			total += int(n)
			return err
		},
	})
	if total > 0 {
		s.taskBytes.Store(max(int64(cost.BytesRead)/int64(total), s.taskBytes.Load()/2, 1))
	}
	return moved, own, err
}

func partitionParams(partitions []task.Owned, arms int) params {
	p := params{}
	for i := range arms {
		partition := noPartition
		if i < len(partitions) {
			partition = partitions[i].Partition
		}
		p[fmt.Sprintf("$p%d", i)] = types.Uint16Value(partition)
	}
	return p
}
