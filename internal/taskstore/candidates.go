package taskstore

import (
	"context"
	"fmt"
	"slices"

	"github.com/ydb-platform/ydb-go-sdk/v3/query"
	"github.com/ydb-platform/ydb-go-sdk/v3/types"

	"github.com/taskfleet/taskfleet/pkg/task"
)

// candidatesText reads, for each partition, keys behind a cursor in claim
// order: free ones, and those whose lock is dead because its owner lost the
// partition or its time has passed.
func candidatesText(arms int) string {
	return "$now = CurrentUtcTimestamp();\n" + union(arms, func(i int) string {
		return fmt.Sprintf(`SELECT partition_id, rank, id FROM coordinated_tasks
WHERE partition_id = $p%[1]d AND (rank > $r%[1]d OR (rank = $r%[1]d AND id > $i%[1]d))
AND (status = "pending"u OR lock_epoch < $e%[1]d OR locked_until < $now)
ORDER BY partition_id, rank, id LIMIT $limit`, i)
	}) + ";\n"
}

// Candidates reads, in snapshots of up to 32 partitions each, up to limit keys
// behind each cursor, in claim order within a partition. It takes no locks and
// never conflicts.
func (s *Store) Candidates(ctx context.Context, cursors []task.Cursor, limit int) ([]task.Key, error) {
	var keys []task.Key
	for chunk := range slices.Chunk(cursors, maxArms) {
		read, err := s.candidates(ctx, chunk, limit)
		if err != nil {
			return nil, err
		}
		keys = append(keys, read...)
	}
	slices.SortStableFunc(keys, func(a, b task.Key) int { return int(a.Partition) - int(b.Partition) })
	return keys, nil
}

func (s *Store) candidates(ctx context.Context, cursors []task.Cursor, limit int) ([]task.Key, error) {
	arms := armsFor(len(cursors))
	p := params{"$limit": types.Uint64Value(uint64(max(limit, 1)))}
	for i := range arms {
		c := task.Cursor{Owned: task.Owned{Partition: noPartition}}
		if i < len(cursors) {
			c = cursors[i]
		}
		p[fmt.Sprintf("$p%d", i)] = types.Uint16Value(c.Partition)
		p[fmt.Sprintf("$e%d", i)] = types.Uint64Value(c.Epoch)
		p[fmt.Sprintf("$r%d", i)] = types.Uint8Value(c.AfterRank)
		p[fmt.Sprintf("$i%d", i)] = types.TextValue(c.AfterID)
	}
	var keys []task.Key
	_, err := s.run(ctx, statement{
		op: "candidates", text: s.texts.candidates[arms], params: p, snapshot: true,
		reset: func() { keys = nil },
		row: func(_ int, row query.Row) error {
			var k task.Key
			if err := row.Scan(&k.Partition, &k.Rank, &k.ID); err != nil {
				return err
			}
			keys = append(keys, k)
			return nil
		},
	})
	return keys, err
}
