package taskingest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
)

type state struct {
	Status string `json:"status"`
}

// healthz is GET /healthz: the process lives.
func (h *Handler) healthz(http.ResponseWriter, *http.Request, *exchange) *answer {
	return &answer{code: http.StatusOK, body: state{"ok"}}
}

// readyz is GET /readyz: the handler is not stopping, and the database answers.
func (h *Handler) readyz(_ http.ResponseWriter, r *http.Request, _ *exchange) *answer {
	err := errors.New("stopping")
	if !h.draining.Load() {
		err = h.ready.ask(r.Context())
	}
	if err == nil {
		return &answer{code: http.StatusOK, body: state{"ready"}}
	}
	a := refuse(http.StatusServiceUnavailable, "not ready: stopping, or the database does not answer").retryLater(afterOutage)
	a.err = err
	return a
}

// readiness asks a check, one at a time, and keeps its answer for a moment: whoever
// asks often costs nothing.
type readiness struct {
	check  func(context.Context) error
	active *active

	mu     sync.Mutex
	asking *asking // the last check; nil before the first
}

// asking is a check: running until done is closed, then over since at.
type asking struct {
	done chan struct{}
	at   time.Time
	err  error
}

const (
	readyFor     = time.Second
	readyTimeout = 2 * time.Second
)

var errNoAnswer = fmt.Errorf("no answer within %s", readyTimeout)

// ask returns within readyTimeout, whatever the check does.
func (r *readiness) ask(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, readyTimeout, errNoAnswer)
	defer cancel()
	a := r.current(ctx)
	select {
	case <-a.done:
		return a.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// current is the check that runs, or ran just now, or a new one.
func (r *readiness) current(ctx context.Context) *asking {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a := r.asking; a != nil {
		select {
		case <-a.done:
			if time.Since(a.at) < readyFor {
				return a
			}
		default:
			return a
		}
	}
	a := &asking{done: make(chan struct{})}
	r.asking = a
	r.active.begin()
	go func() {
		defer r.active.end()
		r.run(context.WithoutCancel(ctx), a)
	}()
	return a
}

func (r *readiness) run(ctx context.Context, a *asking) {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	defer close(a.done)
	defer func() {
		if p := recover(); p != nil {
			a.err = fmt.Errorf("panic: %v", p)
		}
		a.at = time.Now()
	}()
	a.err = r.check(ctx)
}
