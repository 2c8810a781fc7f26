package taskproducer

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/ydb-platform/ydb-go-sdk/v3/query"

	"github.com/taskfleet/taskfleet/internal/taskstore"
	"github.com/taskfleet/taskfleet/pkg/task"
)

var (
	// ErrNoTx is returned by EnqueueTx when the store has no transactions.
	ErrNoTx = errors.New("the store has no transactions")
	// ErrBatchExists is returned by EnqueueTxOnce when a transaction with the same
	// batch was committed.
	ErrBatchExists = taskstore.ErrBatchExists
)

// txBatch begins the ids of batches that callers name, so that they meet no others.
const txBatch = "tx-"

// EnqueueTx stores tasks inside the caller's transaction: they are there exactly
// if it commits. It writes nothing if any task is invalid, or if there are more
// than fit one batch. Observers see the tasks when they are written, before the
// commit. Call it once per try of the transaction: a try that is rolled back
// leaves nothing. A transaction that is tried again after its commit may have
// gone through, its answer lost, enqueues again; EnqueueTxOnce does not.
func (p *Producer) EnqueueTx(ctx context.Context, tx query.TxActor, tasks ...task.Task) (Result, error) {
	return p.enqueueTx(ctx, tx, "", tasks)
}

// EnqueueTxOnce is EnqueueTx for a transaction that may be tried again after its
// commit. batch names what the transaction does, in 1 to 128 bytes, as an order's
// number may. When a transaction with it was committed, the error wraps
// ErrBatchExists, and the transaction has ended: all that it did is stored
// already. The fleet remembers batch for an hour after that commit, also when
// there are no tasks.
func (p *Producer) EnqueueTxOnce(ctx context.Context, tx query.TxActor, batch string, tasks ...task.Task) (Result, error) {
	if batch == "" || len(batch) > task.MaxID || !utf8.ValidString(batch) {
		return Result{}, fmt.Errorf("taskproducer: batch %.200q: must have 1..%d bytes of UTF-8", batch, task.MaxID)
	}
	return p.enqueueTx(ctx, tx, txBatch+batch, tasks)
}

func (p *Producer) enqueueTx(ctx context.Context, tx query.TxActor, batchID string, tasks []task.Task) (Result, error) {
	store, ok := p.store.(TxStore)
	if !ok {
		return Result{}, fmt.Errorf("taskproducer: %w", ErrNoTx)
	}
	batch, result, err := p.prepareAll(ctx, tasks)
	if err != nil || len(batch.Tasks) == 0 && batchID == "" {
		return result, err
	}
	if batchID != "" {
		batch.ID = batchID
	}
	begin := time.Now()
	stored, err := store.EnqueueTx(ctx, tx, batch)
	took := time.Since(begin)
	if err != nil {
		p.cfg.Observer.Failed(len(batch.Tasks), took, err)
		return result, err // as it is: the transaction's retrier looks into it
	}
	p.cfg.Observer.Enqueued(batch, stored, took)
	return result.with(stored), nil
}
