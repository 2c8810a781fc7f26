package taskstore_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/taskfleet/taskfleet/internal/taskstore"
	"github.com/taskfleet/taskfleet/pkg/task"
)

// largest is a task as large as validation admits. Its headers take six bytes in
// JSON for each byte, and 1000 names.
func largest(t *testing.T, i int) task.Task {
	headers := map[string]string{}
	for n := range task.MaxNames {
		name := []byte("\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01")
		for at := range name {
			name[at] += byte(n >> at & 1)
		}
		headers[string(name)] = strings.Repeat("<", task.MaxHeaders/task.MaxNames-len(name))
	}
	largest := task.Task{
		ID: fmt.Sprintf("%0*d", task.MaxID, i), IDGiven: true, Kind: strings.Repeat("k", task.MaxKind),
		PartitionKey: strings.Repeat("p", task.MaxKey), Payload: make([]byte, task.MaxPayload), Headers: headers,
		MaxAttempts: task.MaxAttempts, Timeout: task.MaxTimeout,
	}
	require.NoError(t, largest.Validate())
	require.Len(t, headers, task.MaxNames)
	return largest
}

// TestABatchOfTheLargestTasksFits: 128 of them, which is what a worker claims and
// finishes, stay within what YDB returns (48 MiB), holds between the steps of a
// query (48 MiB), and takes as parameters (50 MB). Sizes are linear, so that a few
// tasks show it.
func TestABatchOfTheLargestTasksFits(t *testing.T) {
	t.Parallel()
	const tasks, batch, limit, params = 4, 128, 48 << 20, 50_000_000
	b := setup(t, taskstore.Options{})
	var recorded requests
	store, _ := recorded.store(b)
	owned := b.own(1)
	var sent []task.Task
	var keys []task.Key
	for i := range tasks {
		sent = append(sent, largest(t, i))
		keys = append(keys, task.Key{Rank: 255, ID: sent[i].ID})
	}
	b.enqueue(sent...)
	for _, outcome := range []task.Outcome{task.OutcomeRetry, task.OutcomeDead} {
		recorded.take()
		recorded.received = 0
		before := store.Usage()
		claimed, err := store.Claim(t.Context(), request(owned, keys))
		require.NoError(t, err)
		require.Len(t, claimed.Claimed, tasks)
		require.LessOrEqual(t, recorded.received, limit/batch*tasks, "the result of a claim")
		t.Logf("a task takes %d of %d bytes", recorded.received/tasks, limit/batch)
		require.Less(t, int(store.Usage().Sub(before).BytesRead), limit/batch*tasks, "what a claim holds")
		var results []task.Result
		for _, c := range claimed.Claimed {
			r := finishing(c, outcome)
			r.Error = strings.Repeat("e", 2*task.MaxError)
			results = append(results, r)
		}
		before = store.Usage()
		held, err := store.Finish(t.Context(), results)
		require.NoError(t, err)
		require.NotContains(t, held, false)
		// What a finish holds is the row and the new error.
		require.Less(t, int(store.Usage().Sub(before).BytesRead)+tasks*task.MaxError, limit/batch*tasks, "what a finish holds")
		for _, request := range recorded.take() {
			require.LessOrEqual(t, proto.Size(request), params/batch*tasks)
		}
		_, err = store.Promote(t.Context(), owned, tasks) // after the retry
		require.NoError(t, err)
	}
}
