package taskstore_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/internal/taskstore"
	"github.com/taskfleet/taskfleet/internal/testdb"
	"github.com/taskfleet/taskfleet/internal/ydbconn"
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

// TestTheLargestTasksFit sends the largest tasks, in the longest folder, through
// everything that the product does with them, in its largest batches. YDB and
// ydbembed refuse what is too large: parameters above 50 MB, 48 MiB of results or
// between two steps of a query, 8 MiB of a row.
func TestTheLargestTasksFit(t *testing.T) {
	t.Parallel()
	const (
		claim  = 128 // taskworker.Config.ClaimBatch
		finish = 96  // that, in the worker's bound for the payloads of one record, 24 MiB
	)
	d := testdb.Open(t)
	d.Folder += strings.Repeat("f", 162)
	require.NoError(t, ydbconn.CheckFolder(d.Folder))
	require.Error(t, ydbconn.CheckFolder(d.Folder+"f"))
	b := setupOn(t, d, taskstore.Options{})
	var recorded requests
	store, _ := recorded.store(b)
	owned := b.own(1)

	var sent []task.Task
	var keys []task.Key
	for size := 0; ; {
		one := largest(t, len(sent))
		if size += taskstore.EnqueueSize(&one); size > taskstore.MaxEnqueueBytes {
			break
		}
		sent = append(sent, one)
		keys = append(keys, task.Key{Rank: 255, ID: one.ID})
	}
	b.enqueue(sent...)
	require.Greater(t, len(keys), claim)
	message := strings.Repeat("e", task.MaxError)
	record := func(keys []task.Key, outcomes ...task.Outcome) {
		t.Helper()
		recorded.take()
		recorded.received = 0
		claimed, err := store.Claim(t.Context(), request(owned, keys))
		require.NoError(t, err)
		require.Len(t, claimed.Claimed, len(keys))
		t.Logf("a claim of %d tasks returns %d of %d bytes", len(keys), recorded.received, 48<<20)
		for batch := range slices.Chunk(claimed.Claimed, finish) {
			var results []task.Result
			for i, c := range batch {
				r := finishing(c, outcomes[i%len(outcomes)])
				r.Error = message
				results = append(results, r)
			}
			held, err := store.Finish(t.Context(), results)
			require.NoError(t, err)
			require.NotContains(t, held, false)
		}
	}
	record(keys[:claim], task.OutcomeRetry)
	for moved := 0; moved < claim; {
		result, err := store.Promote(t.Context(), owned, 4096)
		require.NoError(t, err)
		require.Empty(t, result.Buried)
		require.Positive(t, result.Moved[0])
		moved += result.Moved[0]
	}
	// Their rows have an error now, too.
	record(keys[:claim], task.OutcomeDead, task.OutcomeCompleted, task.OutcomeDead, task.OutcomeReleased)
	dead, err := store.Dead(t.Context(), "", task.Key{}, claim)
	require.NoError(t, err)
	require.Len(t, dead, claim/2)
	var all []task.Key
	for _, d := range dead {
		all = append(all, d.Key)
	}
	replayed, err := store.Replay(t.Context(), all)
	require.NoError(t, err)
	require.Len(t, replayed, claim/2)

	last := keys[len(keys)-2:]
	buried, err := store.Bury(t.Context(), owned[0], last[0], message)
	require.NoError(t, err)
	require.True(t, buried)
	record(last[1:], task.OutcomeRetry)
	due, err := taskstore.BuryDue(t.Context(), store, owned[0], message)
	require.NoError(t, err)
	require.Len(t, due, 1)
}
