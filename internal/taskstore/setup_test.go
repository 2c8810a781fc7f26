package taskstore_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/ydb-platform/ydb-go-sdk/v3"
	"github.com/ydb-platform/ydb-go-sdk/v3/query"
	"go.uber.org/goleak"

	"github.com/taskfleet/taskfleet/internal/taskstore"
	"github.com/taskfleet/taskfleet/internal/testdb"
	"github.com/taskfleet/taskfleet/pkg/migrate"
	"github.com/taskfleet/taskfleet/pkg/rebalancer"
	"github.com/taskfleet/taskfleet/pkg/task"
	"github.com/taskfleet/taskfleet/pkg/taskproducer"
	"github.com/taskfleet/taskfleet/pkg/taskworker"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	_ taskworker.TaskRepository = (*taskstore.Store)(nil)
	_ taskproducer.Store        = (*taskstore.Store)(nil)
	_ rebalancer.Fence          = (*taskstore.Store)(nil)
)

// bundle is a store on a fleet of its own.
type bundle struct {
	*testdb.Database
	t     testing.TB
	store *taskstore.Store
}

// setup makes a fleet on any database.
func setup(t testing.TB, opts taskstore.Options) *bundle {
	t.Helper()
	return setupOn(t, testdb.Open(t), opts)
}

// setupFaulty makes a fleet on an embedded server, whose faults can be scripted.
func setupFaulty(t testing.TB, opts taskstore.Options) *bundle {
	t.Helper()
	return setupOn(t, &testdb.Start(t).Database, opts)
}

func setupOn(t testing.TB, d *testdb.Database, opts taskstore.Options) *bundle {
	t.Helper()
	_, err := migrate.Up(t.Context(), d.DB, migrate.Options{Folder: d.Folder, Partitions: 16})
	require.NoError(t, err)
	opts.Folder = d.Folder
	return &bundle{d, t, taskstore.New(d.DB, opts)}
}

// own raises the epochs of partitions 0..n-1.
func (b *bundle) own(n int) []task.Owned {
	b.t.Helper()
	ids := make([]uint16, n)
	for i := range ids {
		ids[i] = uint16(i)
	}
	epochs, err := b.store.Raise(b.t.Context(), ids, "w")
	require.NoError(b.t, err)
	owned := make([]task.Owned, n)
	for i := range owned {
		owned[i] = task.Owned{Partition: uint16(i), Epoch: epochs[uint16(i)]}
	}
	return owned
}

// enqueue stores tasks as one batch and returns the batch.
func (b *bundle) enqueue(tasks ...task.Task) task.Batch {
	b.t.Helper()
	batch := task.Batch{ID: uuid.NewString(), Tasks: tasks}
	for i := range tasks {
		if tasks[i].ID == "" {
			tasks[i].ID = uuid.Must(uuid.NewV7()).String()
		}
	}
	result, err := b.store.Enqueue(b.t.Context(), batch)
	require.NoError(b.t, err)
	require.Equal(b.t, len(tasks), result.Enqueued+result.Duplicates)
	return batch
}

// claim claims everything that owned partitions have.
func (b *bundle) claim(owned ...task.Owned) []*task.Claimed {
	b.t.Helper()
	var keys []task.Key
	for _, c := range b.candidates(owned...) {
		keys = append(keys, c.Key)
	}
	result, err := b.store.Claim(b.t.Context(), request(owned, keys))
	require.NoError(b.t, err)
	return result.Claimed
}

// candidates lists everything that may be claimed in owned partitions.
func (b *bundle) candidates(owned ...task.Owned) []task.Candidate {
	b.t.Helper()
	cursors := make([]task.Cursor, len(owned))
	for i, o := range owned {
		cursors[i].Owned = o
	}
	runs, err := b.store.Candidates(b.t.Context(), cursors, 1000)
	require.NoError(b.t, err)
	require.Len(b.t, runs, len(owned))
	var all []task.Candidate
	for _, run := range runs {
		all = append(all, run.Candidates...)
	}
	return all
}

func request(owned []task.Owned, keys []task.Key) task.ClaimRequest {
	return task.ClaimRequest{
		ID: uuid.NewString(), Owner: "w", Owned: owned, Keys: keys,
		DefaultTimeout: time.Minute, Margin: time.Minute,
	}
}

func finishing(c *task.Claimed, outcome task.Outcome) task.Result {
	return task.Result{Key: c.Key, LockValue: c.LockValue, Epoch: c.Epoch, Attempt: c.Attempt, IDGiven: c.IDGiven, Outcome: outcome}
}

// where tells in which tables a task is, as table:status:attempt.
func (b *bundle) where(id string) []string {
	b.t.Helper()
	var found []string
	for _, table := range []string{"coordinated_tasks", "delayed_tasks", "completed_tasks", "dead_tasks"} {
		result, err := b.DB.Query().Query(b.t.Context(), fmt.Sprintf(
			"SELECT status, attempt, last_error FROM %s WHERE id = $id", b.path(table)),
			query.WithParameters(ydb.ParamsBuilder().Param("$id").Text(id).Build()))
		require.NoError(b.t, err)
		set, err := result.NextResultSet(b.t.Context())
		require.NoError(b.t, err)
		for row, err := range set.Rows(b.t.Context()) {
			require.NoError(b.t, err)
			var status, lastError string
			var attempt uint32
			require.NoError(b.t, row.Scan(&status, &attempt, &lastError))
			text := fmt.Sprintf("%s:%s:%d", table, status, attempt)
			if lastError != "" {
				text += ":" + lastError
			}
			found = append(found, text)
		}
	}
	return found
}
