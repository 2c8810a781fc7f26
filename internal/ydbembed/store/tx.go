package store

import (
	"container/list"
	"errors"
	"fmt"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/tidwall/btree"

	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
)

// Mode is a transaction's isolation.
type Mode uint8

// The modes, as YDB names them.
const (
	// Serializable locks what it reads; a commit with writes fails if any of it
	// changed since the snapshot.
	Serializable Mode = iota
	// SnapshotReadOnly reads one snapshot, locks nothing and refuses writes.
	SnapshotReadOnly
	// SnapshotReadWrite locks nothing it reads; a commit fails if a row that it
	// writes was written by another since the snapshot.
	SnapshotReadWrite
)

// Access counts what a statement did to one table: rows really taken from the
// engine, and rows and bytes handed over to be written.
type Access struct {
	ReadRows, ReadBytes     uint64
	UpdateRows, UpdateBytes uint64
	DeleteRows              uint64
}

// Tx is a transaction. One goroutine uses it at a time; it ends with Commit or
// Rollback. The first error of a write sticks and fails Commit.
type Tx struct {
	store *Store
	mode  Mode

	mu     sync.Mutex // against Close of the store
	ended  error      // nil while the transaction is open
	failed error      // first error of a write

	snap    *pebble.Snapshot // nil before the first read
	seq     uint64           // the last commit in the snapshot
	catalog *Catalog         // the scheme at the snapshot
	place   *list.Element    // among the store's readers

	tables map[uint64]*Table // touched, by number
	writes btree.Map[string, *write]
	points map[string]struct{} // locks
	spans  []span
	iters  map[*Iterator]struct{}
}

// Begin starts a transaction. Its snapshot is taken at the first read, so that
// a transaction that only writes can never conflict.
func (s *Store) Begin(mode Mode) *Tx { return &Tx{store: s, mode: mode} }

// Get reads a row by its whole key, with the transaction's own writes. need
// says which columns are wanted, nil all; the others stay NULL.
func (tx *Tx) Get(t *Table, key []types.Value, need []bool, st *Access) (Row, bool, error) {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	k, err := rowKey(t, key, true)
	if err == nil {
		err = tx.usable(t)
	}
	if err != nil {
		return nil, false, err
	}
	own, _ := tx.writes.Get(string(k))
	if own != nil && own.kind != mergeWrite {
		return own.row, own.kind == putWrite, nil
	}
	if err := tx.readable(t); err != nil {
		return nil, false, err
	}
	if tx.mode == Serializable {
		if tx.points == nil {
			tx.points = map[string]struct{}{}
		}
		tx.points[string(k)] = struct{}{}
	}
	if own != nil {
		need = nil
	}
	base, err := readRow(tx.snap, t, k, need, st)
	if err != nil {
		return nil, false, err
	}
	if own != nil {
		return own.over(base), true, nil
	}
	return base, base != nil, nil
}

// readRow reads one row from the engine; nil when it is not there.
func readRow(from pebble.Reader, t *Table, key []byte, need []bool, st *Access) (Row, error) {
	value, closer, err := from.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("store: reading table %s: %w", t.Path, explain(err))
	}
	defer closer.Close()
	row, size, err := decodeRow(t, key, value, need)
	if err == nil && st != nil {
		st.ReadRows++
		st.ReadBytes += uint64(size)
	}
	return row, err
}

// usable tells whether the transaction may go on to touch the table.
func (tx *Tx) usable(t *Table) error {
	if tx.ended != nil {
		return tx.ended
	}
	if tx.failed != nil {
		return tx.failed
	}
	known := tx.tables[t.ID]
	switch {
	case known == t:
		return nil
	case known != nil && known.Version != t.Version:
		return fmt.Errorf("%w: %s", ErrSchemeChanged, t.Path)
	case tx.tables == nil:
		tx.tables = map[uint64]*Table{}
	}
	tx.tables[t.ID] = t
	return nil
}

// readable takes the snapshot if there is none yet, and checks that the table
// looked then as the caller believes.
func (tx *Tx) readable(t *Table) error {
	if tx.snap == nil {
		if err := tx.takeSnapshot(); err != nil {
			return err
		}
	}
	if !tx.catalog.same(t) {
		return fmt.Errorf("%w: %s", ErrSchemeChanged, t.Path)
	}
	return nil
}

func (tx *Tx) takeSnapshot() error {
	s := tx.store
	if err := s.enter(); err != nil {
		return err
	}
	defer s.exit()
	s.mu.Lock()
	defer s.mu.Unlock()
	snap := s.db.NewSnapshot()
	seq, err := readSeq(snap)
	if err != nil {
		return errors.Join(err, snap.Close())
	}
	if seq > s.seq {
		s.record() // the engine took it just now
	}
	tx.snap, tx.seq = snap, seq
	tx.catalog = s.catalog.Load()
	s.open[tx] = struct{}{}
	if tx.mode != SnapshotReadOnly {
		s.readers.join(tx)
	}
	return nil
}

// Rollback ends the transaction without effect. After Commit it does nothing.
func (tx *Tx) Rollback() { tx.abandon(ErrTxDone) }

func (tx *Tx) abandon(why error) {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	tx.end(why)
}

// end gives everything back that the transaction holds. The caller holds mu.
func (tx *Tx) end(why error) {
	if tx.ended != nil {
		return
	}
	tx.ended = why
	if tx.snap == nil {
		return
	}
	for it := range tx.iters {
		it.release()
	}
	s := tx.store
	// The snapshot first: Close of the store waits for whoever is listed as open.
	s.db.closer.leave(tx.snap)
	s.mu.Lock()
	delete(s.open, tx)
	s.leave(tx)
	s.mu.Unlock()
	tx.writes, tx.points, tx.spans = btree.Map[string, *write]{}, nil, nil
}

// leave takes a transaction out of validation and forgets the history that was
// kept for it. The caller holds mu.
func (s *Store) leave(tx *Tx) {
	s.readers.leave(tx)
	oldest, any := s.readers.oldest()
	if !any {
		oldest = s.seq
	}
	s.history.trim(oldest)
}
