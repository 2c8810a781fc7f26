package taskproducer_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	ydb "github.com/ydb-platform/ydb-go-sdk/v3"
	"github.com/ydb-platform/ydb-go-sdk/v3/query"

	"github.com/taskfleet/taskfleet/internal/taskstore"
	"github.com/taskfleet/taskfleet/internal/testdb"
	"github.com/taskfleet/taskfleet/pkg/migrate"
	"github.com/taskfleet/taskfleet/pkg/task"
	"github.com/taskfleet/taskfleet/pkg/taskproducer"
	"github.com/taskfleet/taskfleet/pkg/ydbembed"
)

// fleet is a migrated folder with a producer.
type fleet struct {
	*testdb.Database
	producer *taskproducer.Producer
}

func newFleet(t *testing.T) *fleet {
	t.Helper()
	return fleetOn(t, testdb.Open(t))
}

func fleetOn(t *testing.T, d *testdb.Database) *fleet {
	t.Helper()
	_, err := migrate.Up(t.Context(), d.DB, migrate.Options{Folder: d.Folder, Partitions: 16})
	require.NoError(t, err)
	producer, err := taskproducer.Open(t.Context(), d.DB, taskproducer.Config{Folder: d.Folder})
	require.NoError(t, err)
	return &fleet{d, producer}
}

func (f *fleet) stats(t *testing.T) taskstore.Stats {
	t.Helper()
	stats, err := taskstore.New(f.DB, taskstore.Options{Folder: f.Folder}).Stats(t.Context())
	require.NoError(t, err)
	return stats
}

func TestOpenReadsTheFleet(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	_, err := taskproducer.Open(t.Context(), f.DB, taskproducer.Config{Folder: f.Folder + "-missing"})
	require.ErrorIs(t, err, migrate.ErrNoSchema)
	_, err = taskproducer.Open(t.Context(), f.DB, taskproducer.Config{Folder: f.Folder, Partitions: 256})
	require.ErrorContains(t, err, "Partitions 256: the fleet in folder "+f.Folder+" has 16")
}

func TestEnqueuePutsTasksWhereTheyBelong(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	result, err := f.producer.Enqueue(t.Context(),
		task.Task{Payload: []byte("now")},
		task.Task{Payload: []byte("later"), Delay: time.Hour},
		task.Task{ID: "mine", RunAt: time.Now().Add(time.Hour), Headers: map[string]string{"a": "b"}},
		task.Task{ID: "past", RunAt: time.Now().Add(-time.Hour)},
	)
	require.NoError(t, err)
	require.Equal(t, 4, result.Enqueued)
	stats := f.stats(t)
	require.EqualValues(t, 2, stats.Pending)
	require.EqualValues(t, 2, stats.Delayed)

	result, err = f.producer.Enqueue(t.Context(), task.Task{ID: "mine"}, task.Task{ID: "new"})
	require.NoError(t, err)
	require.Equal(t, 1, result.Enqueued)
	require.Equal(t, 1, result.Duplicates)
	require.EqualValues(t, 3, f.stats(t).Pending)
}

// TestI5LostAnswersChangeNothing is invariant I5 against a database that commits
// and does not answer.
func TestI5LostAnswersChangeNothing(t *testing.T) {
	t.Parallel()
	e := testdb.Start(t)
	f := fleetOn(t, &e.Database)
	for round := range 5 {
		lost := e.Faults().DropAnswer("ExecuteQuery")
		result, err := f.producer.Enqueue(t.Context(), make([]task.Task, 10)...)
		require.NoError(t, err)
		require.Equal(t, 10, result.Enqueued)
		require.Equal(t, 1, lost.Hits())
		stats := f.stats(t)
		require.EqualValues(t, 10*(round+1), stats.Pending)
	}
}

// TestI5ARefusedBatchIsExact is invariant I5 against a database that refuses a
// batch: after it was committed, while its parts are stored, and when it comes again.
func TestI5ARefusedBatchIsExact(t *testing.T) {
	t.Parallel()
	e := testdb.Start(t)
	f, faults := fleetOn(t, &e.Database), e.Faults()
	refuse := func() { faults.Fail("ExecuteQuery", Ydb.StatusIds_BAD_REQUEST, ydbembed.Containing("AS_TABLE")) }
	batch := func(id string) task.Batch {
		b := task.Batch{ID: id}
		for i := range 8 {
			b.Tasks = append(b.Tasks, task.Task{ID: fmt.Sprint(id, i), Kind: "k", IDGiven: i%2 == 0})
		}
		return b
	}

	// The whole was committed and its answer lost; its repetition is refused.
	type outcome struct {
		task.EnqueueResult
		err error
	}
	done := make(chan outcome, 1)
	enqueue := func(ctx context.Context, id string) {
		result, err := f.producer.EnqueueBatch(ctx, batch(id))
		done <- outcome{result, err}
	}
	faults.DropAnswer("ExecuteQuery")
	first := faults.Hold("ExecuteQuery", ydbembed.Containing("AS_TABLE"))
	go enqueue(t.Context(), "whole")
	require.NoError(t, first.Wait(t.Context(), 1))
	refuse() // the next one
	first.Stop()
	require.Equal(t, outcome{task.EnqueueResult{Enqueued: 8, Replayed: true}, nil}, <-done)
	require.EqualValues(t, 8, f.stats(t).Pending)

	// It is refused; the answer to its split gets lost, and the caller gives up
	// behind the first part.
	refuse()
	faults.DropAnswer("ExecuteQuery")
	part := faults.Hold("ExecuteQuery", ydbembed.Containing("AS_TABLE"))
	ctx, giveUp := context.WithCancel(t.Context())
	go enqueue(ctx, "parts")
	require.NoError(t, part.Wait(t.Context(), 1))
	second := faults.Hold("ExecuteQuery", ydbembed.Containing("AS_TABLE"))
	part.Stop()
	require.NoError(t, second.Wait(t.Context(), 1))
	giveUp()
	require.ErrorIs(t, (<-done).err, context.Canceled)
	require.EqualValues(t, 12, f.stats(t).Pending)
	second.Stop()

	// Again, when the whole would be taken.
	result, err := f.producer.EnqueueBatch(t.Context(), batch("parts"))
	require.NoError(t, err)
	require.Equal(t, 8, result.Enqueued)
	require.EqualValues(t, 16, f.stats(t).Pending)
	again, err := f.producer.EnqueueBatch(t.Context(), batch("parts"))
	require.NoError(t, err)
	require.Equal(t, task.EnqueueResult{Enqueued: 8, Replayed: true}, again)
	require.EqualValues(t, 16, f.stats(t).Pending)
}

func TestATransactionIsEnqueuedOnce(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	once := func(batch string, tasks ...task.Task) error {
		return f.DB.Query().DoTx(t.Context(), func(ctx context.Context, tx query.TxActor) error {
			_, err := f.producer.EnqueueTxOnce(ctx, tx, batch, tasks...)
			return err
		})
	}
	require.NoError(t, once("order-1", task.Task{}))
	require.ErrorIs(t, once("order-1", task.Task{}), taskproducer.ErrBatchExists)
	require.NoError(t, once("order-2"))
	require.ErrorIs(t, once("order-2"), taskproducer.ErrBatchExists, "also without tasks")
	require.EqualValues(t, 1, f.stats(t).Pending)
	for _, batch := range []string{"", "\xff", strings.Repeat("x", task.MaxID+1)} {
		require.ErrorContains(t, once(batch, task.Task{}), "must have 1..128 bytes of UTF-8")
	}
}

// TestOnlyACommittedBatchExists: the database says the same of a row of the
// caller's that exists, and of the transaction's own batch; after ErrBatchExists a
// caller forgets its tasks.
func TestOnlyACommittedBatchExists(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	orders := fmt.Sprintf("`%s/%s/orders`", f.DB.Name(), f.Folder)
	require.NoError(t, f.DB.Query().Exec(t.Context(), "CREATE TABLE "+orders+" (number Utf8 NOT NULL, PRIMARY KEY (number))"))
	t.Cleanup(func() { require.NoError(t, f.DB.Query().Exec(context.Background(), "DROP TABLE "+orders)) })
	require.NoError(t, f.DB.Query().Exec(t.Context(), "INSERT INTO "+orders+" (number) VALUES (\"1\"u)"))
	for name, before := range map[string]func(ctx context.Context, tx query.TxActor) error{
		"its own row": func(ctx context.Context, tx query.TxActor) error {
			return tx.Exec(ctx, "INSERT INTO "+orders+" (number) VALUES (\"1\"u)")
		},
		"its own batch": func(ctx context.Context, tx query.TxActor) error {
			_, err := f.producer.EnqueueTxOnce(ctx, tx, "order-1", task.Task{})
			return err
		},
	} {
		err := f.DB.Query().DoTx(t.Context(), func(ctx context.Context, tx query.TxActor) error {
			if err := before(ctx, tx); err != nil {
				return err
			}
			_, err := f.producer.EnqueueTxOnce(ctx, tx, "order-1", task.Task{})
			return err
		})
		require.True(t, ydb.IsOperationError(err, Ydb.StatusIds_PRECONDITION_FAILED), "%s: %v", name, err)
		require.NotErrorIs(t, err, taskproducer.ErrBatchExists, name)
	}
	require.Zero(t, f.stats(t).Pending)
}

func TestEnqueueTxFollowsItsTransaction(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	require.NoError(t, f.DB.Query().DoTx(t.Context(), func(ctx context.Context, tx query.TxActor) error {
		_, err := f.producer.EnqueueTx(ctx, tx, task.Task{}, task.Task{Delay: time.Hour})
		return err
	}))
	stats := f.stats(t)
	require.EqualValues(t, 1, stats.Pending)
	require.EqualValues(t, 1, stats.Delayed)

	err := f.DB.Query().DoTx(t.Context(), func(ctx context.Context, tx query.TxActor) error {
		if _, err := f.producer.EnqueueTx(ctx, tx, task.Task{}); err != nil {
			return err
		}
		return context.Canceled // the caller thinks better of it
	})
	require.ErrorIs(t, err, context.Canceled)
	require.EqualValues(t, 1, f.stats(t).Pending)
}

func TestRunStoresWhatItMakes(t *testing.T) {
	t.Parallel()
	testdb.Test(t, func(t *testing.T, d *testdb.Database) {
		f := fleetOn(t, d)
		result, err := f.producer.Run(t.Context(), taskproducer.Load{
			Make:   func(n int) task.Task { return task.Task{Priority: uint8(n)} },
			Rate:   2000,
			Window: 20 * time.Millisecond,
			Count:  1000,
		})
		require.NoError(t, err)
		require.Equal(t, 1000, result.Enqueued)
		require.EqualValues(t, 1000, f.stats(t).Pending)
	})
}

func TestSameIDTwiceIsStoredOnce(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	for name, batch := range map[string]int{"in one batch": 10, "in two batches": 1} {
		p, err := taskproducer.Open(t.Context(), f.DB, taskproducer.Config{Folder: f.Folder, BatchTasks: batch})
		require.NoError(t, err)
		id := "id " + name
		result, err := p.Enqueue(t.Context(), task.Task{ID: id, Priority: 1}, task.Task{ID: id, Priority: 2, Delay: time.Hour})
		require.NoError(t, err)
		require.Equal(t, taskproducer.Result{IDs: []string{id, id}, Enqueued: 1, Duplicates: 1}, result, name)
	}
	stats := f.stats(t)
	require.EqualValues(t, 2, stats.Pending, "the first of each counts")
	require.Zero(t, stats.Delayed)
}
