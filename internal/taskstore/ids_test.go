package taskstore_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/internal/taskstore"
	"github.com/taskfleet/taskfleet/pkg/task"
)

// TestAnIDLivesAsLongAsItsTask: its time is counted from the end of the task, not
// from when it is due, which may be a year ahead, and not while it may run again.
func TestAnIDLivesAsLongAsItsTask(t *testing.T) {
	t.Parallel()
	b := setup(t, taskstore.Options{})
	owned := b.own(1)
	memory := 45 * 24 * time.Hour
	given := func(id string, t task.Task) task.Task {
		t.ID, t.IDGiven, t.Kind = id, true, "k"
		return t
	}
	b.enqueue(
		given("late", task.Task{Delay: task.MaxDelay}), given("done", task.Task{}), given("dead", task.Task{}),
		given("buried", task.Task{Priority: 9}), given("tried", task.Task{}), task.Task{ID: "made", Kind: "k"},
	)
	for _, left := range b.remembered() {
		require.Zero(t, left)
	}
	buried, err := b.store.Bury(t.Context(), owned[0], task.Key{Rank: task.Rank(9), ID: "buried"}, "no")
	require.NoError(t, err)
	require.True(t, buried)
	outcomes := map[string]task.Outcome{
		"done": task.OutcomeCompleted, "made": task.OutcomeCompleted, "dead": task.OutcomeDead, "tried": task.OutcomeRetry,
	}
	var results []task.Result
	for _, c := range b.claim(owned...) {
		require.Equal(t, c.ID != "made", c.IDGiven)
		results = append(results, finishing(c, outcomes[c.ID]))
	}
	_, err = b.store.Finish(t.Context(), results)
	require.NoError(t, err)
	remembered := b.remembered()
	require.Len(t, remembered, 5)
	for id, left := range remembered {
		if id == "late" || id == "tried" {
			require.Zero(t, left, id)
		} else {
			require.InDelta(t, memory, left, float64(time.Minute), id)
		}
	}

	_, err = b.store.Replay(t.Context(), []task.Key{{ID: "dead"}, {ID: "buried"}})
	require.NoError(t, err)
	remembered = b.remembered()
	require.Zero(t, remembered["dead"])
	require.Zero(t, remembered["buried"])
	require.NotZero(t, remembered["done"])
	for _, c := range b.claim(owned...) {
		require.True(t, c.IDGiven, c.ID)
	}
	require.Equal(t, 6, b.duplicates(given("late", task.Task{}), given("done", task.Task{}), given("dead", task.Task{}),
		given("buried", task.Task{}), given("tried", task.Task{}), given("tried", task.Task{Priority: 1})))
}

// duplicates enqueues tasks and returns how many of them were known.
func (b *bundle) duplicates(tasks ...task.Task) int {
	result, err := b.store.Enqueue(b.t.Context(), task.Batch{ID: uuid.NewString(), Tasks: tasks})
	require.NoError(b.t, err)
	return result.Duplicates
}

// remembered returns the ids that callers gave, and for how long each is
// remembered; zero is without an end.
func (b *bundle) remembered() map[string]time.Duration {
	ids := map[string]time.Duration{}
	result, err := b.DB.Query().QueryResultSet(b.t.Context(), "SELECT id, expires_at, CurrentUtcTimestamp() AS now FROM "+b.path("task_ids"))
	require.NoError(b.t, err)
	for row, err := range result.Rows(b.t.Context()) {
		require.NoError(b.t, err)
		var id string
		var at *time.Time
		var now time.Time
		require.NoError(b.t, row.Scan(&id, &at, &now))
		ids[id] = 0
		if at != nil {
			ids[id] = at.Sub(now)
		}
	}
	return ids
}

func TestKnownIDFindsAPrefix(t *testing.T) {
	t.Parallel()
	b := setup(t, taskstore.Options{})
	var given []task.Task
	for _, id := range []string{"a-1-2", "a-1-1", "a-10-0", "a-", "b", "a.", "a-1"} {
		given = append(given, task.Task{Kind: "k", ID: id, IDGiven: true})
	}
	b.enqueue(append(given, task.Task{Kind: "k"})...)
	for prefix, want := range map[string]string{
		"a-1-": "a-1-1", "a-1": "a-1", "a-": "a-", "a-10-": "a-10-0", "a-2-": "", "b": "b", "c": "", "a": "a-",
	} {
		got, err := b.store.KnownID(t.Context(), prefix)
		require.NoError(t, err)
		require.Equal(t, want, got, prefix)
	}
}
