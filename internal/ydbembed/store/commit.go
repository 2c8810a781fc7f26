package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// Commit ends the transaction and makes its writes visible and durable. It
// returns a *ConflictError or ErrSchemeChanged when it lost against another
// and may be run again; ErrNoSpace, ErrStalled or ErrFailed when it was not begun
// since the disk is full or fails; ErrUndetermined when that was found out at the
// last step.
// Without writes it cannot conflict; it waits until what was read is on disk.
func (tx *Tx) Commit(ctx context.Context) error {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	if tx.ended != nil {
		return tx.ended
	}
	defer tx.end(ErrTxDone)
	if tx.failed != nil {
		return tx.failed
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	s := tx.store
	if err := s.enter(); err != nil {
		return err
	}
	defer s.exit()
	if tx.writes.Len() == 0 {
		return s.durable.wait(ctx, tx.seq, s.db.space)
	}
	batch := s.db.NewBatch()
	keys, err := tx.fill(batch)
	if err != nil {
		return errors.Join(err, batch.Close())
	}
	return s.change(batch, func() (*step, error) { return tx.decide(batch, keys) })
}

// fill puts the writes that need no look at the present rows into the batch.
func (tx *Tx) fill(batch *pebble.Batch) (keys []string, err error) {
	keys = make([]string, 0, tx.writes.Len())
	tx.writes.Scan(func(key string, w *write) bool {
		keys = append(keys, key)
		switch w.kind {
		case putWrite:
			err = batch.Set([]byte(key), w.value, nil)
		case deleteWrite:
			err = batch.Delete([]byte(key), nil)
		}
		return err == nil
	})
	return keys, err
}

// decide validates and completes the transaction, as part of a change.
func (tx *Tx) decide(batch *pebble.Batch, keys []string) (*step, error) {
	s := tx.store
	s.mu.Lock()
	err := tx.validate(keys)
	if err == nil {
		s.leave(tx)
	}
	s.mu.Unlock()
	if err == nil {
		err = tx.merge(batch)
	}
	return &step{keys: keys}, err
}

func (tx *Tx) validate(keys []string) error {
	s := tx.store
	now := s.catalog.Load()
	for _, t := range tx.tables {
		if !now.same(t) {
			return fmt.Errorf("%w: %s", ErrSchemeChanged, t.Path)
		}
	}
	if tx.snap == nil || tx.seq == s.seq {
		return nil
	}
	if tx.mode == SnapshotReadWrite {
		for _, k := range keys {
			if s.history.keyChanged(k, tx.seq) {
				return tx.conflict(k)
			}
		}
		return tx.remembered()
	}
	for k := range tx.points {
		if s.history.keyChanged(k, tx.seq) {
			return tx.conflict(k)
		}
	}
	for _, sp := range tx.spans {
		if s.history.spanChanged(sp, tx.seq) {
			return tx.conflict(sp.lower)
		}
	}
	return tx.remembered()
}

// remembered fails a transaction that was open for longer than the history goes.
func (tx *Tx) remembered() error {
	locked := len(tx.points)+len(tx.spans) > 0 || tx.mode == SnapshotReadWrite
	if locked && tx.seq < tx.store.history.floor {
		for _, t := range tx.tables {
			return &ConflictError{Table: t.Path}
		}
	}
	return nil
}

func (tx *Tx) conflict(key string) error {
	id := binary.BigEndian.Uint64([]byte(key[1:tablePrefixLen]))
	return &ConflictError{Table: tx.tables[id].Path}
}

// merge lays the partial writes over the rows as they are now.
func (tx *Tx) merge(batch *pebble.Batch) (err error) {
	tx.writes.Scan(func(key string, w *write) bool {
		if w.kind != mergeWrite {
			return true
		}
		var base Row
		if base, err = readRow(tx.store.db, w.table, []byte(key), nil, nil); err == nil {
			err = batch.Set([]byte(key), appendRow(nil, w.table, w.over(base), nil), nil)
		}
		return err == nil
	})
	return err
}
