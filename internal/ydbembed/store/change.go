package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// step is one change in the store's history: what becomes of the store when the
// engine has it.
type step struct {
	seq     uint64
	keys    []string // that it wrote, if transactions may have read them
	catalog *Catalog // nil when the scheme stays
}

// change is the only way to write. One at a time, in the section, decide
// completes the batch and says what changes; then the engine takes the batch,
// which makes it visible, and last it is on disk, where one flush serves
// everyone who waits. Neither section nor engine is waited for while the disk is
// full or fails: the engine may stand still then, and goes on later.
func (s *Store) change(batch *pebble.Batch, decide func() (*step, error)) error {
	st, err := s.enterSection(batch, decide)
	if err != nil {
		return errors.Join(err, batch.Close())
	}
	done := make(chan error, 1)
	s.applying.Add(1)
	s.syncing.Go(func() { done <- s.write(batch, st) })
	select {
	case err := <-done:
		return err
	case <-s.db.space.isStuck():
	}
	select {
	case err := <-done:
		return err
	case <-time.After(stuckGrace):
		return fmt.Errorf("%w: %w", ErrUndetermined, s.db.space.cause())
	}
}

func (s *Store) enterSection(batch *pebble.Batch, decide func() (*step, error)) (st *step, err error) {
	if err := s.durable.failure(); err != nil {
		return nil, err
	}
	if err := s.db.space.admit(batch.Len()); err != nil {
		return nil, err
	}
	select {
	case s.section <- struct{}{}:
	default:
		select {
		case s.section <- struct{}{}:
		case <-s.db.space.isStuck():
			return nil, s.db.space.cause()
		}
	}
	entered := false
	defer func() { // also when decide panics
		if !entered {
			<-s.section
		}
	}()
	if err = s.durable.failure(); err != nil { // again: the one before may have failed
		return nil, err
	}
	if st, err = decide(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	st.seq = s.seq + 1
	if err = writeSeq(batch, st.seq); err != nil {
		return nil, err
	}
	s.next = st
	entered = true
	return st, nil
}

// write brings a batch into the engine, leaves the section, and waits until the
// batch is on disk.
func (s *Store) write(batch *pebble.Batch, st *step) error {
	err := s.apply(batch)
	if err == nil {
		err = batch.SyncWait()
	}
	if err != nil {
		s.durable.fail(err)
		return fmt.Errorf("%w: %w", ErrUndetermined, err)
	}
	s.durable.raise(st.seq)
	return batch.Close()
}

// apply leaves the section behind. The engine panics when its log has failed.
func (s *Store) apply(batch *pebble.Batch) (err error) {
	defer s.applying.Done()
	defer func() { <-s.section }()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("store: engine: %v", p)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if err != nil {
			s.next = nil
		}
		s.record()
	}()
	return s.db.ApplyNoSyncWait(batch, pebble.Sync)
}

// record makes the change that the engine has taken part of the store's
// history. The caller holds mu.
func (s *Store) record() {
	st := s.next
	if st == nil {
		return
	}
	s.next, s.seq = nil, st.seq
	if _, any := s.readers.oldest(); any && len(st.keys) > 0 {
		s.history.add(st.seq, st.keys)
	}
	if st.catalog != nil {
		s.catalog.Store(st.catalog)
	}
}

// Each change writes its own number, so that a snapshot of the engine knows
// which is the latest that it includes.
var seqKey = []byte{seqSpace}

func writeSeq(batch *pebble.Batch, seq uint64) error {
	return batch.Set(seqKey, binary.BigEndian.AppendUint64(nil, seq), nil)
}

// readSeq returns 0 when nothing was ever written.
func readSeq(from pebble.Reader) (uint64, error) {
	value, closer, err := from.Get(seqKey)
	if errors.Is(err, pebble.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("store: reading the number of the latest change: %w", explain(err))
	}
	defer closer.Close()
	if len(value) != 8 {
		return 0, fmt.Errorf("%w: number of the latest change", ErrCorrupt)
	}
	return binary.BigEndian.Uint64(value), nil
}
