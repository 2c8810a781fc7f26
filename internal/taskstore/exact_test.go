package taskstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-sdk/v3/query"

	"github.com/taskfleet/taskfleet/internal/taskstore"
	"github.com/taskfleet/taskfleet/pkg/task"
	"github.com/taskfleet/taskfleet/pkg/ydbembed"
)

// dropNextAnswer makes the next commit's answer get lost.
func (b *bundle) dropNextAnswer() *ydbembed.Fault { return b.Faults().DropAnswer("ExecuteQuery") }

func TestI5EnqueueAgainChangesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t, taskstore.Options{})
	owned := b.own(1)
	batch := b.enqueue(task.Task{ID: "a", Kind: "k"}, task.Task{ID: "b", IDGiven: true, Kind: "k"}, task.Task{ID: "c", Kind: "k", Delay: time.Hour})
	for _, c := range b.claim(owned...) {
		_, err := b.store.Finish(t.Context(), []task.Result{finishing(c, task.OutcomeCompleted)})
		require.NoError(t, err)
	}
	result, err := b.store.Enqueue(t.Context(), batch)
	require.NoError(t, err)
	require.Equal(t, task.EnqueueResult{Enqueued: 3, Replayed: true}, result)
	require.Equal(t, []string{"completed_tasks:completed:1"}, b.where("a"))
	require.Equal(t, []string{"completed_tasks:completed:1"}, b.where("b"))
	require.Equal(t, []string{"delayed_tasks:delayed:0"}, b.where("c"))

	// Another batch with an id that was given: nothing but the news.
	again := task.Batch{ID: uuid.NewString(), Tasks: []task.Task{
		{ID: "b", IDGiven: true, Kind: "k", Partition: 3}, {ID: "d", IDGiven: true, Kind: "k"}, {ID: "d", IDGiven: true, Kind: "k"},
	}}
	result, err = b.store.Enqueue(t.Context(), again)
	require.NoError(t, err)
	require.Equal(t, task.EnqueueResult{Enqueued: 1, Duplicates: 2}, result)
	require.Equal(t, []string{"completed_tasks:completed:1"}, b.where("b"))
	require.Equal(t, []string{"coordinated_tasks:pending:0"}, b.where("d"))
}

func TestI5ALostAnswerToAnEnqueue(t *testing.T) {
	t.Parallel()
	b := setupFaulty(t, taskstore.Options{})
	dropped := b.dropNextAnswer()
	result, err := b.store.Enqueue(t.Context(), task.Batch{ID: "batch", Tasks: []task.Task{{ID: "a", Kind: "k"}}})
	require.NoError(t, err)
	require.Equal(t, 1, dropped.Hits())
	require.Equal(t, task.EnqueueResult{Enqueued: 1, Replayed: true}, result)
	require.Equal(t, []string{"coordinated_tasks:pending:0"}, b.where("a"))
}

func TestEnqueueInTheCallersTransaction(t *testing.T) {
	t.Parallel()
	b := setup(t, taskstore.Options{})
	enqueue := func(batch task.Batch, after error) error {
		return b.DB.Query().DoTx(t.Context(), func(ctx context.Context, tx query.TxActor) error {
			if _, err := b.store.EnqueueTx(ctx, tx, batch); err != nil {
				return err
			}
			return after
		})
	}
	batch := task.Batch{ID: "batch", Tasks: []task.Task{{ID: "a", Kind: "k"}, {ID: "b", IDGiven: true, Kind: "k", Delay: time.Hour}}}
	require.ErrorIs(t, enqueue(batch, context.Canceled), context.Canceled)
	require.Empty(t, b.where("a"), "no commit, no task")
	require.NoError(t, enqueue(batch, nil))
	require.Equal(t, []string{"coordinated_tasks:pending:0"}, b.where("a"))
	require.Equal(t, []string{"delayed_tasks:delayed:0"}, b.where("b"))
	require.ErrorIs(t, enqueue(batch, nil), taskstore.ErrBatchExists)
}

// TestOnlyABatchThatIsFoundExists: a precondition that failed for another reason
// must not pass for a success, after which the caller forgets its tasks.
func TestOnlyABatchThatIsFoundExists(t *testing.T) {
	t.Parallel()
	b := setupFaulty(t, taskstore.Options{})
	batch := task.Batch{ID: "batch", Tasks: []task.Task{{ID: "a", Kind: "k"}}}
	enqueue := func(times int) error {
		return b.DB.Query().DoTx(t.Context(), func(ctx context.Context, tx query.TxActor) (err error) {
			for range times {
				_, err = b.store.EnqueueTx(ctx, tx, batch)
			}
			return err
		})
	}
	insert, lookup := ydbembed.Containing("INSERT INTO enqueue_batches"), ydbembed.Containing("SELECT tasks FROM enqueue_batches")
	require.NotErrorIs(t, enqueue(2), taskstore.ErrBatchExists, "twice in one transaction")
	require.Empty(t, b.where("a"))

	b.Faults().Fail("ExecuteQuery", Ydb.StatusIds_PRECONDITION_FAILED, insert)
	err := enqueue(1)
	require.ErrorIs(t, err, task.ErrRefused)
	require.NotErrorIs(t, err, taskstore.ErrBatchExists)
	b.Faults().Fail("ExecuteQuery", Ydb.StatusIds_PRECONDITION_FAILED, insert)
	_, err = b.store.Enqueue(t.Context(), batch)
	require.ErrorIs(t, err, task.ErrRefused)
	require.Empty(t, b.where("a"))

	// Whether the batch was committed is not known when it cannot be looked up.
	require.NoError(t, enqueue(1))
	b.Faults().Fail("ExecuteQuery", Ydb.StatusIds_UNAUTHORIZED, lookup)
	err = enqueue(1)
	require.Error(t, err)
	require.NotErrorIs(t, err, taskstore.ErrBatchExists)
	require.NotErrorIs(t, err, task.ErrRefused)
	b.Faults().Fail("ExecuteQuery", Ydb.StatusIds_UNAUTHORIZED, lookup)
	_, err = b.store.Enqueue(t.Context(), batch)
	require.Error(t, err)
	require.NotErrorIs(t, err, task.ErrRefused)
	require.ErrorIs(t, enqueue(1), taskstore.ErrBatchExists)
}

func TestALostAnswerToAClaim(t *testing.T) {
	t.Parallel()
	b := setupFaulty(t, taskstore.Options{})
	owned := b.own(1)
	b.enqueue(task.Task{ID: "a", Kind: "k"})
	keys := []task.Key{{Rank: 255, ID: "a"}}
	req := request(owned, keys)
	dropped := b.dropNextAnswer()
	result, err := b.store.Claim(t.Context(), req)
	require.NoError(t, err)
	require.Equal(t, 1, dropped.Hits())
	require.Len(t, result.Claimed, 1)
	require.EqualValues(t, 1, result.Claimed[0].Attempt)
	require.Equal(t, []string{"coordinated_tasks:locked:0"}, b.where("a"))
	require.Zero(t, result.Claimed[0].Crashes, "the lock that is found is its own")

	again, err := b.store.Claim(t.Context(), req)
	require.NoError(t, err)
	again.Claimed[0].Waited = result.Claimed[0].Waited
	require.Equal(t, result, again, "the same request finds its own locks")
	other, err := b.store.Claim(t.Context(), request(owned, keys))
	require.NoError(t, err)
	require.Empty(t, other.Claimed)
}

// TestALateClaimTakesNothing: the first execution of a claim comes after its
// repetition was answered and its task given back, or failed and due again. Nobody
// waits for its answer, so it must not lock the task.
func TestALateClaimTakesNothing(t *testing.T) {
	t.Parallel()
	for _, outcome := range []task.Outcome{task.OutcomeReleased, task.OutcomeRetry} {
		t.Run(outcome.String(), func(t *testing.T) {
			t.Parallel()
			b := setupFaulty(t, taskstore.Options{})
			owned := b.own(1)
			b.enqueue(task.Task{ID: "a", Kind: "k"})
			req := request(owned, []task.Key{{Rank: 255, ID: "a"}})
			held := b.Faults().Hold("ExecuteQuery", ydbembed.Containing("$free"))
			late := make(chan task.ClaimResult, 1)
			go func() {
				result, err := b.store.Claim(t.Context(), req)
				if err != nil {
					t.Error(err)
				}
				late <- result
			}()
			require.NoError(t, held.Wait(t.Context(), 1))
			result, err := b.store.Claim(t.Context(), req)
			require.NoError(t, err)
			require.Len(t, result.Claimed, 1)
			recorded, err := b.store.Finish(t.Context(), []task.Result{finishing(result.Claimed[0], outcome)})
			require.NoError(t, err)
			require.Equal(t, []bool{true}, recorded)
			_, err = b.store.Promote(t.Context(), owned, 1)
			require.NoError(t, err)
			held.Stop()
			require.Empty(t, (<-late).Claimed)
			again := b.claim(owned...)
			require.Len(t, again, 1, "another claim takes it")
			require.Zero(t, again[0].Crashes)
		})
	}
}

func TestI3ALostAnswerToAFinish(t *testing.T) {
	t.Parallel()
	for _, outcome := range []task.Outcome{task.OutcomeCompleted, task.OutcomeRetry, task.OutcomeDead, task.OutcomeReleased} {
		t.Run(outcome.String(), func(t *testing.T) {
			t.Parallel()
			b := setupFaulty(t, taskstore.Options{})
			owned := b.own(2)
			b.enqueue(task.Task{ID: "a", Kind: "k"}, task.Task{ID: "lost", Kind: "k", Partition: 1})
			claimed := b.claim(owned...)
			// The second partition goes to somebody else, who has the task now.
			epochs, err := b.store.Raise(t.Context(), []uint16{1}, "other")
			require.NoError(t, err)
			require.Len(t, b.claim(task.Owned{Partition: 1, Epoch: epochs[1]}), 1)

			dropped := b.dropNextAnswer()
			held, err := b.store.Finish(t.Context(), []task.Result{finishing(claimed[0], outcome), finishing(claimed[1], outcome)})
			require.NoError(t, err)
			require.Equal(t, 1, dropped.Hits())
			require.Equal(t, []bool{true, false}, held)
			require.Len(t, b.where("a"), 1)
			require.Equal(t, []string{"coordinated_tasks:locked:0"}, b.where("lost"))
		})
	}
}

func TestALostAnswerIsSettledEvenWhenThePartitionMovesOn(t *testing.T) {
	t.Parallel()
	b := setupFaulty(t, taskstore.Options{})
	owned := b.own(1)
	b.enqueue(task.Task{ID: "a", Kind: "k"}, task.Task{ID: "b", Kind: "k"}, task.Task{ID: "c", Kind: "k"})
	claimed := b.claim(owned...)
	// The answer to the first attempt is lost, and the epoch rises before the second.
	b.dropNextAnswer()
	finish := ydbembed.Containing("$held")
	first, again := b.Faults().Hold("ExecuteQuery", finish), b.Faults().Hold("ExecuteQuery", finish)
	done := make(chan []bool)
	go func() {
		held, err := b.store.Finish(t.Context(), []task.Result{
			finishing(claimed[0], task.OutcomeCompleted), finishing(claimed[1], task.OutcomeDead), finishing(claimed[2], task.OutcomeReleased),
		})
		if err != nil {
			t.Error(err)
		}
		done <- held
	}()
	require.NoError(t, first.Wait(t.Context(), 1))
	first.Stop()
	require.NoError(t, again.Wait(t.Context(), 1))
	_, err := b.store.Raise(t.Context(), []uint16{0}, "other")
	require.NoError(t, err)
	again.Stop()
	require.Equal(t, []bool{true, true, true}, <-done, "each left its lock value where it went")
}

func TestConflictsAreRepeatedAndCounted(t *testing.T) {
	t.Parallel()
	b := setupFaulty(t, taskstore.Options{})
	b.Faults().Fail("ExecuteQuery", Ydb.StatusIds_ABORTED)
	b.Faults().Fail("ExecuteQuery", Ydb.StatusIds_UNAVAILABLE)
	cost := b.cost(func() { b.own(1) })
	require.EqualValues(t, 3, cost.Statements)
	require.EqualValues(t, 1, cost.Aborted)
}

func TestAnOperationHasADeadline(t *testing.T) {
	t.Parallel()
	b := setupFaulty(t, taskstore.Options{Timeout: 200 * time.Millisecond})
	held := b.Faults().Hold("ExecuteQuery")
	defer held.Stop()
	_, err := b.store.Candidates(t.Context(), []task.Cursor{{}}, 1)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}
