package session

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/taskfleet/taskfleet/internal/ydbembed/issue"
)

// errEnded is the cause with which the running call of an ended session is
// cancelled.
var errEnded = errors.New("session: ended")

// Session is one client's session.
type Session struct {
	id      string
	manager *Manager

	ctx          context.Context // ends with the session
	cancel       context.CancelCauseFunc
	shutdown     chan struct{} // closed when the client is to be told
	shutdownOnce sync.Once

	mu       sync.Mutex
	running  *call
	attached bool
	lastUsed time.Time
	txs      map[string]*transaction
}

// call is a request that runs in a session.
type call struct {
	ctx  context.Context
	done chan struct{}
}

func (m *Manager) newSession(id string) *Session {
	ctx, cancel := context.WithCancelCause(context.Background())
	return &Session{
		id: id, manager: m, ctx: ctx, cancel: cancel, shutdown: make(chan struct{}),
		lastUsed: m.cfg.Clock.Now(), txs: map[string]*transaction{},
	}
}

// ID returns the session's id.
func (s *Session) ID() string { return s.id }

// Done is closed when the session has ended, for whatever reason.
func (s *Session) Done() <-chan struct{} { return s.ctx.Done() }

// ShuttingDown is closed when the server ended the session by itself.
func (s *Session) ShuttingDown() <-chan struct{} { return s.shutdown }

// Touch tells that the session is in use, and whether a call runs in it.
func (s *Session) Touch() (busy bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastUsed = s.manager.cfg.Clock.Now()
	return s.running != nil
}

// enter takes the session for one call. The context that it returns ends with
// the call's or the session's; leave must be called with the session's work
// done. While another call runs, enter fails with SESSION_BUSY, but it waits
// for one whose client has gone: that call is about to end.
func (s *Session) enter(ctx context.Context) (_ context.Context, leave func(), _ error) {
	for {
		s.mu.Lock()
		if s.ctx.Err() != nil {
			s.mu.Unlock()
			return nil, nil, issue.SessionNotFound(s.id)
		}
		running := s.running
		if running == nil {
			mine := &call{ctx: ctx, done: make(chan struct{})}
			s.running = mine
			s.mu.Unlock()
			runCtx, cancel := context.WithCancelCause(ctx)
			stop := context.AfterFunc(s.ctx, func() { cancel(errEnded) })
			return runCtx, func() {
				stop()
				cancel(nil)
				s.leave(mine)
			}, nil
		}
		s.mu.Unlock()
		if running.ctx.Err() == nil {
			return nil, nil, issue.SessionBusy()
		}
		select {
		case <-running.done:
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
}

func (s *Session) leave(mine *call) {
	s.mu.Lock()
	s.running = nil
	s.lastUsed = s.manager.cfg.Clock.Now()
	var orphans []*transaction
	if s.ctx.Err() != nil {
		orphans = s.dropAll()
	}
	s.mu.Unlock()
	rollback(orphans)
	close(mine.done)
}

// end ends the session. Transactions roll back here, or when the running call
// leaves: a transaction belongs to one goroutine at a time.
func (s *Session) end() {
	s.cancel(errEnded)
	s.mu.Lock()
	var orphans []*transaction
	if s.running == nil {
		orphans = s.dropAll()
	}
	s.mu.Unlock()
	rollback(orphans)
}

// expired tells whether the session was idle, without a stream, for too long.
func (s *Session) expired(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.attached && s.running == nil && now.Sub(s.lastUsed) >= sessionIdle
}

// sweepTransactions rolls back the transactions that were idle for too long.
func (s *Session) sweepTransactions(now time.Time) {
	s.mu.Lock()
	var idle []*transaction
	if s.running == nil {
		idle = s.dropIdle(now)
	}
	s.mu.Unlock()
	rollback(idle)
}
