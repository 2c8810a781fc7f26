package taskingest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// The bounds of Serve against clients that are slow, or talk too much before the
// body.
const (
	headerTimeout = 5 * time.Second
	idleTimeout   = 60 * time.Second
	answerTimeout = 5 * time.Second // to send an answer
	maxHeader     = 16 << 10        // bytes
)

// errDrained is the cause of what a drain cut off.
var errDrained = errors.New("taskingest: the drain is over")

// Serve answers requests on a listener until ctx ends, in this order: /readyz
// says no, the listener closes, requests in flight are answered, for at most
// drain, and then cut off. It returns when no request is worked on any more. The
// error tells why the listener failed, or that requests were cut off. It closes
// the listener in any case.
func (h *Handler) Serve(ctx context.Context, listener net.Listener, drain time.Duration) error {
	working, cutOff := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cutOff(nil)
	server := &http.Server{
		Handler:           h,
		BaseContext:       func(net.Listener) context.Context { return working },
		ConnContext:       withConn,
		ReadHeaderTimeout: min(headerTimeout, h.cfg.ReadTimeout),
		ReadTimeout:       h.cfg.ReadTimeout,
		WriteTimeout:      h.cfg.ReadTimeout + h.cfg.StoreTimeout + answerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(h.cfg.Logger.Handler(), slog.LevelDebug),
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(newConns(listener, h.cfg.MaxConns)) }()
	select {
	case err := <-ended:
		cutOff(errDrained)
		_ = server.Close() // the error that counts is there already
		h.active.wait()
		return fmt.Errorf("taskingest: serving %s: %w", listener.Addr(), err)
	case <-ctx.Done():
	}
	h.draining.Store(true)
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	err := server.Shutdown(limit)
	if err != nil {
		err = fmt.Errorf("taskingest: some requests were not answered within the drain of %s: %w", drain, err)
		cutOff(errDrained)
		_ = server.Close()
	}
	h.active.wait()
	<-ended
	return err
}

// active counts what is worked on: requests, and what outlives its answer.
type active struct {
	mu   sync.Mutex
	n    int
	idle sync.Cond
}

func (a *active) begin() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.n++
}

func (a *active) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.n--
	a.idle.Broadcast()
}

func (a *active) wait() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.n > 0 {
		a.idle.Wait()
	}
}
