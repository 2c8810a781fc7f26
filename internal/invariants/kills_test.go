package invariants

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/ydb-platform/ydb-go-sdk/v3/query"

	"github.com/taskfleet/taskfleet/pkg/task"
)

// TestI1I5KilledServerKeepsAcknowledgedBatches kills the database with SIGKILL
// while producers write and workers work. Batches are repeated until they are
// acknowledged; each is stored once.
func TestI1I5KilledServerKeepsAcknowledgedBatches(t *testing.T) {
	t.Parallel()
	b := startProcesses(t)
	b.workers(2)
	const rounds, perRound = 20, 50
	acknowledged := make(chan []string, rounds)
	failed := make(chan error, 1)
	go func() {
		defer close(acknowledged)
		for range rounds {
			tasks := make([]task.Task, perRound)
			for i := range tasks {
				tasks[i] = task.Task{Payload: payload(b.Sink.URL())}
			}
			result, err := b.producer.Enqueue(t.Context(), tasks...) // repeats its batch until ctx ends
			if err != nil {
				failed <- err
				return
			}
			acknowledged <- result.IDs
		}
	}()
	var ids []string
	kills := 0
	for got := range acknowledged {
		ids = append(ids, got...)
		if len(ids)%(5*perRound) == 0 && len(ids) < rounds*perRound {
			require.NoError(t, b.RestartServer(t.Context()))
			kills++
		}
	}
	select {
	case err := <-failed:
		t.Fatal(err)
	default:
	}
	require.Len(t, ids, rounds*perRound)
	require.Positive(t, kills)
	stats := b.drained()
	require.EqualValues(t, len(ids), stats.Completed)
	places, err := b.store.Places(t.Context())
	require.NoError(t, err)
	var stored []string
	for _, p := range places {
		stored = append(stored, p.ID)
	}
	require.ElementsMatch(t, ids, stored, "what was acknowledged, each once")
}

// TestI6StalledWorkerStops stops a worker's process for longer than its session
// lives. The others take its partitions; when it wakes it records nothing for
// what it had claimed, and joins again.
func TestI6StalledWorkerStops(t *testing.T) {
	t.Parallel()
	b := startProcesses(t)
	names := b.workers(2)
	b.Sink.Hold()
	tasks := make([]task.Task, 50) // one worker can run them all
	for i := range tasks {
		tasks[i] = task.Task{Payload: payload(b.Sink.URL())}
	}
	_, err := b.producer.Enqueue(t.Context(), tasks...)
	require.NoError(t, err)
	b.eventually("both workers deliver", func() bool {
		return len(b.locksOf(names[0]))+len(b.locksOf(names[1])) == len(tasks)
	})
	lost := b.locksOf(names[0]) // the claims of the worker that is about to stall
	require.NotEmpty(t, lost)
	require.NoError(t, b.StallWorker(names[0]))
	// A claim is lost when its lock is another's. Until then its outcome counts,
	// wherever it comes from.
	b.eventually("the other worker has claimed everything", func() bool { return len(b.locksOf(names[1])) == len(tasks) })
	b.Sink.LetGo()
	require.NoError(t, b.WakeWorker(names[0]))
	b.balanced()
	stats := b.drained()
	require.EqualValues(t, len(tasks), stats.Completed)
	b.rows("SELECT lock_value FROM completed_tasks", func(row query.Row) error {
		var lock string
		err := row.Scan(&lock)
		require.NotContains(t, lost, lock, "the woken worker has recorded a claim that it had lost")
		return err
	})
}

// locksOf returns the lock values of the tasks that the worker has claimed.
func (b *processes) locksOf(worker string) (locks []string) {
	b.t.Helper()
	b.rows(`SELECT lock_value, lock_owner FROM coordinated_tasks WHERE status = "locked"u`, func(row query.Row) error {
		var lock, owner string
		err := row.Scan(&lock, &owner)
		if owner == worker {
			locks = append(locks, lock)
		}
		return err
	})
	return locks
}
