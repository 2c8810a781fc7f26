package taskstore

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/pkg/task"
)

// TestRowsInAnyOrderAreARun: SQL promises no order over UNION ALL.
func TestRowsInAnyOrderAreARun(t *testing.T) {
	t.Parallel()
	cursor := task.Cursor{Owned: task.Owned{Partition: 7, Epoch: 5}}
	var rows []runnable
	var want []task.Candidate
	for rank := range uint8(3) {
		for i, r := range []runnable{
			{},
			{locked: true, lockEpoch: 5},
			{locked: true, lockEpoch: 4},
			{locked: true, lockEpoch: 5, late: true},
			{lockEpoch: 5}, // given back
		} {
			r.Key = task.Key{Partition: 7, Rank: rank, ID: fmt.Sprint("t", i)}
			r.Crashes = uint32(i)
			rows = append(rows, r)
			if i == 1 {
				continue
			}
			if r.locked {
				r.Crashes++
			}
			want = append(want, r.Candidate)
		}
	}
	for range 5 {
		rand.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		run := runOf(cursor, rows, len(rows))
		require.Equal(t, task.CandidateRun{
			Candidates: want, Next: task.Cursor{Owned: cursor.Owned, AfterRank: 2, AfterID: "t4"},
		}, run)
	}
	require.Equal(t, task.CandidateRun{Next: cursor, Exhausted: true}, runOf(cursor, nil, 1))
}
