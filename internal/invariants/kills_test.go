package invariants

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/ydb-platform/ydb-go-sdk/v3/query"

	"github.com/taskfleet/taskfleet/pkg/task"
	"github.com/taskfleet/taskfleet/pkg/taskproducer"
)

const everywhere = `
SELECT id FROM coordinated_tasks UNION ALL SELECT id FROM delayed_tasks
UNION ALL SELECT id FROM completed_tasks UNION ALL SELECT id FROM dead_tasks`

// TestI1I2I3KilledWorkersLoseNothing kills workers with SIGKILL in the middle of
// their work, one after the other. Every acknowledged task is delivered and has
// exactly one recorded outcome, and at every snapshot each is in one table.
func TestI1I2I3KilledWorkersLoseNothing(t *testing.T) {
	t.Parallel()
	b := startProcesses(t)
	names := b.workers(3)
	var ids []string
	enqueue := func(n int) {
		tasks := make([]task.Task, n)
		for i := range tasks {
			tasks[i] = task.Task{Payload: payload(b.Sink.URL()), Priority: uint8(i)}
			if i%10 == 0 {
				tasks[i].Delay = time.Second
			}
		}
		result, err := b.producer.Enqueue(t.Context(), tasks...)
		require.NoError(t, err)
		ids = append(ids, result.IDs...)
	}
	enqueue(500)
	for _, victim := range names[:2] {
		delivered, _, _ := b.Sink.Counts()
		enqueue(500)
		b.eventually("the fleet works on the new tasks", func() bool {
			now, _, _ := b.Sink.Counts()
			return now > delivered+50
		})
		require.NoError(t, b.KillWorker(victim))
		b.inOneTableEach(ids)
		_, err := b.StartWorker("--session-timeout", sessionTimeout.String())
		require.NoError(t, err)
	}
	stats := b.drained()
	require.EqualValues(t, len(ids), stats.Completed)
	require.Zero(t, stats.Dead)
	for _, id := range ids {
		require.Positive(t, b.Sink.Deliveries(id), "task %s was never delivered", id)
	}
	b.inOneTableEach(ids)
}

// inOneTableEach holds, in one snapshot, that each of the tasks is in exactly one table.
func (b *processes) inOneTableEach(ids []string) {
	b.t.Helper()
	places := map[string]int{}
	b.rows(everywhere, func(row query.Row) error {
		var id string
		err := row.Scan(&id)
		places[id]++
		return err
	})
	for _, id := range ids {
		require.Equal(b.t, 1, places[id], "task %s: tables", id)
	}
}

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
	require.EqualValues(t, len(ids), stats.Completed+stats.Dead)
	require.Zero(t, stats.Dead)
	b.inOneTableEach(ids)
}

// TestI4EpochsOnlyRise follows the epochs and the locks of all partitions while
// workers are killed and started: an epoch never falls, and under one epoch only
// one worker holds locks.
func TestI4EpochsOnlyRise(t *testing.T) {
	t.Parallel()
	b := startProcesses(t)
	names := b.workers(3)
	b.Sink.Hold() // locks stay visible while deliveries wait
	tasks := make([]task.Task, 300)
	for i := range tasks {
		tasks[i] = task.Task{Payload: payload(b.Sink.URL())}
	}
	_, err := b.producer.Enqueue(t.Context(), tasks...)
	require.NoError(t, err)

	epochs := map[uint16]uint64{}
	type claim struct {
		partition uint16
		epoch     uint64
	}
	owners := map[claim]string{}
	locked := 0
	look := func() {
		b.rows("SELECT partition_id, epoch FROM partitions", func(row query.Row) error {
			var partition uint16
			var epoch uint64
			err := row.Scan(&partition, &epoch)
			require.GreaterOrEqual(t, epoch, epochs[partition], "epoch of partition %d", partition)
			epochs[partition] = epoch
			return err
		})
		b.rows(`SELECT partition_id, lock_epoch, lock_owner FROM coordinated_tasks WHERE status = "locked"u`, func(row query.Row) error {
			var c claim
			var owner string
			err := row.Scan(&c.partition, &c.epoch, &owner)
			if first, seen := owners[c]; seen {
				require.Equal(t, first, owner, "partition %d, epoch %d", c.partition, c.epoch)
			}
			owners[c] = owner
			locked++
			return err
		})
	}
	b.eventually("tasks are locked", func() bool { look(); return locked > 0 })
	require.NoError(t, b.KillWorker(names[0]))
	b.eventually("the partitions of the killed worker are owned again", func() bool {
		look()
		return b.Ownership.Owned() == partitions
	})
	_, err = b.StartWorker("--session-timeout", sessionTimeout.String())
	require.NoError(t, err)
	b.Sink.LetGo()
	b.balanced()
	b.drained()
	look()
	raised := 0
	for _, epoch := range epochs {
		if epoch > 1 {
			raised++
		}
	}
	require.Positive(t, raised, "no partition changed hands")
}

// TestI5KilledProducerCanRunAgain kills a producer in the middle of its input
// and runs it again over the whole of it: each line is one task.
func TestI5KilledProducerCanRunAgain(t *testing.T) {
	t.Parallel()
	b := startProcesses(t)
	const lines = 30_000
	input := b.input(lines)
	first, err := b.StartProducer(nil, "--input", input)
	require.NoError(t, err)
	b.eventually("a part is stored", func() bool {
		stats, err := b.store.Stats(t.Context())
		return err == nil && stats.Pending > 0
	})
	first.Kill()
	second, err := b.StartProducer(nil, "--input", input)
	require.NoError(t, err)
	<-second.Done()
	require.NoError(t, second.Err(), second.Tail())
	stats, err := b.store.Stats(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, lines, stats.Pending)
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

// TestI8KilledWorkersPartitionsAreOwnedAgain holds the time that a partition may
// be without an owner after a crash: the session timeout plus two seconds.
func TestI8KilledWorkersPartitionsAreOwnedAgain(t *testing.T) {
	t.Parallel()
	b := startProcesses(t)
	names := b.workers(3)
	require.NoError(t, b.KillWorker(names[2]))
	b.balanced()
	took := b.Ownership.MaxUnowned(time.Now())
	require.Less(t, took, sessionTimeout+2*time.Second)
	require.Greater(t, took, time.Second, "nobody noticed the kill")
}

// TestI9StopBurnsNoAttempt asks workers to end while their tasks run. Every task
// completes, in its first attempt, and once.
func TestI9StopBurnsNoAttempt(t *testing.T) {
	t.Parallel()
	b := startProcesses(t)
	names := b.workers(3)
	const n = 1500
	tasks := make([]task.Task, n)
	for i := range tasks {
		tasks[i] = task.Task{Payload: payload(b.Sink.URL())}
	}
	result, err := b.producer.Enqueue(t.Context(), tasks...)
	require.NoError(t, err)
	require.Equal(t, taskproducer.Result{IDs: result.IDs, Enqueued: n}, result)
	for _, name := range names[:2] {
		before, _, _ := b.Sink.Counts()
		b.eventually("tasks run", func() bool {
			now, _, _ := b.Sink.Counts()
			return now > before || now == n
		})
		require.NoError(t, b.StopWorker(name))
	}
	stats := b.drained()
	require.EqualValues(t, n, stats.Completed)
	distinct, deliveries, _ := b.Sink.Counts()
	require.Equal(t, n, distinct)
	require.Equal(t, n, deliveries, "a task was delivered twice although nothing was killed")
	b.rows("SELECT id, attempt FROM completed_tasks WHERE attempt != 1u", func(row query.Row) error {
		var id string
		var attempt uint32
		if err := row.Scan(&id, &attempt); err != nil {
			return err
		}
		return fmt.Errorf("task %s completed in attempt %d", id, attempt)
	})
}
