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
// returned nil has done its work, whatever happened to its context. What a
// revoke, a stop or a lost lease cut off spends no attempt.
func (w *Worker) outcome(a *attempt, cause, err error) task.Result {
	r := released(a)
	r.Attempt = a.Attempt
	var never *neverError
	var retry *retryError
	switch {
	case err == nil:
		r.Outcome = task.OutcomeCompleted
		return r
	case errors.As(err, &never):
		r.Outcome = task.OutcomeDead
	case errors.Is(cause, ErrRevoked), errors.Is(cause, ErrStopped),
		cause != nil && errors.Is(cause, context.Cause(a.part.lease)):
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

// released is the outcome of what goes back as it was claimed.
func released(a *attempt) task.Result {
	return task.Result{Key: a.Key, LockValue: a.LockValue, Epoch: a.Epoch, IDGiven: a.IDGiven, Outcome: task.OutcomeReleased}
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

// ended takes an attempt from its handler to the outcomes to be recorded. A lost
// lease changes nothing: the lock value decides whether the outcome counts.
func (w *Worker) ended(a *attempt, result task.Result) {
	w.mu.Lock()
	w.running--
	w.measure(a.took)
	w.toBeRecorded(a, result)
	w.mu.Unlock()
	w.recordBell.ring()
	w.claimBell.ring()
}

// toBeRecorded queues an outcome. The caller holds mu.
func (w *Worker) toBeRecorded(a *attempt, result task.Result) {
	a.state, a.result, a.endedAt = ended, result, time.Now()
	w.unrecorded = append(w.unrecorded, a)
}

// settle forgets an attempt. The caller holds mu.
func (w *Worker) settle(a *attempt) {
	a.state = settled
	delete(w.live, a.Key)
	a.part.live--
	a.part.checkIdle()
	w.checkSettled()
}
