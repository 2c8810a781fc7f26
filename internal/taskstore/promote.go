package taskstore

import (
	"context"
	"fmt"
	"slices"
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
	kept := append([]string{"partition_id", "rank", "id", "scheduled_at", "attempt", "last_error"}, fixedColumns...)
	// rank is a key there and none here, so that only here it may be NULL by its type.
	moved := strings.Replace(columns("m", kept...), "m.rank AS", "COALESCE(m.rank, 0ut) AS", 1)
	return fmt.Sprintf(`$now = CurrentUtcTimestamp();
$own = SELECT o.partition_id AS partition_id, o.epoch AS epoch
FROM AS_TABLE($owned) AS o JOIN partitions AS p ON p.partition_id = o.partition_id WHERE p.epoch = o.epoch;
$due = %s;
$move = SELECT %s FROM $due AS d JOIN $own AS o ON o.partition_id = d.partition_id;
SELECT partition_id FROM $own;
SELECT partition_id, COUNT(*) AS moved FROM $move GROUP BY partition_id;
UPSERT INTO coordinated_tasks SELECT %s, "pending"u AS status FROM $move AS m;
DELETE FROM delayed_tasks ON SELECT partition_id, scheduled_at, id FROM $move;
`, union(arms, func(i int) string {
		return fmt.Sprintf(`SELECT %s FROM delayed_tasks AS d
WHERE d.partition_id = $p%d AND d.scheduled_at <= $now ORDER BY partition_id, scheduled_at, id LIMIT $limit`,
			columns("d", kept...), i)
	}), columns("d", kept...), moved)
}

// Promote moves up to limit due tasks of each partition to the runnable table,
// in transactions of up to 32 partitions, and tells when the next one is due. A
// partition that had due tasks has zero there: more may be due. It may be
// repeated: a task that was moved is not there any more. A lost answer makes
// Moved too small, nothing else.
func (s *Store) Promote(ctx context.Context, partitions []task.Owned, limit int) (task.PromoteResult, error) {
	result := task.PromoteResult{Moved: map[uint16]int{}, NextDue: map[uint16]time.Duration{}}
	for chunk := range slices.Chunk(partitions, maxArms) {
		next, err := s.peek(ctx, chunk)
		if err != nil {
			return result, err
		}
		var due []task.Owned
		for _, o := range chunk {
			wait, any := next[o.Partition]
			if any {
				result.NextDue[o.Partition] = wait
			}
			if any && wait == 0 {
				due = append(due, o)
			}
		}
		if err := s.promote(ctx, due, limit, &result); err != nil {
			return result, err
		}
	}
	return result, nil
}

// peek tells how long each partition's first delayed task has to wait; zero is due.
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

func (s *Store) promote(ctx context.Context, due []task.Owned, limit int, result *task.PromoteResult) error {
	if len(due) == 0 {
		return nil
	}
	arms := armsFor(len(due))
	p := partitionParams(due, arms)
	p["$owned"] = ownedList(due)
	p["$limit"] = types.Uint64Value(uint64(max(limit, 1)))
	var own map[uint16]bool
	var moved map[uint16]int
	_, err := s.run(ctx, statement{
		op: "promote", text: s.texts.promote[arms], params: p,
		reset: func() { own, moved = map[uint16]bool{}, map[uint16]int{} },
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
			return err
		},
	})
	if err != nil {
		return err
	}
	for _, o := range due {
		if n := moved[o.Partition]; n > 0 {
			result.Moved[o.Partition] = n
		}
		if !own[o.Partition] {
			delete(result.NextDue, o.Partition)
			result.Stale = append(result.Stale, o.Partition)
		}
	}
	return nil
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
