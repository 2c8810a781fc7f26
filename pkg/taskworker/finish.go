package taskworker

import (
	"context"
	"errors"
	"time"

	"github.com/taskfleet/taskfleet/pkg/task"
)

// finishLoop records outcomes in batches: a full batch at once, and fewer when
// the first of them has waited for FinishAge, when no handler runs that could
// add another, or when somebody waits for the record.
func (w *Worker) finishLoop(ctx context.Context) error {
	for ctx.Err() == nil {
		batch, wait := w.toRecord(time.Now())
		if len(batch) == 0 {
			w.recordBell.wait(ctx, wait)
			continue
		}
		w.record(ctx, batch)
		w.claimBell.ring()
		w.cfg.Observer.Holds(w.holds())
	}
	return nil
}

// toRecord takes the next batch, or returns how long to wait for it.
func (w *Worker) toRecord(now time.Time) ([]*attempt, time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := len(w.unrecorded)
	if n == 0 {
		return nil, -1
	}
	age := now.Sub(w.unrecorded[0].endedAt)
	if n < w.cfg.FinishBatch && age < w.cfg.FinishAge && w.urgent == 0 && w.running+w.waiting > 0 {
		return nil, w.cfg.FinishAge - age
	}
	n = atMost(w.unrecorded[:min(n, w.cfg.FinishBatch)], finishBytes)
	batch := w.unrecorded[:n:n]
	w.unrecorded = w.unrecorded[n:]
	w.recording = n
	return batch, 0
}

// finishBytes bounds the payloads that one record moves: the database holds them
// all while it does, and YDB allows a query 48 MiB.
const finishBytes = 24 << 20

// atMost returns how many of the first attempts have payloads of at most size
// bytes together, at least one.
func atMost(attempts []*attempt, size int) int {
	for i, a := range attempts {
		if size -= len(a.Payload); size < 0 {
			return max(i, 1)
		}
	}
	return len(attempts)
}

// record stores a batch of outcomes, again and again until it succeeds, is
// refused, or the worker ends.
func (w *Worker) record(ctx context.Context, batch []*attempt) {
	results := make([]task.Result, len(batch))
	for i, a := range batch {
		results[i] = a.result
	}
	for tried := time.Duration(0); ; {
		begin := time.Now()
		held, err := w.repo.Finish(w.store, results)
		w.cfg.Observer.Flushed(len(results), time.Since(begin), err)
		switch {
		case err == nil:
			w.recorded(batch, held)
			return
		case errors.Is(err, task.ErrRefused):
			w.recordRefused(ctx, batch, err)
			return
		case w.store.Err() == nil:
			w.log.Warn("outcomes are not recorded yet, will be repeated", "outcomes", len(results), "error", err)
		}
		for i := range results {
			results[i].Repeated = true
		}
		if tried = w.backOff(ctx, tried); ctx.Err() != nil {
			w.mu.Lock()
			w.unrecorded = append(batch, w.unrecorded...)
			w.recording -= len(batch)
			w.mu.Unlock()
			return
		}
	}
}

// recordRefused records the halves of a refused batch, and ends with the one
// outcome that is to blame.
func (w *Worker) recordRefused(ctx context.Context, batch []*attempt, cause error) {
	if len(batch) > 1 {
		for _, half := range halve(batch) {
			w.record(ctx, half)
		}
		return
	}
	if w.refuseOutcome(batch[0], cause) {
		w.record(ctx, batch)
		return
	}
	w.recorded(batch, []bool{false})
}

// recorded settles a batch whose outcomes are stored, or were somebody else's.
func (w *Worker) recorded(batch []*attempt, held []bool) {
	now := time.Now()
	retries := false
	w.mu.Lock()
	w.recording -= len(batch)
	for i, a := range batch {
		w.settle(a)
		if !held[i] {
			continue
		}
		switch p := a.part; a.result.Outcome {
		case task.OutcomeReleased:
			p.rewind()
		case task.OutcomeRetry:
			if at := now.Add(a.result.Delay); at.Before(p.promoteAt) {
				p.promoteAt, retries = at, true
			}
		}
	}
	w.mu.Unlock()
	if retries {
		w.promoteBell.ring()
	}
	for i, a := range batch {
		switch {
		case a.unknown:
		case held[i]:
			w.cfg.Observer.Finished(a.Kind, a.result.Outcome, a.took)
		default:
			w.log.Warn("outcome is not recorded: the lock has another holder", "task_id", a.ID, "kind", a.Kind,
				"partition", a.Partition, "attempt", a.Attempt, "outcome", a.result.Outcome.String())
			w.cfg.Observer.LostLease(a.Kind)
		}
	}
}
