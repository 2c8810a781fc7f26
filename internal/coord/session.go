package coord

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	ydb "github.com/ydb-platform/ydb-go-sdk/v3"
	"github.com/ydb-platform/ydb-go-sdk/v3/coordination"

	"github.com/taskfleet/taskfleet/internal/lifecycle"
)

// Session is one session of a coordination node. Its methods may be called
// concurrently.
type Session struct {
	cfg    Config
	node   string
	sdk    coordination.Session
	driver *ydb.Driver // a child of the caller's, with the tap as its trace
	tap    *tap
	group  *lifecycle.Group // releases and updates that outlive their callers

	ctx     context.Context
	cancel  context.CancelCauseFunc
	silence *silence // of the server: after SessionTimeout of it the session is over

	mu     sync.Mutex
	leases map[string]*Lease // nil while the name is being acquired

	closing  sync.Once
	closeErr error
}

// ID is the server's number of the session; it rises with every new session.
func (s *Session) ID() uint64 { return s.sdk.SessionID() }

// Context ends when the session is lost or closed; its cause is an
// ErrSessionLost that says why.
func (s *Session) Context() context.Context { return s.ctx }

// end makes the session over for everybody on this side, at once.
func (s *Session) end(reason error) {
	if !errors.Is(reason, ErrSessionLost) {
		reason = fmt.Errorf("coord: %w: %w", ErrSessionLost, reason)
	}
	s.cancel(reason)
}

// over returns why the session has ended, nil while it lives, after a call of the
// SDK that returned err. The SDK may fail calls before it ends its session.
func (s *Session) over(err error) error {
	if errors.Is(err, coordination.ErrSessionClosed) {
		s.end(errors.New("ended by the client"))
	}
	return context.Cause(s.ctx)
}

// bind returns a context that ends with ctx, with the session, or after timeout;
// its cause tells which.
func (s *Session) bind(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, ErrNoAnswer)
	bound, end := context.WithCancelCause(ctx)
	stop := context.AfterFunc(s.ctx, func() { end(context.Cause(s.ctx)) })
	return bound, func() {
		stop()
		end(nil)
		cancel()
	}
}

// Close releases what is still held, which the caller has emptied before, and
// ends the session. It waits for the end until ctx ends, and returns the error
// of ctx then; the session is over for the caller in any case. Further calls
// return what the first one did.
func (s *Session) Close(ctx context.Context) error {
	s.closing.Do(func() { s.closeErr = s.close(ctx) })
	return s.closeErr
}

func (s *Session) close(ctx context.Context) error {
	var releases sync.WaitGroup
	for _, lease := range s.held() {
		releases.Go(func() { _ = lease.Release(ctx) }) // what is lost or late expires by itself
	}
	releases.Wait()
	s.end(ErrClosed)
	s.silence.stop()
	err := errors.Join(s.sdk.Close(ctx), s.driver.Close(ctx), s.group.Stop(ctx))
	if err != nil {
		return fmt.Errorf("coord: close session %d of %s: %w", s.ID(), s.node, err)
	}
	return nil
}

func (s *Session) held() []*Lease {
	s.mu.Lock()
	defer s.mu.Unlock()
	var held []*Lease
	for _, lease := range s.leases {
		if lease != nil {
			held = append(held, lease)
		}
	}
	return held
}
