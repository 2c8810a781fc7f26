package taskstore

import (
	"context"
	"time"

	"github.com/ydb-platform/ydb-go-sdk/v3/query"
	"github.com/ydb-platform/ydb-go-sdk/v3/types"

	"github.com/taskfleet/taskfleet/pkg/task"
)

// runnableText and delayedText count the tasks of given partitions, each a range
// of the key. A task costs one row read.
const runnableText = `SELECT partition_id, status, COUNT(*) AS tasks, MIN(scheduled_at) AS oldest, CurrentUtcTimestamp() AS now
FROM coordinated_tasks WHERE partition_id IN $partitions GROUP BY partition_id, status;
`

const delayedText = `SELECT partition_id, COUNT(*) AS tasks
FROM delayed_tasks WHERE partition_id IN $partitions GROUP BY partition_id;
`

// CountRunnable counts the runnable tasks of partitions, in one snapshot. Every
// partition that was asked for is in the answer.
func (s *Store) CountRunnable(ctx context.Context, partitions []uint16) (map[uint16]task.Runnable, error) {
	if len(partitions) == 0 {
		return map[uint16]task.Runnable{}, nil
	}
	var counts map[uint16]task.Runnable
	_, err := s.run(ctx, statement{
		op: "count_runnable", text: s.texts.runnable, snapshot: true,
		params: partitionList(partitions),
		reset:  func() { counts = zeros[task.Runnable](partitions) },
		row: func(_ int, row query.Row) error {
			var partition uint16
			var status string
			var tasks uint64
			var oldest, now time.Time
			if err := row.Scan(&partition, &status, &tasks, &oldest, &now); err != nil {
				return err
			}
			c := counts[partition]
			if status == string(task.Locked) {
				c.Locked = tasks
			} else {
				c.Pending, c.Oldest = tasks, max(now.Sub(oldest), 0)
			}
			counts[partition] = c
			return nil
		},
	})
	return counts, err
}

// CountDelayed counts the tasks of partitions that are not due, in one
// snapshot. Every partition that was asked for is in the answer.
func (s *Store) CountDelayed(ctx context.Context, partitions []uint16) (map[uint16]uint64, error) {
	if len(partitions) == 0 {
		return map[uint16]uint64{}, nil
	}
	var counts map[uint16]uint64
	_, err := s.run(ctx, statement{
		op: "count_delayed", text: s.texts.delayed, snapshot: true,
		params: partitionList(partitions),
		reset:  func() { counts = zeros[uint64](partitions) },
		row: func(_ int, row query.Row) error {
			var partition uint16
			var tasks uint64
			err := row.Scan(&partition, &tasks)
			counts[partition] = tasks
			return err
		},
	})
	return counts, err
}

// partitionList is the parameter $partitions. It must not be empty: an empty
// list has no type.
func partitionList(partitions []uint16) params {
	items := make([]types.Value, len(partitions))
	for i, p := range partitions {
		items[i] = types.Uint16Value(p)
	}
	return params{"$partitions": types.ListValue(items...)}
}

func zeros[T any](partitions []uint16) map[uint16]T {
	counts := make(map[uint16]T, len(partitions))
	for _, p := range partitions {
		var zero T
		counts[p] = zero
	}
	return counts
}
