package taskstore_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/internal/taskstore"
	"github.com/taskfleet/taskfleet/pkg/task"
)

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
