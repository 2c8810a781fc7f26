package taskproducer

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/taskfleet/taskfleet/pkg/task"
)

// keyed is a memory that knows the ids that it stored.
type keyed struct {
	memory
	lookups int
}

func (k *keyed) KnownID(_ context.Context, prefix string) (string, error) {
	k.lookups++
	first := ""
	for _, t := range k.tasks() {
		if t.IDGiven && strings.HasPrefix(t.ID, prefix) && (first == "" || t.ID < first) {
			first = t.ID
		}
	}
	return first, nil
}

func TestEnqueueAllIsAllOrNothing(t *testing.T) {
	t.Parallel()
	store := &memory{}
	p, counts := setup(t, store, Config{BatchTasks: 3})
	result, err := p.EnqueueAll(t.Context(), "", task.Task{}, task.Task{MaxAttempts: 1001}, task.Task{ID: strings.Repeat("x", 200)})
	var ofTask *TaskError
	require.ErrorAs(t, err, &ofTask)
	require.Equal(t, 1, ofTask.Index)
	require.Equal(t, 2, result.Invalid)
	require.Equal(t, 2, counts.invalid)
	_, err = p.EnqueueAll(t.Context(), "", make([]task.Task, 4)...)
	require.ErrorIs(t, err, ErrTooMany)
	require.EqualError(t, err, "taskproducer: 4 tasks: the tasks do not fit one batch of 3 tasks and 33554432 bytes")
	require.Empty(t, store.tasks())

	result, err = p.EnqueueAll(t.Context(), "", task.Task{}, task.Task{ID: "mine"}, task.Task{ID: "mine"})
	require.NoError(t, err)
	require.Len(t, result.IDs, 3)
	require.Equal(t, "mine", result.IDs[2])
	require.Len(t, store.batches, 1)
	result, err = p.EnqueueAll(t.Context(), "")
	require.NoError(t, err)
	require.Empty(t, result.IDs)
	_, err = p.EnqueueAll(t.Context(), "key", task.Task{})
	require.ErrorIs(t, err, ErrNoKeys)
}

// TestI5KeysAreExact is invariant I5 for keys, whichever tries get lost.
func TestI5KeysAreExact(t *testing.T) {
	t.Parallel()
	store := &keyed{}
	p, counts := setup(t, store, Config{})
	first, err := p.EnqueueAll(t.Context(), "key", task.Task{Kind: "a"}, task.Task{Kind: "b", Headers: map[string]string{"x": "1", "y": "2"}})
	require.NoError(t, err)
	require.False(t, first.Replayed)
	require.Equal(t, "key-"+sum([]byte("key")), store.batches[0].ID)
	require.True(t, store.batches[0].Tasks[0].IDGiven)

	for range 2 {
		again, err := p.EnqueueAll(t.Context(), "key", task.Task{Kind: "a"}, task.Task{Kind: "b", Headers: map[string]string{"y": "2", "x": "1"}})
		require.NoError(t, err)
		require.True(t, again.Replayed)
		require.Equal(t, first.IDs, again.IDs)
		require.Equal(t, 2, again.Enqueued)
		_, err = p.EnqueueAll(t.Context(), "key", task.Task{Kind: "a"})
		require.ErrorIs(t, err, ErrKeyReused)
		require.Len(t, store.tasks(), 2)
		require.Zero(t, counts.tasks%2, "what is refused is not counted")
		store.seen = nil // the batch is forgotten, the ids are not
	}
	_, err = p.EnqueueAll(t.Context(), "key", task.Task{}, task.Task{ID: "mine"})
	require.EqualError(t, err, "task 1: id: cannot stand with a key, which the ids are made of")
	require.ErrorIs(t, err, task.ErrInvalid)

	store.after = func(call int) error {
		if store.after = nil; call > 0 {
			return context.DeadlineExceeded // of the call, after its commit
		}
		return nil
	}
	lost, err := p.EnqueueAll(t.Context(), "another", task.Task{})
	require.NoError(t, err)
	require.True(t, lost.Replayed)
	require.Len(t, store.tasks(), 3)

	refused := errors.New("refused")
	store.before = func(context.Context, int) error { return refused }
	_, err = p.EnqueueAll(t.Context(), "third", task.Task{})
	require.ErrorIs(t, err, refused)
}

// TestTheDigestNeverChanges: a fleet may run two releases.
func TestTheDigestNeverChanges(t *testing.T) {
	t.Parallel()
	const rest = `"run_at":0,"delay":0,"max_attempts":0,"timeout":0,`
	require.Equal(t, sum([]byte(`[{"kind":"http","payload":null,"priority":0,"key":"",`+rest+`"headers":null},`+
		`{"kind":"a\u003c","payload":"eA==","priority":7,"key":"k",`+rest+`"headers":{"h":"v"}}]`)),
		digest([]task.Task{{}, {Kind: "a<", Payload: []byte("x"), Priority: 7, PartitionKey: "k", Headers: map[string]string{"h": "v"}}}))
	require.Equal(t, sum([]byte("[]")), digest(nil))
}

// TestIDsOfAKeyOrder: the ids of a call order as its tasks, and the digest is of
// every field that a caller sets.
func TestIDsOfAKeyOrder(t *testing.T) {
	t.Parallel()
	p, _ := setup(t, &keyed{}, Config{BatchTasks: MaxBatchTasks})
	result, err := p.EnqueueAll(t.Context(), "key", make([]task.Task, 2000)...)
	require.NoError(t, err)
	require.IsIncreasing(t, result.IDs)
	require.Less(t, len(result.IDs[0]), task.MaxID)

	at := time.Date(2030, 1, 31, 12, 0, 0, 0, time.UTC)
	different := []task.Task{
		{}, {Kind: "a"}, {Payload: []byte("a")}, {Priority: 1}, {PartitionKey: "a"}, {RunAt: at}, {RunAt: at.Add(1)},
		{Delay: 1}, {MaxAttempts: 1}, {Timeout: 1}, {Headers: map[string]string{"a": ""}}, {Headers: map[string]string{"a": "b"}},
	}
	seen := map[string]bool{}
	for _, one := range different {
		seen[digest([]task.Task{one})] = true
	}
	require.Len(t, seen, len(different))
	require.NotEqual(t, digest(make([]task.Task, 1)), digest(make([]task.Task, 2)))

	same := digest([]task.Task{{RunAt: at}})
	require.Equal(t, same, digest([]task.Task{{
		Kind: task.DefaultKind, Payload: []byte{}, Headers: map[string]string{}, RunAt: at.In(time.FixedZone("", 3600)),
	}}))
	require.Equal(t, "911133de99dc4eab32b3c156257dc8ca", same, "a fleet may run two releases: this must never change")
}

// TestDigestTellsTasksApart: where one field ends and the next begins counts.
func TestDigestTellsTasksApart(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a-c",\\]{0,3}`)
		make := func(label string) task.Task {
			return task.Task{
				Kind: "k" + text.Draw(t, label), PartitionKey: text.Draw(t, label), Payload: []byte(text.Draw(t, label)),
			}
		}
		a, b := make("a"), make("b")
		same := a.Kind == b.Kind && a.PartitionKey == b.PartitionKey && string(a.Payload) == string(b.Payload)
		if got := digest([]task.Task{a}) == digest([]task.Task{b}); got != same {
			t.Fatalf("%+v %+v: %v", a, b, got)
		}
	})
}
