package taskworker

import (
	"context"
	"time"

	"github.com/taskfleet/taskfleet/pkg/task"
)

// recordLoop records outcomes in batches: a full batch at once, and fewer when
// the first of them has waited for FinishAge, when no handler runs that could
// add another, or when somebody waits for the record.
func (w *Worker) recordLoop(ctx context.Context) error {
	for ctx.Err() == nil {
		batch, wait := w.toRecord(time.Now())
		if len(batch) == 0 {
			w.recordBell.wait(ctx, wait)
			continue
		}
		w.record(ctx, batch)
	}
	return nil
}

// toRecord takes the next batch, or tells how long to wait for it.
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
	n = min(n, w.cfg.FinishBatch)
	batch := w.unrecorded[:n:n]
	w.unrecorded = w.unrecorded[n:]
	w.recording = n
	return batch, 0
}

// record stores a batch of outcomes, again and again until it succeeds or the
// worker ends.
func (w *Worker) record(ctx context.Context, batch []*attempt) {
	results := make([]task.Result, len(batch))
	for i, a := range batch {
		results[i] = a.result
	}
	var held []bool
	for wait := w.cfg.SweepMin; ; wait = min(2*wait, 2*w.cfg.SweepMax) {
		begin := time.Now()
		var err error
		held, err = w.repo.Finish(w.store, results)
		w.cfg.Observer.Flushed(len(results), time.Since(begin), err)
		if err == nil {
			break
		}
		for i := range results {
			results[i].Repeated = true
		}
		if w.store.Err() == nil {
			w.log.Warn("outcomes are not recorded yet, will be repeated", "outcomes", len(results), "error", err)
		}
		if !pause(ctx, jitter(wait)) {
			w.mu.Lock()
			w.unrecorded, w.recording = append(batch, w.unrecorded...), 0
			w.mu.Unlock()
			return
		}
	}
	w.recorded(batch, held)
	w.claimBell.ring()
	w.cfg.Observer.Holds(w.holds())
}

// recorded settles a batch whose outcomes are stored, or were somebody else's.
func (w *Worker) recorded(batch []*attempt, held []bool) {
	now := time.Now()
	retries := false
	w.mu.Lock()
	w.recording = 0
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
		if held[i] {
			w.cfg.Observer.Finished(a.Kind, a.result.Outcome, a.took)
			continue
		}
		w.log.Warn("result is not recorded: the lock is another worker's", "task_id", a.ID, "kind", a.Kind,
			"partition", a.Partition, "attempt", a.Attempt, "outcome", a.result.Outcome.String())
		w.cfg.Observer.LostLease(a.Kind)
	}
}
