package taskproducer

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/internal/derived"
	"github.com/taskfleet/taskfleet/pkg/task"
)

// TestMadeIDsCannotBeGiven: an id that the producer handed out is not
// remembered, so that giving it again has to be refused.
func TestMadeIDsCannotBeGiven(t *testing.T) {
	t.Parallel()
	store := &memory{}
	p, _ := setup(t, store, Config{})
	first, err := p.Enqueue(t.Context(), task.Task{})
	require.NoError(t, err)

	own := uuid.Must(uuid.NewV7()).String()
	for name, enqueue := range map[string]func(tasks ...task.Task) (Result, error){
		"Enqueue":    func(tasks ...task.Task) (Result, error) { return p.Enqueue(t.Context(), tasks...) },
		"EnqueueAll": func(tasks ...task.Task) (Result, error) { return p.EnqueueAll(t.Context(), "", tasks...) },
	} {
		for _, id := range []string{first.IDs[0], "key-1", "github-1-push"} {
			result, err := enqueue(task.Task{ID: id, Priority: 7})
			require.ErrorIs(t, err, task.ErrInvalid, name)
			require.ErrorContains(t, err, "task 0: id ")
			require.Equal(t, 1, result.Invalid)
		}
		result, err := enqueue(task.Task{ID: own})
		require.NoError(t, err, "%s: a caller's own UUIDv7", name)
		require.Equal(t, []string{own}, result.IDs)
	}
	result, err := p.EnqueueAll(derived.Allow(t.Context()), "", task.Task{ID: "github-1-push"})
	require.NoError(t, err)
	require.Equal(t, []string{"github-1-push"}, result.IDs)
	require.True(t, store.tasks()[len(store.tasks())-1].IDGiven)
}

// TestIDsOfAnotherMakerAreRemembered: they do not look made, so that a caller may
// give one again.
func TestIDsOfAnotherMakerAreRemembered(t *testing.T) {
	t.Parallel()
	store := &memory{}
	p, _ := setup(t, store, Config{NewID: uuid.NewString})
	_, err := p.Enqueue(t.Context(), task.Task{})
	require.NoError(t, err)
	require.True(t, store.tasks()[0].IDGiven)
}
