package taskstore_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/internal/taskstore"
	"github.com/taskfleet/taskfleet/pkg/task"
)

func TestPlacesListsEveryTable(t *testing.T) {
	t.Parallel()
	b := setup(t, taskstore.Options{})
	owned := b.own(2)
	b.enqueue(
		task.Task{ID: "done", Partition: 0, Priority: 200}, task.Task{ID: "dead", Partition: 0, Priority: 100},
		task.Task{ID: "held", Partition: 0}, task.Task{ID: "later", Partition: 1, Delay: time.Hour})
	claimed := b.claim(owned...)
	require.Len(t, claimed, 3)
	_, err := b.store.Finish(t.Context(), []task.Result{
		finishing(claimed[0], task.OutcomeCompleted), finishing(claimed[1], task.OutcomeDead),
	})
	require.NoError(t, err)
	b.enqueue(task.Task{ID: "free", Partition: 1})

	places, err := b.store.Places(t.Context())
	require.NoError(t, err)
	require.ElementsMatch(t, []taskstore.Place{
		{ID: "done", Status: task.Completed, LockValue: claimed[0].LockValue},
		{ID: "dead", Status: task.Dead, LockValue: claimed[1].LockValue},
		{ID: "held", Status: task.Locked, LockValue: claimed[2].LockValue},
		{ID: "later", Partition: 1, Status: task.Delayed},
		{ID: "free", Partition: 1, Status: task.Pending},
	}, places)
}
