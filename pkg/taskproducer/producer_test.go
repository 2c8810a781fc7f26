package taskproducer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/ydb-platform/ydb-go-sdk/v3/query"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/taskfleet/taskfleet/internal/taskstore"
	"github.com/taskfleet/taskfleet/pkg/task"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memory is a store that keeps batches by id, as the real one does.
type memory struct {
	mu      sync.Mutex
	batches []task.Batch
	seen    map[string]bool
	before  func(ctx context.Context, call int) error // of each call, from 1; an error is the answer
	after   func(call int) error                      // the answer, after the batch was stored
	calls   int
}

func (m *memory) Enqueue(ctx context.Context, batch task.Batch) (task.EnqueueResult, error) {
	m.mu.Lock()
	m.calls++
	call := m.calls
	m.mu.Unlock()
	if m.before != nil {
		if err := m.before(ctx, call); err != nil {
			return task.EnqueueResult{}, err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	result := task.EnqueueResult{Enqueued: len(batch.Tasks), Replayed: m.seen[batch.ID]}
	if !result.Replayed {
		if m.seen == nil {
			m.seen = map[string]bool{}
		}
		m.seen[batch.ID] = true
		m.batches = append(m.batches, batch)
	}
	if m.after != nil {
		if err := m.after(call); err != nil {
			return task.EnqueueResult{}, err
		}
	}
	return result, nil
}

func (m *memory) tasks() []task.Task {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []task.Task
	for _, b := range m.batches {
		all = append(all, b.Tasks...)
	}
	return all
}

// counter is an observer that adds up.
type counter struct {
	mu                                           sync.Mutex
	batches, tasks, failed, invalid, backpressed int
}

func (c *counter) add(n *int, by int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	*n += by
}

func (c *counter) Enqueued(b task.Batch, _ task.EnqueueResult, _ time.Duration) {
	c.add(&c.batches, 1)
	c.add(&c.tasks, len(b.Tasks))
}
func (c *counter) Failed(int, time.Duration, error) { c.add(&c.failed, 1) }
func (c *counter) Invalid(string)                   { c.add(&c.invalid, 1) }
func (c *counter) Backpressure(int)                 { c.add(&c.backpressed, 1) }

func setup(t testing.TB, store Store, cfg Config) (*Producer, *counter) {
	t.Helper()
	counts := &counter{}
	cfg.Observer = counts
	if cfg.Partitions == 0 {
		cfg.Partitions = 256
	}
	p, err := New(store, cfg)
	require.NoError(t, err)
	return p, counts
}

func TestEnqueueFillsIn(t *testing.T) {
	t.Parallel()
	store := &memory{}
	p, counts := setup(t, store, Config{})
	result, err := p.Enqueue(t.Context(),
		task.Task{Payload: []byte("a")},
		task.Task{ID: "mine", Kind: "mail", PartitionKey: "customer-7"},
	)
	require.NoError(t, err)
	require.Equal(t, 2, result.Enqueued)
	require.Equal(t, 2, counts.tasks)

	stored := store.tasks()
	require.Len(t, stored, 2)
	require.Len(t, stored[0].ID, 36)
	require.False(t, stored[0].IDGiven)
	require.Equal(t, task.DefaultKind, stored[0].Kind)
	require.Equal(t, task.PartitionOf(stored[0].ID, 256), stored[0].Partition)
	require.Equal(t, []string{stored[0].ID, "mine"}, result.IDs)
	require.True(t, stored[1].IDGiven)
	require.Equal(t, "mail", stored[1].Kind)
	require.Equal(t, task.PartitionOf("customer-7", 256), stored[1].Partition)
}

// TestI10InvalidTasksDoNotStopTheOthers is invariant I10 for the library.
func TestI10InvalidTasksDoNotStopTheOthers(t *testing.T) {
	t.Parallel()
	store := &memory{}
	p, counts := setup(t, store, Config{})
	result, err := p.Enqueue(t.Context(),
		task.Task{ID: "a"},
		task.Task{Payload: make([]byte, task.MaxPayload+1), Timeout: -1},
		task.Task{ID: "c"},
		task.Task{Delay: time.Second, RunAt: time.Unix(1, 0)},
	)
	require.ErrorIs(t, err, task.ErrInvalid)
	require.ErrorContains(t, err, "task 1: payload of 262145 bytes: must have at most 262144 bytes")
	require.ErrorContains(t, err, "task 3: delay: cannot stand with run_at")
	require.Equal(t, Result{IDs: []string{"a", "", "c", ""}, Enqueued: 2, Invalid: 2}, result)
	require.Len(t, store.tasks(), 2)
	require.Equal(t, 2, counts.invalid)
	var failed *BatchError
	require.NotErrorAs(t, err, &failed)
}

// TestI5RetriesSendTheSameBatch is invariant I5 for the producer: an answer that
// is lost is asked for again with the same batch, which the store knows.
func TestI5RetriesSendTheSameBatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &memory{after: func(call int) error {
			if call <= 3 {
				return fmt.Errorf("answer lost: %w", context.DeadlineExceeded)
			}
			return nil
		}}
		p, counts := setup(t, store, Config{})
		result, err := p.Enqueue(t.Context(), task.Task{}, task.Task{})
		require.NoError(t, err)
		require.Equal(t, 2, result.Enqueued)
		require.Len(t, store.tasks(), 2)
		require.Equal(t, 4, store.calls)
		require.Equal(t, 3, counts.failed)
	})
}

func TestPendingBatchesCanBeSentAgain(t *testing.T) {
	t.Parallel()
	refused := errors.New("no rights")
	store := &memory{before: func(_ context.Context, call int) error {
		if call == 2 {
			return refused
		}
		return nil
	}}
	p, _ := setup(t, store, Config{BatchTasks: 2})
	result, err := p.Enqueue(t.Context(), make([]task.Task, 5)...)
	require.ErrorIs(t, err, refused)
	var failed *BatchError
	require.ErrorAs(t, err, &failed)
	require.Len(t, failed.Pending, 2)
	require.Equal(t, 2, result.Enqueued)
	for _, batch := range failed.Pending {
		_, err := p.EnqueueBatch(t.Context(), batch)
		require.NoError(t, err)
	}
	require.Len(t, store.tasks(), 5)
}

func TestEnqueueEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &memory{before: func(context.Context, int) error { return context.DeadlineExceeded }}
		p, _ := setup(t, store, Config{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := p.Enqueue(ctx, task.Task{})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		var failed *BatchError
		require.ErrorAs(t, err, &failed)
		require.Greater(t, store.calls, 10)
		require.Less(t, store.calls, 100)
	})
}

// TestBatchesAreBounded: whatever comes in, no batch is above a bound, and every
// task is in exactly one, in order.
func TestBatchesAreBounded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		store := &memory{}
		cfg := Config{BatchTasks: rapid.IntRange(1, 7).Draw(r, "tasks"), BatchBytes: rapid.IntRange(400, 4000).Draw(r, "bytes")}
		p, _ := setup(t, store, cfg)
		sizes := rapid.SliceOfN(rapid.IntRange(0, 3000), 0, 30).Draw(r, "sizes")
		tasks := make([]task.Task, len(sizes))
		for i, size := range sizes {
			tasks[i] = task.Task{ID: fmt.Sprint(i), Payload: make([]byte, size)}
		}
		result, err := p.Enqueue(context.Background(), tasks...)
		require.NoError(t, err)
		require.Equal(t, len(tasks), result.Enqueued)
		next := 0
		for _, batch := range store.batches {
			bytes := 0
			require.NotEmpty(t, batch.Tasks)
			for i := range batch.Tasks {
				bytes += taskstore.EnqueueSize(&batch.Tasks[i])
				require.Equal(t, fmt.Sprint(next), batch.Tasks[i].ID)
				next++
			}
			require.LessOrEqual(t, len(batch.Tasks), cfg.BatchTasks)
			require.True(t, bytes <= cfg.BatchBytes || len(batch.Tasks) == 1)
		}
		require.Equal(t, len(tasks), next)
	})
}

// txMemory is a store with transactions.
type txMemory struct{ memory }

func (m *txMemory) EnqueueTx(ctx context.Context, _ query.TxActor, batch task.Batch) (task.EnqueueResult, error) {
	return m.Enqueue(ctx, batch)
}

func TestEnqueueTxIsAllOrNothing(t *testing.T) {
	t.Parallel()
	store := &txMemory{}
	p, _ := setup(t, store, Config{BatchTasks: 2})
	_, err := p.EnqueueTx(t.Context(), nil, task.Task{}, task.Task{Delay: -1})
	require.ErrorIs(t, err, task.ErrInvalid)
	_, err = p.EnqueueTx(t.Context(), nil, make([]task.Task, 3)...)
	require.ErrorIs(t, err, ErrTooMany)
	require.Empty(t, store.batches)

	result, err := p.EnqueueTx(t.Context(), nil, task.Task{ID: "a"}, task.Task{ID: "b"})
	require.NoError(t, err)
	require.Equal(t, 2, result.Enqueued)
	result, err = p.EnqueueTx(t.Context(), nil)
	require.NoError(t, err)
	require.Zero(t, result.Enqueued)

	plain, _ := setup(t, &memory{}, Config{})
	_, err = plain.EnqueueTx(t.Context(), nil, task.Task{})
	require.ErrorIs(t, err, ErrNoTx)
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	_, err := New(&memory{}, Config{BatchTasks: -1, BatchBytes: MaxBatchBytes + 1})
	require.ErrorContains(t, err, "Partitions 0: must be 1..4096")
	require.ErrorContains(t, err, "BatchTasks -1: must be 1..10000")
	require.ErrorContains(t, err, "BatchBytes 48000001: must be 1..48000000")
}
