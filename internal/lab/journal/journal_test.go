package journal

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/pkg/task"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// bundle is a journal in memory.
type bundle struct {
	*Journal
	text bytes.Buffer
}

func setup() *bundle {
	b := &bundle{}
	b.Journal = New(&b.text, func() time.Time { return now })
	return b
}

// events reads what was written since the last time.
func (b *bundle) events(t *testing.T) []Event {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	var events []Event
	for lines := bufio.NewScanner(&b.text); lines.Scan(); {
		var e Event
		require.NoError(t, json.Unmarshal(lines.Bytes(), &e))
		require.True(t, now.Equal(e.At))
		e.At = time.Time{}
		events = append(events, e)
	}
	return events
}

// fake answers what it is told to.
type fake struct {
	err     error
	claimed []*task.Claimed
	held    []bool
	epochs  map[uint16]uint64
}

func (f *fake) Enqueue(context.Context, task.Batch) (task.EnqueueResult, error) {
	return task.EnqueueResult{Enqueued: 1}, f.err
}
func (f *fake) Candidates(context.Context, []task.Cursor, int) ([]task.CandidateRun, error) {
	return nil, f.err
}

func (f *fake) Bury(context.Context, task.Owned, task.Key, string) (bool, error) { return false, f.err }
func (f *fake) Claim(context.Context, task.ClaimRequest) (task.ClaimResult, error) {
	return task.ClaimResult{Claimed: f.claimed}, f.err
}
func (f *fake) Finish(context.Context, []task.Result) ([]bool, error) { return f.held, f.err }
func (f *fake) Promote(context.Context, []task.Owned, int) (task.PromoteResult, error) {
	return task.PromoteResult{}, f.err
}
func (f *fake) Raise(context.Context, []uint16, string) (map[uint16]uint64, error) {
	return f.epochs, f.err
}
func (f *fake) Acquired(context.Context, uint16, uint64)   {}
func (f *fake) Revoke(context.Context, uint16) (err error) { return f.err }

var errLost = errors.New("the answer was lost")

func TestEnqueue(t *testing.T) {
	t.Parallel()
	b, f := setup(), &fake{}
	store := b.Store(f)
	batch := task.Batch{ID: "b", Tasks: []task.Task{{ID: "t1"}, {ID: "t2"}}}
	result, err := store.Enqueue(t.Context(), batch)
	require.NoError(t, err)
	require.Equal(t, 1, result.Enqueued)
	f.err = errLost
	_, err = store.Enqueue(t.Context(), batch)
	require.ErrorIs(t, err, errLost)
	begin := Event{Op: Enqueue, ID: "b", Tasks: []string{"t1", "t2"}}
	require.Equal(t, []Event{
		begin, {Op: Enqueue, ID: "b", End: true},
		begin, {Op: Enqueue, ID: "b", End: true, Error: errLost.Error()},
	}, b.events(t))
}

func TestClaimAndFinish(t *testing.T) {
	t.Parallel()
	b := setup()
	f := &fake{claimed: []*task.Claimed{{
		Task: task.Task{ID: "t", Attempt: 2}, Key: task.Key{Partition: 3, ID: "t"}, Epoch: 7, LockValue: "l",
	}}}
	repo := b.Repository(f)
	_, err := repo.Claim(t.Context(), task.ClaimRequest{ID: "c"})
	require.NoError(t, err)
	require.Equal(t, []Event{
		{Op: Claim, ID: "c"},
		{Op: Claim, ID: "c", End: true, Locks: []Lock{{"t", 3, 7, "l", 2}}},
	}, b.events(t))

	results := []task.Result{
		{Key: task.Key{ID: "t"}, LockValue: "l", Outcome: task.OutcomeRetry},
		{Key: task.Key{ID: "u"}, LockValue: "m", Outcome: task.OutcomeCompleted},
	}
	f.held = []bool{false, true}
	held, err := repo.Finish(t.Context(), results)
	require.NoError(t, err)
	require.Equal(t, f.held, held)
	f.held, f.err = nil, errLost
	_, err = repo.Finish(t.Context(), results)
	require.ErrorIs(t, err, errLost)
	sent := []Result{{"t", "l", "retry", false}, {"u", "m", "completed", false}}
	require.Equal(t, []Event{
		{Op: Finish, ID: "1", Results: sent},
		{Op: Finish, ID: "1", End: true, Results: []Result{sent[0], {"u", "m", "completed", true}}},
		{Op: Finish, ID: "2", Results: sent},
		{Op: Finish, ID: "2", End: true, Error: errLost.Error(), Results: sent},
	}, b.events(t))
}

func TestRaise(t *testing.T) {
	t.Parallel()
	b, f := setup(), &fake{epochs: map[uint16]uint64{5: 2, 6: 9}}
	epochs, err := b.Fence(f).Raise(t.Context(), []uint16{6, 5, 4}, "w")
	require.NoError(t, err)
	require.Equal(t, f.epochs, epochs)
	require.Equal(t, []Event{
		{Op: Raise, ID: "1"},
		{Op: Raise, ID: "1", End: true, Partitions: []Partition{{6, 9}, {5, 2}}},
	}, b.events(t))
}

func TestOwnershipEndsOnceWithTheRevokeOrTheLease(t *testing.T) {
	t.Parallel()
	b := setup()
	c := b.Consumer(&fake{})
	require.NoError(t, c.Revoke(t.Context(), 9), "never acquired")
	own := func(id string, end bool) Event {
		return Event{Op: Own, ID: id, End: end, Partitions: []Partition{{3, 7}}}
	}
	lease, end := context.WithCancel(t.Context())
	c.Acquired(lease, 3, 7)
	require.NoError(t, c.Revoke(t.Context(), 3))
	require.Equal(t, []Event{own("1", false), own("1", true)}, b.events(t))
	end()

	lease, end = context.WithCancel(t.Context())
	c.Acquired(lease, 3, 7)
	end()
	var events []Event
	require.Eventually(t, func() bool { events = append(events, b.events(t)...); return len(events) == 2 }, 10*time.Second, time.Millisecond)
	require.NoError(t, c.Revoke(t.Context(), 3))
	require.Equal(t, []Event{own("2", false), own("2", true)}, events)
	require.Empty(t, b.events(t))
}
