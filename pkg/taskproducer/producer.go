package taskproducer

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/ydb-platform/ydb-go-sdk/v3/query"

	"github.com/taskfleet/taskfleet/internal/ydbconn"
	"github.com/taskfleet/taskfleet/pkg/task"
)

// Producer puts tasks into one fleet. Its methods may be called concurrently.
type Producer struct {
	store Store
	cfg   Config
}

// New returns a producer over a store. It starts nothing.
func New(store Store, cfg Config) (*Producer, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("taskproducer: %w", err)
	}
	return &Producer{store: store, cfg: cfg}, nil
}

// Result tells what became of the tasks of one call.
type Result struct {
	// IDs of the tasks, in the order of the call, the made ones included; "" for
	// an invalid task.
	IDs        []string
	Enqueued   int // stored, by this call or by an earlier try of the same batch
	Duplicates int // with an id, given by the caller, that is known: left as they are
	Invalid    int // refused; the error says why
	// Replayed says that EnqueueAll found the tasks stored already, by an earlier
	// call with the same key or by an earlier try of this one.
	Replayed bool
}

// Enqueue stores tasks. Invalid tasks are refused, each with a *TaskError in the
// returned error, and the others are stored all the same. Up to BatchTasks tasks
// are stored at once or not at all; more are cut into batches, stored one after
// the other.
//
// A *BatchError holds the batches that are not known to be stored. Calling
// Enqueue again would store tasks without a given id twice; EnqueueBatch with
// the error's batches does not.
func (p *Producer) Enqueue(ctx context.Context, tasks ...task.Task) (Result, error) {
	all := p.prepare(ctx, tasks)
	result := Result{IDs: all.ids, Invalid: all.invalid}
	for i, batch := range all.batches {
		stored, err := p.EnqueueBatch(ctx, batch)
		if err != nil {
			return result, errors.Join(all.err, &BatchError{Pending: all.batches[i:], Err: err})
		}
		result.Enqueued += stored.Enqueued
		result.Duplicates += stored.Duplicates
	}
	return result, all.err
}

// EnqueueBatch stores a batch that a BatchError holds. It is idempotent: a batch
// that is stored already is reported as stored, and nothing is written. While
// the database cannot be reached or is too busy it tries again, with the same
// batch, until ctx ends.
func (p *Producer) EnqueueBatch(ctx context.Context, batch task.Batch) (task.EnqueueResult, error) {
	var result task.EnqueueResult
	err := retry(ctx, func() (err error) {
		begin := time.Now()
		result, err = p.store.Enqueue(ctx, batch)
		took := time.Since(begin)
		if err != nil {
			p.cfg.Observer.Failed(len(batch.Tasks), took, err)
			return err
		}
		p.cfg.Observer.Enqueued(batch, result, took)
		return nil
	})
	return result, err
}

// retry calls f until it succeeds, fails for good, or ctx ends.
func retry(ctx context.Context, f func() error) error {
	for try := 0; ; try++ {
		err := f()
		if err == nil {
			return nil
		}
		switch ydbconn.Classify(err) {
		case ydbconn.Retry, ydbconn.Conflict, ydbconn.Unknown:
		default:
			return err
		}
		select {
		case <-time.After(pause(try)):
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		}
	}
}

// pause is how long to wait after try, from 0: 50 ms, doubled up to 3.2 s, less
// up to half of it, so that producers do not come back together.
func pause(try int) time.Duration {
	full := 50 * time.Millisecond << min(try, 6)
	return full - rand.N(full/2)
}

// ErrNoTx is returned by EnqueueTx when the store has no transactions.
var ErrNoTx = errors.New("the store has no transactions")

// EnqueueTx stores tasks inside the caller's transaction: they are there exactly
// if it commits. It writes nothing if any task is invalid, or if there are more
// than fit one batch. Observers see the tasks when they are written, before the
// commit. Call it once per try of the transaction: a try that is rolled back
// leaves nothing. A transaction that is tried again after its commit may have
// gone through, its answer lost, enqueues again; give the tasks ids then.
func (p *Producer) EnqueueTx(ctx context.Context, tx query.TxActor, tasks ...task.Task) (Result, error) {
	store, ok := p.store.(TxStore)
	if !ok {
		return Result{}, fmt.Errorf("taskproducer: %w", ErrNoTx)
	}
	all := p.prepare(ctx, tasks)
	result := Result{IDs: all.ids, Invalid: all.invalid}
	switch {
	case all.err != nil:
		return result, all.err
	case len(all.batches) == 0:
		return result, nil
	case len(all.batches) > 1:
		return result, fmt.Errorf("taskproducer: %d tasks do not fit one batch of %d tasks and %d bytes, which a transaction may hold",
			len(tasks), p.cfg.BatchTasks, p.cfg.BatchBytes)
	}
	begin := time.Now()
	stored, err := store.EnqueueTx(ctx, tx, all.batches[0])
	took := time.Since(begin)
	if err != nil {
		p.cfg.Observer.Failed(len(all.batches[0].Tasks), took, err)
		return result, err // as it is: the transaction's retrier looks into it
	}
	p.cfg.Observer.Enqueued(all.batches[0], stored, took)
	result.Enqueued, result.Duplicates = stored.Enqueued, stored.Duplicates
	return result, nil
}
