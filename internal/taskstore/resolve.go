package taskstore

import (
	"context"

	"github.com/ydb-platform/ydb-go-sdk/v3/query"
	"github.com/ydb-platform/ydb-go-sdk/v3/types"

	"github.com/taskfleet/taskfleet/pkg/task"
)

// resolveText finds the traces of claims: the epochs of their partitions, and
// their lock values where an outcome leaves them.
const resolveText = `SELECT p.partition_id AS partition_id, p.epoch AS epoch
FROM AS_TABLE($owned) AS o JOIN partitions AS p ON p.partition_id = o.partition_id;
SELECT t.partition_id AS partition_id, t.id AS id
FROM AS_TABLE($results) AS r JOIN completed_tasks AS t ON t.partition_id = r.partition_id AND t.id = r.id
WHERE t.lock_value = r.lock_value;
SELECT t.partition_id AS partition_id, t.id AS id
FROM AS_TABLE($results) AS r JOIN dead_tasks AS t ON t.partition_id = r.partition_id AND t.id = r.id
WHERE t.lock_value = r.lock_value;
SELECT t.partition_id AS partition_id, t.id AS id
FROM AS_TABLE($results) AS r
JOIN coordinated_tasks AS t ON t.partition_id = r.partition_id AND t.rank = r.rank AND t.id = r.id
WHERE t.status = "pending"u AND t.lock_value = r.lock_value;
`

// resolve tells, after an attempt to finish whose answer was lost, which of the
// results it recorded, when none of their locks is there any more. A claim left
// its own trace, or its partition still has the epoch of the claim: then nobody
// else could have taken the lock, so that it was this attempt. What remains, in
// a partition that has moved on, is reported as lost; the task itself is where
// its new owner finds it.
func (s *Store) resolve(ctx context.Context, results []task.Result) ([]bool, error) {
	type place struct {
		partition uint16
		id        string
	}
	epochs := map[uint16]uint64{}
	var owned []task.Owned
	for _, r := range results {
		if _, seen := epochs[r.Key.Partition]; !seen {
			epochs[r.Key.Partition] = 0
			owned = append(owned, task.Owned{Partition: r.Key.Partition})
		}
	}
	traces := map[place]bool{}
	_, err := s.run(ctx, statement{
		op: "finish: resolve", text: s.texts.resolve, snapshot: true,
		params: params{
			"$owned": ownedList(owned),
			"$results": list(results, func(r task.Result) []types.StructValueOption {
				return append(keyFields(r.Key), types.StructFieldValue("lock_value", types.TextValue(r.LockValue)))
			}),
		},
		row: func(set int, row query.Row) error {
			if set == 0 {
				var o task.Owned
				err := row.Scan(&o.Partition, &o.Epoch)
				epochs[o.Partition] = o.Epoch
				return err
			}
			var p place
			err := row.Scan(&p.partition, &p.id)
			traces[p] = true
			return err
		},
	})
	if err != nil {
		return nil, err
	}
	held := make([]bool, len(results))
	for i, r := range results {
		held[i] = epochs[r.Key.Partition] == r.Epoch || traces[place{r.Key.Partition, r.Key.ID}]
	}
	return held, nil
}
