package coord

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ydb-platform/ydb-go-sdk/v3/coordination"
	"github.com/ydb-platform/ydb-go-sdk/v3/coordination/options"
)

// Request says how to acquire a semaphore.
type Request struct {
	// Exclusive: nobody else holds it. Otherwise it is shared.
	Exclusive bool
	// Data is shown to everybody who looks at the owners; at most 1 MiB.
	Data []byte
	// Timeout is how long to wait in the queue, which is first in first out. Zero:
	// not at all. Whole milliseconds, at most 24 h.
	Timeout time.Duration
}

func (r Request) count() uint64 {
	if r.Exclusive {
		return coordination.Exclusive
	}
	return coordination.Shared
}

// Lease is a semaphore that is held.
type Lease struct {
	session *Session
	name    string
	count   uint64
	sdk     coordination.Lease
	ctx     context.Context
	cancel  context.CancelCauseFunc
}

// ErrReleased is the cause of a lease's context after Release.
var ErrReleased = errors.New("lease released")

// Acquire acquires the ephemeral semaphore name, which comes to be with its
// first holder and goes with its last. It returns ErrTimeout when the semaphore
// was not granted within r.Timeout, a *StatusError when the server refuses, an
// ErrSessionLost, or the cause of ctx, also when the grant comes at that moment; in
// all cases nothing is left behind on the server. Repeating it is safe.
func (s *Session) Acquire(ctx context.Context, name string, r Request) (*Lease, error) {
	if err := s.reserve(name); err != nil {
		return nil, fmt.Errorf("coord: acquire %s: %w", name, err)
	}
	lease, err := s.acquire(ctx, name, r)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		delete(s.leases, name)
		return nil, fmt.Errorf("coord: acquire %s: %w", name, err)
	}
	s.leases[name] = lease
	return lease, nil
}

func (s *Session) reserve(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, taken := s.leases[name]; taken {
		return ErrBusy
	}
	s.leases[name] = nil
	return nil
}

func (s *Session) acquire(ctx context.Context, name string, r Request) (*Lease, error) {
	bound, cancel := s.bind(ctx, r.Timeout+s.cfg.CallTimeout)
	defer cancel()
	sdk, err := s.sdk.AcquireSemaphore(bound, name, r.count(), acquireOptions(r)...)
	if over := s.over(err); over != nil {
		return nil, over
	}
	switch {
	case err == nil && bound.Err() != nil: // granted when nobody waits any more
		s.giveBack(name, sdk)
		return nil, context.Cause(bound)
	case err == nil:
		lease := &Lease{session: s, name: name, count: r.count(), sdk: sdk}
		lease.ctx, lease.cancel = context.WithCancelCause(s.ctx)
		return lease, nil
	case errors.Is(err, coordination.ErrAcquireTimeout):
		if refusal := s.tap.refusal(acquireOf(name)); refusal != nil {
			return nil, refusal
		}
		return nil, ErrTimeout
	case bound.Err() != nil:
		err = context.Cause(bound)
		s.withdraw(name, r)
		return nil, err
	}
	return nil, err
}

func acquireOptions(r Request) []options.AcquireSemaphoreOption {
	return []options.AcquireSemaphoreOption{
		options.WithEphemeral(true), options.WithAcquireTimeout(r.Timeout), options.WithAcquireData(r.Data),
	}
}

// withdraw makes sure that a cancelled acquire has left no waiter and no owner
// behind: the SDK forgets to say so when the stream is just being opened anew.
// An acquire that does not wait takes the waiter away, or gets the lease to give
// back. A session that cannot confirm that is given up.
func (s *Session) withdraw(name string, r Request) {
	ctx, cancel := s.bind(context.Background(), s.cfg.CallTimeout)
	defer cancel()
	r.Timeout = 0
	lease, err := s.sdk.AcquireSemaphore(ctx, name, r.count(), acquireOptions(r)...)
	if err == nil {
		s.giveBack(name, lease)
	} else if !errors.Is(err, coordination.ErrAcquireTimeout) {
		s.end(fmt.Errorf("withdraw from %s: %w", name, cause(ctx, err)))
	}
	s.tap.refusal(acquireOf(name))
}

// giveBack releases what nobody wants, or gives the session up.
func (s *Session) giveBack(name string, lease coordination.Lease) {
	ctx, cancel := s.bind(context.Background(), s.cfg.CallTimeout)
	defer cancel()
	if err := s.wait(ctx, lease.Release); err != nil {
		s.end(fmt.Errorf("give %s back: %w", name, cause(ctx, err)))
	}
}

// Context ends when the session is lost or the lease is released.
func (l *Lease) Context() context.Context { return l.ctx }

// Release ends the lease's context, gives the semaphore to the next in the queue
// and waits until the server has confirmed it, or ctx ends, or CallTimeout has
// passed; the request stays in force then. Releasing again, or after the session
// was lost, does nothing.
func (l *Lease) Release(ctx context.Context) error {
	if l.ctx.Err() != nil {
		return nil
	}
	l.cancel(ErrReleased)
	s := l.session
	bound, cancel := s.bind(ctx, s.cfg.CallTimeout)
	defer cancel()
	err := s.wait(bound, func() error {
		err := l.sdk.Release()
		s.mu.Lock()
		delete(s.leases, l.name)
		s.mu.Unlock()
		return err
	})
	if err != nil && s.over(err) == nil {
		return fmt.Errorf("coord: release %s: %w", l.name, err)
	}
	return nil
}

// Update replaces the data of a held semaphore; watchers of its owners are told.
// It may be repeated. When ctx ends first, the update may still happen.
func (l *Lease) Update(ctx context.Context, data []byte) error {
	s := l.session
	bound, cancel := s.bind(ctx, s.cfg.CallTimeout)
	defer cancel()
	if l.ctx.Err() != nil {
		return fmt.Errorf("coord: update %s: %w", l.name, context.Cause(l.ctx))
	}
	// The call must not be cancelled: the SDK would release the semaphore.
	err := s.wait(bound, func() error {
		_, err := s.sdk.AcquireSemaphore(s.sdk.Context(), l.name, l.count,
			acquireOptions(Request{Data: data})...)
		if errors.Is(err, coordination.ErrAcquireTimeout) {
			err = errors.Join(err, s.tap.refusal(acquireOf(l.name)))
		}
		return err
	})
	if over := s.over(err); err != nil && over != nil {
		err = over
	}
	if err != nil {
		return fmt.Errorf("coord: update %s: %w", l.name, err)
	}
	return nil
}

// wait runs a call that takes no context in a goroutine of the session, and
// waits for it as long as ctx lives. The call itself ends with the session.
func (s *Session) wait(ctx context.Context, call func() error) error {
	done := make(chan error, 1)
	if !s.group.Go("call", func(context.Context) error {
		done <- call()
		return nil
	}) {
		return ErrClosed
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
