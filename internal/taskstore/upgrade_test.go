package taskstore_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/internal/taskstore"
	"github.com/taskfleet/taskfleet/pkg/migrate"
	"github.com/taskfleet/taskfleet/pkg/task"
)

// schema2Rows are what a fleet of schema 2 had: a task in every table, one that a
// worker of that release holds as its second attempt, which it counted when it
// claimed it, and an id that was given.
const schema2Rows = `
UPSERT INTO partitions (partition_id, epoch, owner) VALUES (0, 7, "w"u);
UPSERT INTO task_ids (id, partition_id, expires_at) VALUES ("pending"u, 0, Timestamp("2100-01-01T00:00:00Z"));
UPSERT INTO coordinated_tasks (partition_id, rank, id, priority, kind, payload, status, attempt, scheduled_at, created_at)
VALUES (0, 255, "pending"u, 0, "k"u, "p", "pending"u, 0, $now, $now);
UPSERT INTO coordinated_tasks (partition_id, rank, id, priority, kind, payload, status, attempt, lock_value, lock_epoch, locked_until, scheduled_at, created_at)
VALUES (0, 255, "locked"u, 0, "k"u, "p", "locked"u, 2, "lock/1"u, 7, $later, $now, $now);
UPSERT INTO delayed_tasks (partition_id, scheduled_at, id, rank, priority, kind, payload, status, attempt, created_at, last_error)
VALUES (0, $now, "delayed"u, 255, 0, "k"u, "p", "delayed"u, 1, $now, "e"u);
UPSERT INTO completed_tasks (partition_id, id, rank, priority, kind, payload, status, attempt, done_at)
VALUES (0, "completed"u, 255, 0, "k"u, "p", "completed"u, 1, $now);
UPSERT INTO dead_tasks (partition_id, id, rank, priority, kind, payload, status, attempt, died_at, last_error)
VALUES (0, "dead"u, 255, 0, "k"u, "p", "dead"u, 3, $now, "e"u);
`

// TestRowsOfSchema2GoOn: a fleet is migrated while tasks stand in every table and
// a worker of the release before still runs.
func TestRowsOfSchema2GoOn(t *testing.T) {
	t.Parallel()
	b := setup(t, taskstore.Options{})
	down, err := migrate.Down(t.Context(), b.DB, migrate.Options{Folder: b.Folder})
	require.NoError(t, err)
	require.EqualValues(t, 2, down.Version)
	prefix := fmt.Sprintf("PRAGMA TablePathPrefix(%q);\n$now = CurrentUtcTimestamp();\n$later = Timestamp(\"2100-01-01T00:00:00Z\");\n", b.Path())
	write := func(text string) { require.NoError(t, b.DB.Query().Exec(t.Context(), prefix+text)) }
	write(schema2Rows)
	up, err := migrate.Up(t.Context(), b.DB, migrate.Options{Folder: b.Folder})
	require.NoError(t, err)
	require.Equal(t, []int64{3}, up.Changed)

	// The worker of before gives another task back, as it did.
	write(`UPSERT INTO coordinated_tasks (partition_id, rank, id, priority, kind, status, attempt, lock_value, lock_epoch, scheduled_at)
VALUES (0, 255, "given-back"u, 0, "k"u, "pending"u, 0, "lock/2"u, 7, $now);`)
	owned := task.Owned{Partition: 0, Epoch: 7}
	promoted, err := b.store.Promote(t.Context(), []task.Owned{owned}, 10)
	require.NoError(t, err)
	require.Equal(t, map[uint16]int{0: 1}, promoted.Moved)
	moved, err := b.store.Replay(t.Context(), []task.Key{{ID: "dead"}})
	require.NoError(t, err)
	require.Len(t, moved, 1)

	// Its lock holds, until its partition has a new owner.
	require.Len(t, b.claim(owned), 4)
	owned = b.own(1)[0]
	require.EqualValues(t, 8, owned.Epoch)
	type counts struct{ attempt, crashes uint32 }
	got := map[string]counts{}
	var results []task.Result
	for _, c := range b.claim(owned) {
		require.False(t, c.IDGiven)
		got[c.ID] = counts{c.Attempt, c.Crashes}
		results = append(results, finishing(c, task.OutcomeCompleted))
	}
	require.Equal(t, map[string]counts{
		"pending": {1, 1}, "given-back": {1, 1}, "delayed": {2, 1}, "dead": {1, 1}, "locked": {3, 1},
	}, got)
	held, err := b.store.Finish(t.Context(), results)
	require.NoError(t, err)
	require.NotContains(t, held, false)
	require.Equal(t, []string{"completed_tasks:completed:3"}, b.where("locked"))
	require.Len(t, b.where("completed"), 1)
	for _, left := range b.remembered() {
		require.Greater(t, left, 24*time.Hour, "as it was")
	}
}
