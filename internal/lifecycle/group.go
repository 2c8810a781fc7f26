// Package lifecycle owns goroutines: whoever starts one can stop it, wait for
// it and learn why it ended.
package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// ErrStopped is the cause of a group's context after Stop.
var ErrStopped = errors.New("lifecycle: stopped")

// Group owns the goroutines of one component. Its context ends when Stop is
// called, when the parent ends, or when one of the goroutines returns an error.
// All methods may be called concurrently.
type Group struct {
	ctx    context.Context
	cancel context.CancelCauseFunc

	mu      sync.Mutex
	running int
	closed  bool // no more goroutines
	idle    chan struct{}
	err     error
}

// New returns a group whose goroutines end with parent.
func New(parent context.Context) *Group {
	ctx, cancel := context.WithCancelCause(parent)
	return &Group{ctx: ctx, cancel: cancel, idle: make(chan struct{})}
}

// Context ends when the group is told to stop; its cause tells why.
func (g *Group) Context() context.Context { return g.ctx }

// Go starts f in a goroutine that the group owns, and reports whether it did: a
// group that was stopped starts nothing. An error of f other than the end of
// its context is kept, if it is the first, and stops the group; name goes into
// its text.
func (g *Group) Go(name string, f func(ctx context.Context) error) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.running++
	go func() {
		err := f(g.ctx)
		g.finish(name, err)
	}()
	return true
}

func (g *Group) finish(name string, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err != nil && g.ctx.Err() == nil && g.err == nil {
		g.err = fmt.Errorf("%s: %w", name, err)
		g.cancel(g.err)
	}
	g.running--
	if g.closed && g.running == 0 {
		close(g.idle)
	}
}

// Cancel ends the group's context with a cause and waits for nothing.
func (g *Group) Cancel(cause error) { g.cancel(cause) }

// Stop ends the group's context and waits until every goroutine has returned,
// or until ctx ends, and then returns the error of ctx. It may be called any
// number of times.
func (g *Group) Stop(ctx context.Context) error {
	g.cancel(ErrStopped)
	g.mu.Lock()
	if !g.closed {
		g.closed = true
		if g.running == 0 {
			close(g.idle)
		}
	}
	g.mu.Unlock()
	select {
	case <-g.idle:
		return nil
	default:
	}
	select {
	case <-g.idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("lifecycle: stop: %w", context.Cause(ctx))
	}
}

// Err returns the first error that a goroutine returned, nil if there was none.
func (g *Group) Err() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.err
}
