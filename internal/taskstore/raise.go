package taskstore

import (
	"context"

	"github.com/ydb-platform/ydb-go-sdk/v3/query"
	"github.com/ydb-platform/ydb-go-sdk/v3/types"
)

// raiseText gives partitions their next epoch. A partition without a row begins with 1.
const raiseText = `$next = SELECT o.partition_id AS partition_id, COALESCE(p.epoch, 0ul) + 1ul AS epoch
FROM AS_TABLE($partitions) AS o LEFT JOIN partitions AS p ON p.partition_id = o.partition_id;
SELECT partition_id, epoch FROM $next;
UPSERT INTO partitions
SELECT partition_id, epoch, $owner AS owner, CurrentUtcTimestamp() AS acquired_at FROM $next;
`

// Raise gives each partition a new epoch, in one transaction, so that every
// claim under an older one fails from now on, and returns the new ones. It may
// be repeated: epochs only rise, and the last answer is what holds.
func (s *Store) Raise(ctx context.Context, partitions []uint16, owner string) (map[uint16]uint64, error) {
	if len(partitions) == 0 {
		return map[uint16]uint64{}, nil
	}
	var epochs map[uint16]uint64
	_, err := s.run(ctx, statement{
		op: "raise", text: s.texts.raise,
		params: params{
			"$partitions": list(partitions, func(p uint16) []types.StructValueOption {
				return []types.StructValueOption{types.StructFieldValue("partition_id", types.Uint16Value(p))}
			}),
			"$owner": types.TextValue(owner),
		},
		reset: func() { epochs = make(map[uint16]uint64, len(partitions)) },
		row: func(_ int, row query.Row) error {
			var partition uint16
			var epoch uint64
			err := row.Scan(&partition, &epoch)
			epochs[partition] = epoch
			return err
		},
	})
	if err != nil {
		return nil, err
	}
	return epochs, nil
}
