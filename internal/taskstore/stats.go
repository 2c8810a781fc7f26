package taskstore

import (
	"context"
	"time"

	"github.com/ydb-platform/ydb-go-sdk/v3/query"

	"github.com/taskfleet/taskfleet/pkg/task"
)

// statsText counts by reading whole tables: it is for people, not for loops.
const statsText = `SELECT kind, status, COUNT(*) AS tasks, MIN(scheduled_at) AS oldest, CurrentUtcTimestamp() AS now
FROM coordinated_tasks GROUP BY kind, status;
SELECT COUNT(*) AS tasks FROM delayed_tasks;
SELECT COUNT(*) AS tasks FROM completed_tasks;
SELECT COUNT(*) AS tasks FROM dead_tasks;
SELECT owner, COUNT(*) AS partitions FROM partitions GROUP BY owner;
`

// Stats are the figures of a fleet at one moment.
type Stats struct {
	Pending, Locked, Delayed, Completed, Dead uint64
	// Owners counts partitions by the worker that took them last; the empty
	// owner has those that nobody ever took.
	Owners map[string]int
	// OldestPending is how long the task that waits longest has been due; zero
	// without pending tasks.
	OldestPending time.Duration
	// Kinds has every kind of the runnable tasks. One whose tasks wait and are never
	// locked has no worker that handles it.
	Kinds map[string]task.Runnable
}

// Stats counts tasks by table and partitions by owner, in one snapshot.
func (s *Store) Stats(ctx context.Context) (Stats, error) {
	var st Stats
	_, err := s.run(ctx, statement{
		op: "stats", text: s.texts.stats, snapshot: true,
		reset: func() { st = Stats{Owners: map[string]int{}, Kinds: map[string]task.Runnable{}} },
		row: func(set int, row query.Row) error {
			switch set {
			case 0:
				return st.scanRunnable(row)
			case 1:
				return row.Scan(&st.Delayed)
			case 2:
				return row.Scan(&st.Completed)
			case 3:
				return row.Scan(&st.Dead)
			default:
				var owner string
				var partitions uint64
				err := row.Scan(&owner, &partitions)
				st.Owners[owner] += int(partitions)
				return err
			}
		},
	})
	return st, err
}

func (st *Stats) scanRunnable(row query.Row) error {
	var kind, status string
	var tasks uint64
	var oldest, now time.Time
	if err := row.Scan(&kind, &status, &tasks, &oldest, &now); err != nil {
		return err
	}
	k := st.Kinds[kind]
	if status == string(task.Locked) {
		k.Locked = tasks
		st.Locked += tasks
	} else {
		k.Pending, k.Oldest = tasks, max(now.Sub(oldest), 0)
		st.Pending += tasks
		st.OldestPending = max(st.OldestPending, k.Oldest)
	}
	st.Kinds[kind] = k
	return nil
}
