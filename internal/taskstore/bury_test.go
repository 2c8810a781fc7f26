package taskstore_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/internal/taskstore"
	"github.com/taskfleet/taskfleet/pkg/task"
)

// TestBuryTakesWhatIsFree: under the partition's epoch, and not from a lock that lives.
func TestBuryTakesWhatIsFree(t *testing.T) {
	t.Parallel()
	b := setup(t, taskstore.Options{})
	old := b.own(1)[0]
	b.enqueue(task.Task{ID: "locked", Kind: "k", Payload: []byte("p"), Headers: map[string]string{"a": "b"}})
	held := b.claim(old)[0]
	b.enqueue(task.Task{ID: "free", Kind: "k"})
	bury := func(o task.Owned, id string) bool {
		buried, err := b.store.Bury(t.Context(), o, task.Key{Rank: 255, ID: id}, "no\xff"+strings.Repeat("x", 2*task.MaxError))
		require.NoError(t, err)
		return buried
	}
	require.False(t, bury(old, "locked"), "its lock lives")
	require.False(t, bury(old, "unknown"))
	now := b.own(1)[0]
	require.False(t, bury(old, "free"), "the epoch is another's")
	require.Equal(t, []string{"coordinated_tasks:pending:0"}, b.where("free"))
	require.True(t, bury(now, "free"))
	require.True(t, bury(now, "free"), "it is dead")
	require.True(t, bury(now, "locked"), "its lock is dead")
	for _, id := range []string{"free", "locked"} {
		where := b.where(id)
		require.Len(t, where, 1)
		require.True(t, strings.HasPrefix(where[0], "dead_tasks:dead:0:no\uFFFDxxx"), where[0])
	}

	// The worker that lost it records nothing, and no row says that it did.
	late := finishing(held, task.OutcomeCompleted)
	late.Repeated = true
	recorded, err := b.store.Finish(t.Context(), []task.Result{late})
	require.NoError(t, err)
	require.Equal(t, []bool{false}, recorded)

	_, err = b.store.Replay(t.Context(), []task.Key{{ID: "locked"}})
	require.NoError(t, err)
	again := b.claim(now)[0]
	require.Equal(t, held.Payload, again.Payload)
	require.Equal(t, held.Headers, again.Headers)
}

func TestALostAnswerToABurial(t *testing.T) {
	t.Parallel()
	b := setupFaulty(t, taskstore.Options{})
	owned := b.own(1)
	b.enqueue(task.Task{ID: "a", Kind: "k"})
	b.dropNextAnswer()
	buried, err := b.store.Bury(t.Context(), owned[0], task.Key{Rank: 255, ID: "a"}, "no")
	require.NoError(t, err)
	require.True(t, buried)
}
