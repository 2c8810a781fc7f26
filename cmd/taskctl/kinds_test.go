package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/internal/cli"
	"github.com/taskfleet/taskfleet/pkg/rebalancer"
	"github.com/taskfleet/taskfleet/pkg/task"
)

func TestKindsThatNobodyHandles(t *testing.T) {
	t.Parallel()
	worker := func(kinds ...string) rebalancer.Worker { return rebalancer.Worker{ID: "w", Session: 1, Kinds: kinds} }
	tasks := map[string]task.Runnable{"http": {Pending: 2}, "mail": {Pending: 5}, "sms": {Pending: 9}}
	for _, c := range []struct {
		name       string
		workers    []rebalancer.Worker
		unreadable bool
		want       string // kinds with their answers, in order
	}{
		{"all say what they handle", []rebalancer.Worker{worker("http"), worker("http", "mail")}, false, "sms no 0, mail yes 1, http yes 2"},
		{"nobody runs", nil, false, "sms no 0, mail no 0, http no 0"},
		{"one that is gone", []rebalancer.Worker{{ID: "w", State: rebalancer.StateGone}}, false, "sms no 0, mail no 0, http no 0"},
		{"an old worker says nothing", []rebalancer.Worker{worker("http"), worker()}, false, "sms unknown 0, mail unknown 0, http yes 1"},
		{
			"one handles more than it says",
			[]rebalancer.Worker{{Session: 1, Kinds: []string{"http"}, KindsCut: true}},
			false, "sms unknown 0, mail unknown 0, http yes 1",
		},
		{"the workers cannot be read", nil, true, "sms unknown 0, mail unknown 0, http unknown 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, r := range newKindReports(tasks, c.workers, !c.unreadable) {
				got = append(got, strings.Join([]string{r.Kind, r.Handled, string(rune('0' + r.Workers))}, " "))
			}
			require.Equal(t, c.want, strings.Join(got, ", "))
		})
	}
}

func TestStatsNameKindsThatNobodyHandles(t *testing.T) {
	t.Parallel()
	f := newTestFleet(t)
	_, err := f.store.Enqueue(t.Context(), task.Batch{ID: "b", Tasks: []task.Task{
		{ID: "1", Kind: "http"}, {ID: "2", Kind: "push-event"}, {ID: "3", Kind: "push-event"}, {ID: "4", Kind: "a\nb"},
	}})
	require.NoError(t, err)
	f.join("new", 1, "http", "sqs")
	f.await("it joins", func(r fleetReport) bool { return r.Unowned == 0 })
	handled := func() map[string]string {
		code, stdout, stderr := f.taskctl("stats", "--json")
		require.Equal(t, cli.ExitOK, code, stderr)
		var r statsReport
		require.NoError(t, json.Unmarshal([]byte(stdout), &r))
		answers := make(map[string]string)
		for _, k := range r.Kinds {
			answers[k.Kind] = k.Handled
		}
		return answers
	}
	require.Equal(t, map[string]string{"http": "yes", "push-event": "no", "a\nb": "no"}, handled())
	_, stdout, _ := f.taskctl("stats")
	require.Regexp(t, `push-event +2 +0 +\S+ +NOBODY`, stdout)
	require.Regexp(t, `"a\\nb" +1 +0 +\S+ +NOBODY`, stdout)
	require.Regexp(t, `http +1 +0 +\S+ +1 workers`, stdout)
	_, stdout, _ = f.taskctl("fleet")
	require.Contains(t, stdout, "http,sqs")

	f.join("old", 1)
	r := f.await("it joins", func(r fleetReport) bool { return len(r.Workers) == 2 })
	require.Equal(t, [][]string{{"http", "sqs"}, nil}, [][]string{r.Workers[0].Kinds, r.Workers[1].Kinds})
	require.Equal(t, map[string]string{"http": "yes", "push-event": "unknown", "a\nb": "unknown"}, handled())
}

func TestKindsOfAWorkerInATable(t *testing.T) {
	t.Parallel()
	require.Equal(t, "-", kindsColumn(nil, false))
	require.Equal(t, "a,b", kindsColumn([]string{"a", "b"}, false))
	require.Equal(t, "a,b,c,d,+2", kindsColumn([]string{"a", "b", "c", "d", "e", "f"}, false))
	require.Equal(t, "a,...", kindsColumn([]string{"a"}, true))
	require.Equal(t, `"a b","\x1b[2J"`, kindsColumn([]string{"a b", "\x1b[2J"}, false))
}
