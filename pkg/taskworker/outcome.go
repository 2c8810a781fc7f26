package taskworker

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/taskfleet/taskfleet/pkg/task"
)

// maxAttempts is how many attempts a task has, the first included.
func (w *Worker) maxAttempts(a *attempt) uint32 {
	if a.MaxAttempts > 0 {
		return a.MaxAttempts
	}
	return w.cfg.MaxAttempts
}

// outcome decides what becomes of an attempt: cause is why its context ended,
// nil if it did not, and err is what the handler returned. A handler that
// returned nil has done its work, whatever happened to its context.
func (w *Worker) outcome(a *attempt, cause, err error) task.Result {
	r := task.Result{Key: a.Key, LockValue: a.LockValue, Epoch: a.Epoch}
	var never *neverError
	var retry *retryError
	switch {
	case err == nil:
		r.Outcome = task.OutcomeCompleted
		return r
	case errors.As(err, &never):
		r.Outcome = task.OutcomeDead
	case errors.Is(cause, ErrRevoked), errors.Is(cause, ErrStopped):
		r.Outcome = task.OutcomeReleased
		return r
	case a.Attempt >= w.maxAttempts(a):
		r.Outcome = task.OutcomeDead
	case errors.As(err, &retry):
		r.Outcome, r.Delay = task.OutcomeRetry, min(retry.after, task.MaxDelay)
	default:
		r.Outcome, r.Delay = task.OutcomeRetry, w.cfg.Backoff(a.Attempt)
	}
	r.Error = errorText(err)
	return r
}

// errorText is what is recorded of an error: valid UTF-8, at most
// task.MaxError bytes.
func errorText(err error) string {
	s := strings.ToValidUTF8(err.Error(), "\uFFFD")
	if len(s) <= task.MaxError {
		return s
	}
	s = s[:task.MaxError]
	for !utf8.ValidString(s) {
		s = s[:len(s)-1]
	}
	return s
}

// ended takes an attempt from its handler to the outcomes to be recorded.
func (w *Worker) ended(a *attempt, cause, err error) {
	result := w.outcome(a, cause, err)
	w.mu.Lock()
	w.running--
	lost := a.part.lost || a.part.lease.Err() != nil
	if lost {
		w.settle(a)
	} else {
		w.toBeRecorded(a, result)
	}
	w.mu.Unlock()
	if lost {
		w.log.Warn("result is dropped: the lease ended", "task_id", a.ID, "kind", a.Kind,
			"partition", a.Partition, "attempt", a.Attempt, "cause", context.Cause(a.part.lease))
		w.cfg.Observer.LostLease(a.Kind)
	}
	w.recordBell.ring()
	w.claimBell.ring()
}

// giveBack ends an attempt that has not started. The caller holds mu.
func (w *Worker) giveBack(a *attempt) {
	w.waiting--
	w.toBeRecorded(a, task.Result{Key: a.Key, LockValue: a.LockValue, Epoch: a.Epoch, Outcome: task.OutcomeReleased})
}

// toBeRecorded queues an outcome. The caller holds mu.
func (w *Worker) toBeRecorded(a *attempt, result task.Result) {
	a.state, a.result, a.endedAt = ended, result, time.Now()
	w.unrecorded = append(w.unrecorded, a)
}

// settle forgets an attempt. The caller holds mu.
func (w *Worker) settle(a *attempt) {
	a.state = settled
	if w.live[a.Key] == a {
		delete(w.live, a.Key)
	}
	a.part.live--
	a.part.checkIdle()
	w.checkSettled()
}

// checkSettled tells a Stop that nothing is left. The caller holds mu.
func (w *Worker) checkSettled() {
	if !w.stopping || len(w.live) > 0 || w.reserved > 0 {
		return
	}
	select {
	case <-w.settled:
	default:
		close(w.settled)
	}
}
