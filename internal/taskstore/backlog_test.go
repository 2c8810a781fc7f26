package taskstore_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/internal/taskstore"
	"github.com/taskfleet/taskfleet/pkg/task"
)

// TestBacklogIsExactAndReadsWhatItCounts: each partition is counted by its
// owner, so the rows read are the tasks counted and nothing else, whatever the
// history.
func TestBacklogIsExactAndReadsWhatItCounts(t *testing.T) {
	t.Parallel()
	b := setup(t, taskstore.Options{})
	owned := b.own(4)
	b.enqueue(small(400, 4)...)
	var done []task.Result
	for i, c := range b.claim(owned...) {
		if i%2 == 0 {
			done = append(done, finishing(c, task.OutcomeCompleted))
		}
	}
	_, err := b.store.Finish(t.Context(), done)
	require.NoError(t, err)
	locked := 400 - len(done)
	b.enqueue(
		task.Task{Kind: "k", Partition: 1, RunAt: time.Now().Add(-time.Hour)},
		task.Task{Kind: "k", Partition: 1},
		task.Task{Kind: "k", Partition: 2, Delay: time.Hour},
		task.Task{Kind: "k", Partition: 3},
	)

	var runnable map[uint16]task.Runnable
	cost := b.cost(func() { runnable, err = b.store.CountRunnable(t.Context(), []uint16{0, 1, 2, 9}) })
	require.NoError(t, err)
	require.EqualValues(t, 1, cost.Statements)
	require.Len(t, runnable, 4)
	require.EqualValues(t, 2, runnable[1].Pending)
	require.InDelta(t, time.Hour.Seconds(), runnable[1].Oldest.Seconds(), 60)
	require.Zero(t, runnable[9])
	require.EqualValues(t, locked*3/4, runnable[0].Locked+runnable[1].Locked+runnable[2].Locked)
	require.EqualValues(t, locked*3/4+2, cost.RowsRead)

	var delayed map[uint16]uint64
	cost = b.cost(func() { delayed, err = b.store.CountDelayed(t.Context(), []uint16{1, 2}) })
	require.NoError(t, err)
	require.Equal(t, map[uint16]uint64{1: 0, 2: 1}, delayed)
	require.EqualValues(t, 1, cost.RowsRead)
	require.EqualValues(t, 1, cost.Statements)
}
