package taskproducer

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

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
	Invalid    int // refused, by their check or by the database; the error says why
	// Replayed says that EnqueueAll found the tasks stored already, by an earlier
	// call with the same key or by an earlier try of this one.
	Replayed bool
}

// Enqueue stores tasks. Invalid tasks are refused, each with a *TaskError in the
// returned error, and the others are stored all the same. Up to BatchTasks tasks
// are stored atomically; more are cut into batches, stored one after the other. A
// batch that the database refuses, because of its size or of a row, is stored in
// halves, and a task that is refused alone has a *TaskError, too.
//
// A *BatchError holds the batches that are not known to be stored. Calling
// Enqueue again would store tasks without a given id twice; EnqueueBatch with
// the error's batches does not.
func (p *Producer) Enqueue(ctx context.Context, tasks ...task.Task) (Result, error) {
	all := p.prepare(ctx, tasks)
	result := Result{IDs: all.ids, Invalid: all.invalid}
	errs := []error{all.err}
	for i, batch := range all.batches {
		stored, refused, err := p.storeBatch(ctx, batch)
		result.Enqueued += stored.Enqueued
		result.Duplicates += stored.Duplicates
		for _, one := range refused {
			one.Index = all.order[one.Index]
			result.IDs[one.Index] = ""
			result.Invalid++
			errs = append(errs, one)
		}
		if err != nil {
			errs = append(errs, &BatchError{Pending: all.batches[i:], Err: err})
			break
		}
		all.order = all.order[len(batch.Tasks):]
	}
	return result, errors.Join(errs...)
}

// EnqueueBatch stores a batch that a BatchError holds. It is idempotent: a batch
// that is stored already is reported as stored, and nothing is written, also when
// it was stored in parts. While the database cannot be reached or is too busy it
// tries again, with the same batch, until ctx ends. A *TaskError has its Index in
// the batch.
func (p *Producer) EnqueueBatch(ctx context.Context, batch task.Batch) (task.EnqueueResult, error) {
	result, refused, err := p.storeBatch(ctx, batch)
	var errs []error
	for _, one := range refused {
		errs = append(errs, one)
	}
	return result, errors.Join(append(errs, err)...)
}

// send stores a batch as it is.
func (p *Producer) send(ctx context.Context, batch task.Batch) (task.EnqueueResult, error) {
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
