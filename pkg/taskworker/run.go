package taskworker

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/taskfleet/taskfleet/pkg/task"
)

// attempt is one claim on its way from the pool to its record. Worker.mu guards it.
//
//	waiting ── pool ──> running ── handler ──> ended ── recorded ──> settled
//	   └── revoke, stop, lost lease ────────────^
type attempt struct {
	*task.Claimed
	part      *partition
	order     uint64 // of claims
	claimedAt time.Time
	state     state
	unknown   bool                    // the claim's answer never came; only Key and LockValue are set
	end       context.CancelCauseFunc // of the handler's context, while running
	result    task.Result             // once ended
	refused   bool                    // the result replaces one that the database refused
	endedAt   time.Time
	took      time.Duration // of the handler
}

type state uint8

const (
	waiting state = iota // for a handler
	running
	ended   // to be recorded, or on its way there
	settled // recorded or given up
)

// runNext runs the most urgent attempt that waits, if one does.
func (w *Worker) runNext() {
	w.mu.Lock()
	a := w.ready.pop()
	if a == nil {
		w.mu.Unlock()
		return
	}
	ctx, end := context.WithCancelCause(a.part.lease)
	a.state, a.end = running, end
	w.waiting--
	w.running++
	w.mu.Unlock()
	w.claimBell.ring()
	defer end(nil)
	defer context.AfterFunc(w.handlers, func() { end(context.Cause(w.handlers)) })()

	if ctx.Err() != nil { // the lease ended just now: the handler is not called
		w.ended(a, released(a))
		return
	}
	begin := time.Now()
	w.cfg.Observer.Started(a.Kind, a.Waited+begin.Sub(a.claimedAt))
	err := w.handle(ctx, a)
	a.took = time.Since(begin)
	w.ended(a, w.outcome(a, context.Cause(ctx), err))
}

// handle calls the handler and waits for it, not longer than AbandonAfter when
// its context has ended.
func (w *Worker) handle(ctx context.Context, a *attempt) error {
	handler := w.cfg.Handlers[a.Kind]
	timeout := a.Timeout
	if timeout == 0 {
		timeout = w.cfg.TaskTimeout
	}
	timed, cancel := context.WithTimeoutCause(ctx, timeout, ErrTimeout)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		err := errors.New("the handler ended its goroutine")
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
			}
			done <- err
		}()
		err = handler(timed, &a.Task)
	}()
	select {
	case err := <-done:
		return w.withTimeout(timed, timeout, err)
	case <-timed.Done():
	}
	grace := time.NewTimer(w.cfg.AbandonAfter)
	defer grace.Stop()
	select {
	case err := <-done:
		return w.withTimeout(timed, timeout, err)
	case <-grace.C:
	}
	w.abandon(a, done, context.Cause(timed))
	return w.withTimeout(timed, timeout, errAbandoned)
}

// withTimeout names the timeout in the error of a handler that ran into it.
func (w *Worker) withTimeout(ctx context.Context, timeout time.Duration, err error) error {
	if err == nil || !errors.Is(context.Cause(ctx), ErrTimeout) {
		return err
	}
	var never *neverError
	var retry *retryError
	if errors.As(err, &never) || errors.As(err, &retry) {
		return err
	}
	return fmt.Errorf("timed out after %s: %w", timeout, err)
}

// abandon counts a handler that does not return, until it does. When as many are
// abandoned as may run at once, the worker is stalled: see Config.Stalled.
func (w *Worker) abandon(a *attempt, done <-chan error, cause error) {
	w.log.Error("handler ignores the end of its context and is abandoned",
		"task_id", a.ID, "kind", a.Kind, "partition", a.Partition, "attempt", a.Attempt, "cause", cause)
	w.cfg.Observer.Abandoned(a.Kind)
	w.countAbandoned(1)
	go func() {
		<-done
		w.countAbandoned(-1)
		w.claimBell.ring()
	}()
}

// countAbandoned adds to the abandoned handlers and reports when that stalls the
// worker or ends the stall.
func (w *Worker) countAbandoned(n int) {
	w.stallMu.Lock() // reports come in order
	defer w.stallMu.Unlock()
	w.mu.Lock()
	before := w.abandoned >= w.cfg.Concurrency
	w.abandoned += n
	stalled := w.abandoned >= w.cfg.Concurrency
	w.mu.Unlock()
	if before == stalled {
		return
	}
	if stalled {
		w.log.Error("worker stalled: every handler slot has an abandoned handler", "abandoned", w.cfg.Concurrency)
	} else {
		w.log.Info("worker goes on: an abandoned handler has returned")
	}
	w.cfg.Stalled(stalled)
}
