package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/internal/cli"
	"github.com/taskfleet/taskfleet/pkg/task"
)

// withDead is a fleet with n dead tasks d0, d1.. of the kinds http and sqs in turn.
func withDead(t *testing.T, n int) *testFleet {
	t.Helper()
	f := newTestFleet(t)
	store := f.store
	batch := task.Batch{ID: "batch"}
	claim := task.ClaimRequest{ID: "claim", Owner: "w"}
	epochs, err := store.Raise(t.Context(), []uint16{0, 1, 2, 3}, "w")
	require.NoError(t, err)
	for p, epoch := range epochs {
		claim.Owned = append(claim.Owned, task.Owned{Partition: p, Epoch: epoch})
	}
	for i := range n {
		d := task.Task{ID: fmt.Sprintf("d%d", i), Kind: []string{"http", "sqs"}[i%2], Partition: uint16(i % 4)}
		batch.Tasks = append(batch.Tasks, d)
		claim.Keys = append(claim.Keys, task.Key{Partition: d.Partition, Rank: task.Rank(0), ID: d.ID})
	}
	_, err = store.Enqueue(t.Context(), batch)
	require.NoError(t, err)
	claimed, err := store.Claim(t.Context(), claim)
	require.NoError(t, err)
	var results []task.Result
	for _, c := range claimed.Claimed {
		results = append(results, task.Result{Key: c.Key, LockValue: c.LockValue, Epoch: c.Epoch, Outcome: task.OutcomeDead, Attempt: c.Attempt, Error: "broken\x1b[31m\n" + c.ID})
	}
	require.Len(t, results, n)
	_, err = store.Finish(t.Context(), results)
	require.NoError(t, err)
	return f
}

func TestDeadTasksAreListedAndReplayed(t *testing.T) {
	t.Parallel()
	f := withDead(t, 9)
	list := func(args ...string) (ids []string) {
		code, out, stderr := f.taskctl(append([]string{"dead", "list", "--json"}, args...)...)
		require.Zero(t, code, stderr)
		for decoder := json.NewDecoder(strings.NewReader(out)); decoder.More(); {
			var r deadReport
			require.NoError(t, decoder.Decode(&r))
			require.EqualValues(t, 1, r.Attempts)
			require.Contains(t, r.LastError, "broken")
			ids = append(ids, r.ID)
		}
		return ids
	}
	require.ElementsMatch(t, []string{"d0", "d1", "d2", "d3", "d4", "d5", "d6", "d7", "d8"}, list())
	require.ElementsMatch(t, []string{"d1", "d3", "d5", "d7"}, list("--kind", "sqs"))
	require.Len(t, list("--limit", "2"), 2)
	require.ElementsMatch(t, []string{"d1"}, list("--id", "d1", "--id", "unknown"))

	code, out, _ := f.taskctl("dead", "list", "--id", "d1")
	require.Zero(t, code)
	require.Contains(t, out, "  d1  sqs  attempts 1  broken [31m d1\n1 dead tasks\n")

	for _, step := range []struct {
		args []string
		out  string
		left int
	}{
		{[]string{"--id", "d0"}, "1 tasks are runnable again\n", 8},
		{[]string{"--kind", "sqs", "--limit", "3"}, "3 tasks are runnable again\n", 5},
		{[]string{"--kind", "sqs", "--json"}, "\"id\":\"d", 4},
		{[]string{"--all", "--limit", "0"}, "4 tasks are runnable again\n", 0},
		{[]string{"--all"}, "0 tasks are runnable again\n", 0},
	} {
		code, out, stderr := f.taskctl(append([]string{"dead", "replay"}, step.args...)...)
		require.Zero(t, code, stderr)
		require.Contains(t, out, step.out)
		require.Len(t, list(), step.left)
	}
	stats, err := f.store.Stats(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 9, stats.Pending)
	require.Zero(t, stats.Dead)
}

func TestDeadNeedsToKnowWhich(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "say list, replay"},
		{[]string{"bury"}, "say list, replay"},
		{[]string{"replay"}, "say which tasks: --kind, --id or --all"},
		{[]string{"replay", "--all", "--kind", "x"}, "--all cannot stand with --kind"},
		{[]string{"list", "--limit", "-1"}, "--limit -1: must not be negative"},
		{[]string{"list", "extra"}, "say list, replay"},
	} {
		code, _, stderr := taskctl(t, append([]string{"dead"}, c.args...)...)
		require.Equal(t, cli.ExitUsage, code)
		require.Contains(t, stderr, c.want)
	}
	code, out, _ := taskctl(t, "dead", "--help")
	require.Zero(t, code)
	require.Contains(t, out, "taskctl dead replay --kind sqs")
}
