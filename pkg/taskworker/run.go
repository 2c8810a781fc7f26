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
type attempt struct {
	*task.Claimed
	part      *partition
	claimedAt time.Time
	state     state
	end       context.CancelCauseFunc // of the handler's context, while running
	result    task.Result             // once ended
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

// run runs an attempt on the pool, unless it was given back meanwhile.
func (w *Worker) run(a *attempt) {
	w.mu.Lock()
	if a.state != waiting {
		w.mu.Unlock()
		return
	}
	if a.part.lease.Err() != nil { // and leaseEnded is about to say so
		w.waiting--
		w.settle(a)
		w.mu.Unlock()
		w.cfg.Observer.LostLease(a.Kind)
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

	begin := time.Now()
	var err error
	if limit := w.maxAttempts(a); a.Attempt > limit {
		err = Never(fmt.Errorf("attempt %d of %d: the attempts before ended without an outcome", a.Attempt, limit))
	} else {
		w.cfg.Observer.Started(a.Kind, a.Waited+begin.Sub(a.claimedAt))
		err = w.handle(ctx, a)
	}
	a.took = time.Since(begin)
	w.ended(a, context.Cause(ctx), err)
}

// handle calls the handler and waits for it, not longer than AbandonAfter when
// its context has ended.
func (w *Worker) handle(ctx context.Context, a *attempt) error {
	handler := w.cfg.Handlers[a.Kind]
	if handler == nil {
		return fmt.Errorf("this worker has no handler for kind %q", a.Kind)
	}
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

// abandon counts a handler that does not return, until it does.
func (w *Worker) abandon(a *attempt, done <-chan error, cause error) {
	w.mu.Lock()
	w.abandoned++
	w.mu.Unlock()
	w.log.Error("handler ignores the end of its context and is abandoned",
		"task_id", a.ID, "kind", a.Kind, "partition", a.Partition, "attempt", a.Attempt, "cause", cause)
	w.cfg.Observer.Abandoned(a.Kind)
	go func() {
		<-done
		w.mu.Lock()
		w.abandoned--
		w.mu.Unlock()
		w.claimBell.ring()
	}()
}
