package taskingest

import (
	"context"
	"errors"
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

// readiness asks a check, and keeps its answer for a moment: whoever asks often
// costs nothing.
type readiness struct {
	check func(context.Context) error

	mu  sync.Mutex
	at  time.Time
	err error
}

const (
	readyFor     = time.Second
	readyTimeout = 2 * time.Second
)

func (r *readiness) ask(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.at.IsZero() && time.Since(r.at) < readyFor {
		return r.err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyTimeout)
	defer cancel()
	r.err = r.check(ctx)
	r.at = time.Now()
	return r.err
}
