package taskstore

import (
	"context"
	"time"

	"github.com/ydb-platform/ydb-go-sdk/v3/query"
)

const partitionsText = "SELECT partition_id, epoch, owner, acquired_at FROM partitions;\n"

// Fenced is what the database knows of a partition's ownership.
type Fenced struct {
	Partition  uint16
	Epoch      uint64
	Owner      string    // who took it last; it may have let go since
	AcquiredAt time.Time // when
}

// Partitions reads the fence of every partition that was ever owned, in no order.
func (s *Store) Partitions(ctx context.Context) ([]Fenced, error) {
	var all []Fenced
	_, err := s.run(ctx, statement{
		op: "partitions", text: s.texts.partitions, snapshot: true,
		reset: func() { all = nil },
		row: func(_ int, row query.Row) error {
			var f Fenced
			var owner *string
			var at *time.Time
			err := row.Scan(&f.Partition, &f.Epoch, &owner, &at)
			if owner != nil {
				f.Owner = *owner
			}
			if at != nil {
				f.AcquiredAt = *at
			}
			if f.Epoch > 0 {
				all = append(all, f)
			}
			return err
		},
	})
	return all, err
}
