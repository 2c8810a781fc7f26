package taskstore_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/internal/taskstore"
	"github.com/taskfleet/taskfleet/pkg/task"
)

func TestATasksLife(t *testing.T) {
	t.Parallel()
	b := setup(t, taskstore.Options{})
	owned := b.own(2)
	full := task.Task{
		ID: "full", IDGiven: true, Kind: "k", Payload: []byte{0, 1, 0xff}, Priority: 200, PartitionKey: "key", Partition: 1,
		MaxAttempts: 7, Timeout: 1500 * time.Millisecond, Headers: map[string]string{"a": "b", "c": "\"é"},
	}
	b.enqueue(full)
	require.Equal(t, []string{"coordinated_tasks:pending:0"}, b.where("full"))

	claimed := b.claim(owned...)
	require.Len(t, claimed, 1)
	c := claimed[0]
	require.Equal(t, task.Key{Partition: 1, Rank: 55, ID: "full"}, c.Key)
	require.WithinDuration(t, time.Now(), c.CreatedAt, time.Minute)
	require.Less(t, c.Waited, time.Minute)
	got := c.Task
	got.CreatedAt, got.RunAt = time.Time{}, time.Time{}
	full.Attempt = 1
	require.Equal(t, full, got, "what was enqueued is what is claimed")
	require.Equal(t, []string{"coordinated_tasks:locked:0"}, b.where("full"), "attempts count outcomes")
	require.Empty(t, b.claim(owned...), "a lock keeps others out")

	// Given back, nothing is spent.
	held, err := b.store.Finish(t.Context(), []task.Result{finishing(c, task.OutcomeReleased)})
	require.NoError(t, err)
	require.Equal(t, []bool{true}, held)
	require.Equal(t, []string{"coordinated_tasks:pending:0"}, b.where("full"))
	held, err = b.store.Finish(t.Context(), []task.Result{finishing(c, task.OutcomeCompleted)})
	require.NoError(t, err)
	require.Equal(t, []bool{false}, held, "one claim, one outcome")

	// Failed, it waits for its next attempt.
	c = b.claim(owned...)[0]
	retry := finishing(c, task.OutcomeRetry)
	retry.Delay, retry.Error = time.Hour, "no answer\xff"
	_, err = b.store.Finish(t.Context(), []task.Result{retry})
	require.NoError(t, err)
	require.Equal(t, []string{"delayed_tasks:delayed:1:no answer\uFFFD"}, b.where("full"))
	promoted, err := b.store.Promote(t.Context(), owned, 10)
	require.NoError(t, err)
	require.Empty(t, promoted.Moved)
	require.InDelta(t, time.Hour, promoted.NextDue[1], float64(time.Minute))
	require.NotContains(t, promoted.NextDue, uint16(0))
}

func TestPromoteThenCompleteAndDie(t *testing.T) {
	t.Parallel()
	b := setup(t, taskstore.Options{})
	owned := b.own(2)
	b.enqueue(task.Task{ID: "done", Kind: "k"}, task.Task{ID: "dead", Kind: "k", Partition: 1})
	for _, c := range b.claim(owned...) {
		retry := finishing(c, task.OutcomeRetry)
		retry.Error = "first"
		held, err := b.store.Finish(t.Context(), []task.Result{retry})
		require.NoError(t, err)
		require.Equal(t, []bool{true}, held)
	}
	promoted, err := b.store.Promote(t.Context(), owned, 10)
	require.NoError(t, err)
	require.Equal(t, map[uint16]int{0: 1, 1: 1}, promoted.Moved)
	require.Equal(t, map[uint16]time.Duration{0: 0, 1: 0}, promoted.NextDue)
	require.Equal(t, []string{"coordinated_tasks:pending:1:first"}, b.where("done"))

	claimed := b.claim(owned...)
	require.Len(t, claimed, 2)
	require.EqualValues(t, 2, claimed[0].Attempt)
	require.Equal(t, "first", claimed[0].LastError)
	dead := finishing(claimed[1], task.OutcomeDead)
	dead.Error = "second"
	held, err := b.store.Finish(t.Context(), []task.Result{finishing(claimed[0], task.OutcomeCompleted), dead})
	require.NoError(t, err)
	require.Equal(t, []bool{true, true}, held)
	require.Equal(t, []string{"completed_tasks:completed:2:first"}, b.where("done"))
	require.Equal(t, []string{"dead_tasks:dead:2:second"}, b.where("dead"))

	stats, err := b.store.Stats(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 1, stats.Completed)
	require.EqualValues(t, 1, stats.Dead)
	require.Equal(t, 2, stats.Owners["w"])
}

func TestNoHistoryDeletes(t *testing.T) {
	t.Parallel()
	b := setup(t, taskstore.Options{NoHistory: true})
	owned := b.own(1)
	b.enqueue(task.Task{ID: "x", Kind: "k"})
	held, err := b.store.Finish(t.Context(), []task.Result{finishing(b.claim(owned...)[0], task.OutcomeCompleted)})
	require.NoError(t, err)
	require.Equal(t, []bool{true}, held)
	require.Empty(t, b.where("x"))
}

func TestCandidatesResumeBehindACursor(t *testing.T) {
	t.Parallel()
	b := setup(t, taskstore.Options{})
	owned := b.own(16)
	var tasks []task.Task
	for p := range 16 {
		for _, id := range []string{"a", "b", "c", "d"} {
			tasks = append(tasks, task.Task{ID: id + string(rune('A'+p)), Partition: uint16(p), Priority: map[string]uint8{"a": 1, "b": 1, "c": 9, "d": 255}[id]})
		}
	}
	b.enqueue(tasks...)
	cursors := make([]task.Cursor, 16)
	var order []string
	for p := range cursors {
		cursors[p].Owned = owned[p]
	}
	for round := range 5 {
		runs, err := b.store.Candidates(t.Context(), cursors, 1)
		require.NoError(t, err)
		require.Len(t, runs, len(cursors))
		for p, run := range runs {
			require.Equal(t, round == 4, run.Exhausted)
			cursors[p] = run.Next
		}
		for _, c := range runs[3].Candidates {
			require.EqualValues(t, 3, c.Partition)
			order = append(order, c.ID)
		}
	}
	require.Equal(t, []string{"dD", "cD", "aD", "bD"}, order)
}

// TestCandidatesAreBoundedByWhatIsRead: rows that are locked count for the limit,
// so that a read costs no more than it is asked for, whatever it finds.
func TestCandidatesAreBoundedByWhatIsRead(t *testing.T) {
	t.Parallel()
	b := setup(t, taskstore.Options{})
	owned := b.own(1)
	b.enqueue(task.Task{ID: "a"}, task.Task{ID: "b"}, task.Task{ID: "c"})
	b.claim(owned...)
	b.enqueue(task.Task{ID: "d", Kind: "k"})
	var runs []task.CandidateRun
	cursor := task.Cursor{Owned: owned[0]}
	for _, want := range []task.CandidateRun{
		{Next: task.Cursor{Owned: owned[0], AfterRank: 255, AfterID: "b"}},
		{
			Candidates: []task.Candidate{{Key: task.Key{Rank: 255, ID: "d"}, Kind: "k"}},
			Next:       task.Cursor{Owned: owned[0], AfterRank: 255, AfterID: "d"},
		},
		{Next: task.Cursor{Owned: owned[0], AfterRank: 255, AfterID: "d"}, Exhausted: true},
	} {
		cost := b.cost(func() {
			var err error
			runs, err = b.store.Candidates(t.Context(), []task.Cursor{cursor}, 2)
			require.NoError(t, err)
		})
		require.Equal(t, []task.CandidateRun{want}, runs)
		require.LessOrEqual(t, cost.RowsRead, uint64(2))
		cursor = runs[0].Next
	}
}

func TestI4AnOldEpochClaimsNothing(t *testing.T) {
	t.Parallel()
	b := setup(t, taskstore.Options{})
	before := b.own(2)
	b.enqueue(task.Task{ID: "x", Kind: "k"}, task.Task{ID: "y", Kind: "k", Partition: 1})
	claimed := b.claim(before[0])
	require.Len(t, claimed, 1)
	now, err := b.store.Raise(t.Context(), []uint16{0}, "other")
	require.NoError(t, err)
	require.Greater(t, now[0], before[0].Epoch)

	b.enqueue(task.Task{ID: "free", Kind: "k"})
	keys := []task.Key{{Rank: 255, ID: "x"}, {Rank: 255, ID: "free"}, {Partition: 1, Rank: 255, ID: "y"}}
	result, err := b.store.Claim(t.Context(), request(before, keys))
	require.NoError(t, err)
	require.Equal(t, []uint16{0}, result.Stale)
	require.Len(t, result.Claimed, 1)
	require.Equal(t, "y", result.Claimed[0].ID)

	// The new owner takes the dead lock now, and the old result is refused.
	found := b.candidates(task.Owned{Partition: 0, Epoch: now[0]})
	require.Len(t, found, 2)
	require.Equal(t, "x", found[1].ID)
	require.EqualValues(t, 1, found[1].Crashes)
	taken := b.claim(task.Owned{Partition: 0, Epoch: now[0]})
	require.Len(t, taken, 2)
	require.EqualValues(t, 1, taken[1].Attempt, "no outcome was recorded")
	require.EqualValues(t, 1, taken[1].Crashes)
	held, err := b.store.Finish(t.Context(), []task.Result{finishing(claimed[0], task.OutcomeCompleted), finishing(result.Claimed[0], task.OutcomeCompleted)})
	require.NoError(t, err)
	require.Equal(t, []bool{false, true}, held)
	require.Equal(t, []string{"coordinated_tasks:locked:0"}, b.where("x"))

	promoted, err := b.store.Promote(t.Context(), before, 1)
	require.NoError(t, err)
	require.Empty(t, promoted.Stale, "nothing is due")
	b.enqueue(task.Task{ID: "z", Kind: "k", Delay: time.Microsecond}) // it is due a moment after it was delayed
	promoted, err = b.store.Promote(t.Context(), before[:1], 1)
	require.NoError(t, err)
	require.Equal(t, []uint16{0}, promoted.Stale)
	require.Empty(t, promoted.Moved)
}

func TestALockThatEndsIsDead(t *testing.T) {
	t.Parallel()
	b := setup(t, taskstore.Options{})
	owned := b.own(1)
	b.enqueue(task.Task{ID: "x", Kind: "k", Timeout: time.Millisecond})
	keys := []task.Key{{Rank: 255, ID: "x"}}
	req := request(owned, keys)
	req.Margin = time.Millisecond
	_, err := b.store.Claim(t.Context(), req)
	require.NoError(t, err)
	var taken []*task.Claimed
	require.Eventually(t, func() bool { taken = b.claim(owned...); return len(taken) == 1 }, 10*time.Second, 5*time.Millisecond)
	require.EqualValues(t, 1, taken[0].Crashes)
	require.EqualValues(t, 1, taken[0].Attempt)
}

// TestCrashesStayWithATask: an outcome, a retry and a move do not change them; a
// replay begins anew.
func TestCrashesStayWithATask(t *testing.T) {
	t.Parallel()
	b := setup(t, taskstore.Options{})
	b.enqueue(task.Task{ID: "x", Kind: "k"})
	for crashes := range 3 {
		c := b.claim(b.own(1)...)
		require.Len(t, c, 1)
		require.EqualValues(t, crashes, c[0].Crashes)
		require.EqualValues(t, 1, c[0].Attempt)
	}
	owned := b.own(1)
	claim := func() *task.Claimed {
		c := b.claim(owned...)
		require.Len(t, c, 1)
		require.EqualValues(t, 3, c[0].Crashes)
		return c[0]
	}
	for _, outcome := range []task.Outcome{task.OutcomeReleased, task.OutcomeRetry} {
		_, err := b.store.Finish(t.Context(), []task.Result{finishing(claim(), outcome)})
		require.NoError(t, err)
	}
	_, err := b.store.Promote(t.Context(), owned, 1)
	require.NoError(t, err)
	c := claim()
	require.EqualValues(t, 2, c.Attempt)
	_, err = b.store.Finish(t.Context(), []task.Result{finishing(c, task.OutcomeDead)})
	require.NoError(t, err)
	dead, err := b.store.Dead(t.Context(), "", task.Key{}, 10)
	require.NoError(t, err)
	require.Len(t, dead, 1)
	require.EqualValues(t, 3, dead[0].Crashes)
	require.EqualValues(t, 2, dead[0].Attempt)
	_, err = b.store.Replay(t.Context(), []task.Key{dead[0].Key})
	require.NoError(t, err)
	again := b.claim(owned...)[0]
	require.EqualValues(t, 0, again.Crashes)
	require.EqualValues(t, 1, again.Attempt)
}

func TestRaiseOnlyRises(t *testing.T) {
	t.Parallel()
	b := setup(t, taskstore.Options{})
	last := map[uint16]uint64{}
	for range 5 {
		epochs, err := b.store.Raise(t.Context(), []uint16{3, 4, 15}, "w")
		require.NoError(t, err)
		require.Len(t, epochs, 3)
		for p, e := range epochs {
			require.Equal(t, last[p]+1, e)
		}
		last = epochs
	}
	fences, err := b.store.Partitions(t.Context())
	require.NoError(t, err)
	require.Len(t, fences, 3, "those that were ever owned")
	for _, f := range fences {
		require.Equal(t, last[f.Partition], f.Epoch)
		require.Equal(t, "w", f.Owner)
		require.WithinDuration(t, time.Now(), f.AcquiredAt, time.Minute)
	}
	settings, err := b.store.Settings(t.Context())
	require.NoError(t, err)
	require.Contains(t, settings, "partitions")
	t.Log(settings)
}
