package taskstore

import (
	"context"

	"github.com/ydb-platform/ydb-go-sdk/v3/query"

	"github.com/taskfleet/taskfleet/pkg/task"
)

// placesText reads whole tables: it is for tests of what must always hold.
const placesText = `SELECT partition_id, id, COALESCE(status, ""u) AS status, COALESCE(lock_value, ""u) AS lock_value FROM coordinated_tasks;
SELECT partition_id, id, "delayed"u AS status, ""u AS lock_value FROM delayed_tasks;
SELECT partition_id, id, "completed"u AS status, COALESCE(lock_value, ""u) AS lock_value FROM completed_tasks;
SELECT partition_id, id, "dead"u AS status, COALESCE(lock_value, ""u) AS lock_value FROM dead_tasks;
`

// Place is where a task stands at a moment.
type Place struct {
	ID        string
	Partition uint16
	Status    task.Status // tells the table, too
	LockValue string      // of the last claim; empty in delayed_tasks
}

// Places lists every row of the four tables of tasks, in one snapshot. A task
// that is in two of them comes twice.
func (s *Store) Places(ctx context.Context) ([]Place, error) {
	var places []Place
	_, err := s.run(ctx, statement{
		op: "places", text: s.texts.places, snapshot: true,
		reset: func() { places = places[:0] },
		row: func(_ int, row query.Row) error {
			var p Place
			var status string
			err := row.Scan(&p.Partition, &p.ID, &status, &p.LockValue)
			p.Status = task.Status(status)
			places = append(places, p)
			return err
		},
	})
	return places, err
}
