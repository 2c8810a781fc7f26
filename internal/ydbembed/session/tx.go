package session

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/taskfleet/taskfleet/internal/ydbembed/exec"
	"github.com/taskfleet/taskfleet/internal/ydbembed/issue"
	"github.com/taskfleet/taskfleet/internal/ydbembed/store"
)

// Mode is a transaction mode of YDB.
type Mode uint8

// The transaction modes. Online and stale read-only run on a snapshot, as the
// embedded server has no followers.
const (
	Serializable Mode = iota
	SnapshotReadOnly
	SnapshotReadWrite
	OnlineReadOnly
	StaleReadOnly
	ReadCommitted      // refused
	StrictSerializable // refused
)

var modeNames = [...]string{
	Serializable: "SerializableRW", SnapshotReadOnly: "SnapshotRO", SnapshotReadWrite: "SnapshotRW",
	OnlineReadOnly: "OnlineRO", StaleReadOnly: "StaleRO",
	ReadCommitted: "ReadCommittedRW", StrictSerializable: "StrictSerializableRW",
}

func (m Mode) readOnly() bool {
	return m == SnapshotReadOnly || m == OnlineReadOnly || m == StaleReadOnly
}

// oneShot tells the modes that a query begins, not BeginTransaction; in the
// table service the query must commit too.
func (m Mode) oneShot() bool { return m == OnlineReadOnly || m == StaleReadOnly }

// check refuses the modes that the server lacks.
func (m Mode) check() error {
	if m == ReadCommitted || m == StrictSerializable {
		return errMode(m)
	}
	return nil
}

// engineMode is the store's mode for a transaction; one that ends with a query
// that only reads needs no locks.
func (m Mode) engineMode(lastAndReadOnly bool) store.Mode {
	switch {
	case m.readOnly() || lastAndReadOnly:
		return store.SnapshotReadOnly
	case m == SnapshotReadWrite:
		return store.SnapshotReadWrite
	}
	return store.Serializable
}

// transaction is an open transaction of a session.
type transaction struct {
	id       string
	mode     Mode
	tx       *exec.Tx
	wrote    bool
	text     string // of the last query that wrote
	byQuery  bool   // begun by a query, which may never end it
	lastUsed time.Time
}

func rollback(txs []*transaction) {
	for _, t := range txs {
		t.tx.Rollback()
	}
}

// newTransactionID makes an id that is never given twice.
func newTransactionID() string { return uuid.NewString() }

// Begin opens a transaction and returns its id.
func (s *Session) Begin(ctx context.Context, mode Mode) (string, error) {
	_, leave, err := s.enter(ctx)
	if err != nil {
		return "", err
	}
	defer leave()
	s.dropAbandoned()
	if err := mode.check(); err != nil {
		return "", err
	}
	if mode.oneShot() {
		return "", errCommitRequired(mode)
	}
	t, err := s.open(mode)
	if err != nil {
		return "", err
	}
	return t.id, nil
}

// begin starts a transaction of the store.
func (m *Manager) begin(mode store.Mode) *exec.Tx {
	return exec.NewTx(m.cfg.Store.Begin(mode), m.pool)
}

// open adds a transaction to the session.
func (s *Session) open(mode Mode) (*transaction, error) {
	now := s.manager.cfg.Clock.Now()
	s.mu.Lock()
	idle := s.dropIdle(now)
	full := len(s.txs) >= maxTransactions
	s.mu.Unlock()
	rollback(idle)
	if full {
		return nil, issue.TooManyTx(maxTransactions)
	}
	t := &transaction{id: newTransactionID(), mode: mode, lastUsed: now, tx: s.manager.begin(mode.engineMode(false))}
	s.mu.Lock()
	s.txs[t.id] = t
	s.mu.Unlock()
	return t, nil
}

// dropAbandoned ends the read-only transactions that queries began and left
// open. Most clients never end those, and none comes back to one after it did
// something else in the session; what they hold would weigh on the engine.
func (s *Session) dropAbandoned() {
	s.mu.Lock()
	var abandoned []*transaction
	for id, t := range s.txs {
		if t.byQuery && t.mode.readOnly() {
			abandoned = append(abandoned, t)
			delete(s.txs, id)
		}
	}
	s.mu.Unlock()
	rollback(abandoned)
}

// find returns an open transaction; NOT_FOUND if it has ended or never was.
func (s *Session) find(id string) (*transaction, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, ok := s.txs[id]
	if !ok {
		return nil, issue.TxNotFound(id)
	}
	t.lastUsed = s.manager.cfg.Clock.Now()
	return t, nil
}

// forget takes a transaction out of the session.
func (s *Session) forget(t *transaction) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.txs, t.id)
}

// Commit commits a transaction. ABORTED means that it had no effect and that
// another commit was first.
func (s *Session) Commit(ctx context.Context, id string) error {
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	t, err := s.find(id)
	if err != nil {
		return err
	}
	s.forget(t)
	return guard(func() error { return s.manager.commit(ctx, t, "CommitTransaction") })
}

// Rollback drops a transaction.
func (s *Session) Rollback(ctx context.Context, id string) error {
	_, leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	t, err := s.find(id)
	if err != nil {
		return err
	}
	s.forget(t)
	t.tx.Rollback()
	return nil
}

// commit ends t by a commit. The call's end does not stop it half way: a commit
// is short, and one that is under way has no known outcome.
func (m *Manager) commit(ctx context.Context, t *transaction, kind string) error {
	if err := ctx.Err(); err != nil {
		t.tx.Rollback()
		return context.Cause(ctx)
	}
	if err := t.tx.Commit(context.WithoutCancel(ctx)); err != nil {
		return answer(err)
	}
	if t.wrote && m.cfg.Committed != nil {
		return m.cfg.Committed(ctx, kind, t.text)
	}
	return nil
}

// dropAll takes all transactions out of the session. s.mu is held.
func (s *Session) dropAll() []*transaction {
	all := make([]*transaction, 0, len(s.txs))
	for id, t := range s.txs {
		all = append(all, t)
		delete(s.txs, id)
	}
	return all
}

// dropIdle takes out those that were idle for too long. s.mu is held.
func (s *Session) dropIdle(now time.Time) []*transaction {
	var idle []*transaction
	for id, t := range s.txs {
		limit := txIdle
		if t.byQuery && t.mode.readOnly() {
			limit = readOnlyIdle
		}
		if now.Sub(t.lastUsed) >= limit {
			idle = append(idle, t)
			delete(s.txs, id)
		}
	}
	return idle
}
