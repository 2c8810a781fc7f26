package taskstore_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/internal/taskstore"
	"github.com/taskfleet/taskfleet/pkg/task"
)

// kill enqueues tasks and ends them as dead.
func (b *bundle) kill(owned []task.Owned, tasks ...task.Task) {
	b.t.Helper()
	b.enqueue(tasks...)
	var results []task.Result
	for _, c := range b.claim(owned...) {
		r := finishing(c, task.OutcomeDead)
		r.Error = "broken " + c.ID
		results = append(results, r)
	}
	require.Len(b.t, results, len(tasks))
	_, err := b.store.Finish(b.t.Context(), results)
	require.NoError(b.t, err)
}

func TestDeadTasksAreListedInPages(t *testing.T) {
	t.Parallel()
	b := setup(t, taskstore.Options{})
	owned := b.own(16)
	var tasks []task.Task
	for i := range 40 {
		tasks = append(tasks, task.Task{
			ID: fmt.Sprintf("t%02d", i), Kind: []string{"http", "sqs"}[i%2], Partition: uint16(i % 16), Priority: uint8(i), PartitionKey: "key",
		})
	}
	b.kill(owned, tasks...)
	pages := func(kind string, size int) map[string]taskstore.DeadTask {
		found, after := map[string]taskstore.DeadTask{}, task.Key{}
		for {
			page, err := b.store.Dead(t.Context(), kind, after, size)
			require.NoError(t, err)
			for _, d := range page {
				require.NotContains(t, found, d.Key.ID)
				found[d.Key.ID] = d
			}
			if len(page) < size {
				return found
			}
			after = page[len(page)-1].Key
		}
	}
	for _, size := range []int{1, 7, 100} {
		require.Len(t, pages("", size), 40)
		require.Len(t, pages("sqs", size), 20)
		require.Empty(t, pages("other", size))
	}
	d := pages("sqs", 100)["t03"]
	require.Equal(t, task.Key{Partition: 3, Rank: task.Rank(3), ID: "t03"}, d.Key)
	require.Equal(t, "sqs", d.Kind)
	require.Equal(t, "key", d.PartitionKey)
	require.EqualValues(t, 1, d.Attempt)
	require.Equal(t, "broken t03", d.LastError)
	require.False(t, d.DiedAt.Before(d.CreatedAt))
}

func TestReplayMakesADeadTaskNew(t *testing.T) {
	t.Parallel()
	b := setup(t, taskstore.Options{})
	owned := b.own(4)
	sent := task.Task{
		ID: "t", Kind: "sqs", Partition: 1, Priority: 9, Payload: []byte(`{"n":1}`), PartitionKey: "key",
		MaxAttempts: 3, Headers: map[string]string{"a": "b"},
	}
	b.kill(owned, sent, task.Task{ID: "other", Kind: "http", Partition: 2})
	key := task.Key{Partition: 1, ID: "t"}
	moved, err := b.store.Replay(t.Context(), []task.Key{key, {Partition: 3, ID: "unknown"}, {Partition: 2, ID: "t"}})
	require.NoError(t, err)
	require.Equal(t, []task.Key{key}, moved)
	require.Equal(t, []string{"coordinated_tasks:pending:0:broken t"}, b.where("t"))
	require.Equal(t, []string{"dead_tasks:dead:1:broken other"}, b.where("other"))

	claimed := b.claim(owned...)
	require.Len(t, claimed, 1)
	c := claimed[0]
	require.EqualValues(t, 1, c.Attempt)
	require.Equal(t, sent.Payload, c.Payload)
	require.Equal(t, sent.Headers, c.Headers)
	require.Equal(t, sent.PartitionKey, c.PartitionKey)
	require.EqualValues(t, 3, c.MaxAttempts)
	require.Equal(t, task.Rank(9), c.Key.Rank)

	moved, err = b.store.Replay(t.Context(), []task.Key{key}) // it runs
	require.NoError(t, err)
	require.Empty(t, moved)
	require.Equal(t, []string{"coordinated_tasks:locked:0:broken t"}, b.where("t"))
}

// TestReplayAfterALostAnswer: the repetition finds nothing to move, and the task
// is where the first attempt put it.
func TestReplayAfterALostAnswer(t *testing.T) {
	t.Parallel()
	b := setupFaulty(t, taskstore.Options{})
	b.kill(b.own(1), task.Task{ID: "t", Kind: "k"})
	b.dropNextAnswer()
	_, err := b.store.Replay(t.Context(), []task.Key{{ID: "t"}})
	require.NoError(t, err)
	require.Equal(t, []string{"coordinated_tasks:pending:0:broken t"}, b.where("t"))
}
