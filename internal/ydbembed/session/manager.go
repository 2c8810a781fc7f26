package session

import (
	"context"
	"encoding/base64"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jonboulle/clockwork"

	"github.com/taskfleet/taskfleet/internal/ydbembed/issue"
	"github.com/taskfleet/taskfleet/internal/ydbembed/limits"
	"github.com/taskfleet/taskfleet/internal/ydbembed/plan"
	"github.com/taskfleet/taskfleet/internal/ydbembed/store"
)

// The bounds of what clients may hold and send, as real YDB has them.
const (
	maxSessions     = 1000
	maxTransactions = 10 // open in one session
	planCacheSize   = 1000

	sessionIdle  = 10 * time.Minute // without an attach stream
	txIdle       = 5 * time.Minute
	readOnlyIdle = 10 * time.Second // read-only and begun by a query, see dropAbandoned
)

// Config is what a Manager works with.
type Config struct {
	Store    *store.Store
	Database string          // absolute path of the root, for example /local
	Clock    clockwork.Clock // default: the real one
	Logger   *slog.Logger    // default: none

	// Committed is called after a transaction with writes was committed, with
	// the kind of the call that did it and the text of the last query that
	// wrote. An error takes the place of the answer, while the commit stays. It
	// may be nil.
	Committed func(ctx context.Context, kind, text string) error
}

// Manager holds the sessions of one server. Its methods may be called from any
// goroutine.
type Manager struct {
	cfg   Config
	plans *plan.Cache
	pool  *limits.Pool

	mu       sync.Mutex
	closed   bool
	sessions map[string]*Session
}

// New makes a Manager without sessions.
func New(cfg Config) *Manager {
	if cfg.Clock == nil {
		cfg.Clock = clockwork.NewRealClock()
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Manager{cfg: cfg, plans: plan.NewCache(planCacheSize), pool: limits.NewPool(limits.Memory, limits.Server), sessions: map[string]*Session{}}
}

// Create opens a session. It fails with OVERLOADED when there are too many.
func (m *Manager) Create() (*Session, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, errStopping()
	}
	if len(m.sessions) >= maxSessions {
		return nil, errTooManySessions()
	}
	s := m.newSession(newSessionID())
	m.sessions[s.id] = s
	return s, nil
}

// newSessionID makes an id in YDB's form: clients read the node number from it.
func newSessionID() string {
	id := uuid.New()
	return "ydb://session/3?node_id=1&id=" + base64.RawURLEncoding.EncodeToString(id[:])
}

// Get finds a session; BAD_SESSION if there is none.
func (m *Manager) Get(id string) (*Session, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s, ok := m.sessions[id]; ok {
		return s, nil
	}
	return nil, issue.SessionNotFound(id)
}

// Attach binds the session's life to a stream, which must call Delete at its
// end. A session takes one stream only.
func (m *Manager) Attach(id string) (*Session, error) {
	s, err := m.Get(id)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.attached {
		return nil, errAttached(id)
	}
	s.attached = true
	return s, nil
}

// Delete ends a session: its running query is cancelled and its transactions
// roll back. It fails with BAD_SESSION if there is none.
func (m *Manager) Delete(id string) error {
	m.mu.Lock()
	s, ok := m.sessions[id]
	delete(m.sessions, id)
	m.mu.Unlock()
	if !ok {
		return issue.SessionNotFound(id)
	}
	s.end()
	return nil
}

// Shutdown ends a session and lets its attach stream tell the client why.
func (m *Manager) Shutdown(id string) error {
	s, err := m.Get(id)
	if err != nil {
		return err
	}
	s.shutdownOnce.Do(func() { close(s.shutdown) })
	return m.Delete(id)
}

// ShutdownAll does Shutdown to every session and returns how many there were.
func (m *Manager) ShutdownAll() int {
	ended := 0
	for _, id := range m.IDs() {
		if m.Shutdown(id) == nil {
			ended++
		}
	}
	return ended
}

// IDs lists the sessions there are, in no order.
func (m *Manager) IDs() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	ids := make([]string, 0, len(m.sessions))
	for id := range m.sessions {
		ids = append(ids, id)
	}
	return ids
}

// Sweep ends the sessions and transactions that were idle for too long. Call it
// about once a second.
func (m *Manager) Sweep() {
	now := m.cfg.Clock.Now()
	for _, id := range m.IDs() {
		s, err := m.Get(id)
		if err != nil {
			continue
		}
		if s.expired(now) {
			m.cfg.Logger.Info("session expired", "session_id", id)
			_ = m.Delete(id) // gone already is as good
			continue
		}
		s.sweepTransactions(now)
	}
}

// Close ends all sessions, telling their streams. Later calls get UNAVAILABLE
// or BAD_SESSION.
func (m *Manager) Close() {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.ShutdownAll()
}
