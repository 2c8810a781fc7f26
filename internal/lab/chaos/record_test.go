package chaos

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/internal/lab/journal"
)

// told is a journal's line of a process whose clock is 10 s fast.
func told(t *testing.T, r *Recorder, seconds float64, e journal.Event) {
	t.Helper()
	e.At = at(seconds + 10)
	line, err := json.Marshal(e)
	require.NoError(t, err)
	r.Line(Spec{Name: "w", Offset: 10 * time.Second}, string(line))
}

func TestARecordJoinsBeginsAndEnds(t *testing.T) {
	t.Parallel()
	r := NewRecorder(4)
	r.Line(Spec{Name: "w"}, `{"at":"half a li`)
	told(t, r, 1, journal.Event{Op: journal.Enqueue, ID: "b1", Tasks: []string{"t1"}})
	told(t, r, 2, journal.Event{Op: journal.Enqueue, ID: "b2", Tasks: []string{"t2"}})
	told(t, r, 3, journal.Event{Op: journal.Enqueue, ID: "b1", End: true, Error: "lost answer"})
	told(t, r, 4, journal.Event{Op: journal.Enqueue, ID: "b1", Tasks: []string{"t1"}})
	told(t, r, 5, journal.Event{Op: journal.Enqueue, ID: "b1", End: true})
	told(t, r, 6, journal.Event{Op: journal.Own, ID: "1", Partitions: []journal.Partition{{ID: 3, Epoch: 7}}})
	told(t, r, 7, journal.Event{Op: journal.Own, ID: "2", Partitions: []journal.Partition{{ID: 2, Epoch: 8}}})
	require.Equal(t, 2, r.Owned())
	told(t, r, 8, journal.Event{Op: journal.Own, ID: "1", End: true, Partitions: []journal.Partition{{ID: 3, Epoch: 7}}})
	require.Equal(t, 1, r.Owned())
	r.Gone("w")
	require.Zero(t, r.Owned())
	told(t, r, 9, journal.Event{Op: journal.Raise, ID: "3"})
	told(t, r, 10, journal.Event{Op: journal.Raise, ID: "3", End: true, Partitions: []journal.Partition{{ID: 3, Epoch: 7}}})
	lock := journal.Lock{Task: "t1", Partition: 3, Epoch: 7, Lock: "l1", Attempt: 1}
	told(t, r, 11, journal.Event{Op: journal.Claim, ID: "c"})
	told(t, r, 12, journal.Event{Op: journal.Claim, ID: "c", End: true, Error: "lost answer"})
	told(t, r, 13, journal.Event{Op: journal.Claim, ID: "c"})
	told(t, r, 14, journal.Event{Op: journal.Claim, ID: "c", End: true, Locks: []journal.Lock{lock}})
	told(t, r, 15, journal.Event{Op: journal.Claim, ID: "c", End: true, Locks: []journal.Lock{lock}})
	results := []journal.Result{{Task: "t1", Lock: "l1", Outcome: "completed"}, {Task: "t2", Lock: "l2", Outcome: "retry"}}
	told(t, r, 16, journal.Event{Op: journal.Finish, ID: "4", Results: results})
	told(t, r, 17, journal.Event{Op: journal.Finish, ID: "4", End: true, Results: results, Error: "lost answer"})
	told(t, r, 18, journal.Event{Op: journal.Finish, ID: "5", Results: results})
	held := []journal.Result{results[0], results[1]}
	held[1].Held = true
	told(t, r, 19, journal.Event{Op: journal.Finish, ID: "5", End: true, Results: held})

	h := r.History()
	same := func(want, got any) {
		t.Helper()
		wanted, err := json.Marshal(want)
		require.NoError(t, err)
		have, err := json.Marshal(got)
		require.NoError(t, err)
		require.JSONEq(t, string(wanted), string(have))
	}
	same([]Enqueue{{"w", at(1), at(5), []string{"t1"}}, {"w", at(2), time.Time{}, []string{"t2"}}}, h.Enqueues)
	same([]Tenure{{"w", at(6), at(8), 3, 7}, {"w", at(7), time.Time{}, 2, 8}}, h.Tenures)
	same([]Raise{{"w", at(9), at(10), 3, 7}}, h.Raises)
	same([]Claim{{"w", at(11), at(14), 3, 7, "t1", "l1", 1}}, h.Claims)
	same([]Outcome{
		{"w", at(16), time.Time{}, "t1", "l1", "completed", false},
		{"w", at(16), time.Time{}, "t2", "l2", "retry", false},
		{"w", at(18), at(19), "t1", "l1", "completed", false},
		{"w", at(18), at(19), "t2", "l2", "retry", true},
	}, h.Outcomes)
}
