package taskstore_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"google.golang.org/grpc/codes"

	"github.com/taskfleet/taskfleet/internal/taskstore"
	"github.com/taskfleet/taskfleet/pkg/task"
	"github.com/taskfleet/taskfleet/pkg/ydbembed"
)

// TestABatchIsStoredOrSplit: never both, in whichever order they come and however
// often, and whichever answers are lost.
func TestABatchIsStoredOrSplit(t *testing.T) {
	t.Parallel()
	b := setupFaulty(t, taskstore.Options{})
	stored := task.Batch{ID: "stored", Tasks: []task.Task{{ID: "a", Kind: "k"}}}
	b.dropNextAnswer()
	_, err := b.store.Enqueue(t.Context(), stored)
	require.NoError(t, err)
	for range 2 {
		split, err := b.store.Split(t.Context(), stored.ID)
		require.NoError(t, err)
		require.False(t, split)
	}
	require.NotEmpty(t, b.where("a"))

	parted := task.Batch{ID: "parted", Tasks: []task.Task{{ID: "b", Kind: "k"}, {ID: "c", IDGiven: true, Kind: "k"}}}
	b.dropNextAnswer()
	for range 2 {
		split, err := b.store.Split(t.Context(), parted.ID)
		require.NoError(t, err)
		require.True(t, split)
		_, err = b.store.Enqueue(t.Context(), parted)
		require.ErrorIs(t, err, task.ErrRefused)
		require.ErrorContains(t, err, "the batch was split")
	}
	require.Empty(t, b.where("b"))
	known, err := b.store.KnownID(t.Context(), "c")
	require.NoError(t, err)
	require.Empty(t, known)
}

// TestARefusedStatementIsSentOnce: the SDK would repeat some of these for as long
// as it may.
func TestARefusedStatementIsSentOnce(t *testing.T) {
	t.Parallel()
	b := setupFaulty(t, taskstore.Options{})
	for _, arm := range []func(){
		func() {
			b.Faults().FailTransport("ExecuteQuery", codes.ResourceExhausted, ydbembed.Saying("Received message larger than max (64000001 vs. 64000000)"))
		},
		func() {
			b.Faults().Fail("ExecuteQuery", Ydb.StatusIds_ABORTED, ydbembed.Saying("Datashard program size limit exceeded (50331649 > 50331648)"))
		},
		func() { b.Faults().Fail("ExecuteQuery", Ydb.StatusIds_BAD_REQUEST) },
	} {
		arm()
		cost := b.cost(func() {
			_, err := b.store.Enqueue(t.Context(), task.Batch{ID: "batch", Tasks: []task.Task{{ID: "a", Kind: "k"}}})
			require.ErrorIs(t, err, task.ErrRefused)
		})
		require.EqualValues(t, 1, cost.Statements)
	}
	require.Empty(t, b.where("a"))
}

// TestABatchAboveTheLimitsIsRefused: 50 MB of parameters are what a database
// takes; a half of the batch is taken.
func TestABatchAboveTheLimitsIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t, taskstore.Options{})
	var tasks []task.Task
	size := 0
	for i := 0; size < 51_000_000; i++ {
		one := task.Task{ID: fmt.Sprint(i), Kind: "k", Payload: make([]byte, task.MaxPayload)}
		tasks, size = append(tasks, one), size+taskstore.EnqueueSize(&one)
	}
	_, err := b.store.Enqueue(t.Context(), task.Batch{ID: "whole", Tasks: tasks})
	require.ErrorIs(t, err, task.ErrRefused)
	require.Empty(t, b.where("0"))
	half := task.Batch{ID: "half", Tasks: tasks[:len(tasks)/2]}
	result, err := b.store.Enqueue(t.Context(), half)
	require.NoError(t, err)
	require.Equal(t, len(half.Tasks), result.Enqueued)
}
