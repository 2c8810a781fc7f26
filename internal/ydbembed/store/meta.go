package store

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

func metaKey(name string) []byte { return append([]byte{metaSpace}, name...) }

// MetaGet reads a small record.
func (s *Store) MetaGet(key string) ([]byte, bool, error) {
	if err := s.enter(); err != nil {
		return nil, false, err
	}
	defer s.exit()
	value, closer, err := s.db.Get(metaKey(key))
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("store: reading record %q: %w", key, explain(err))
	}
	defer closer.Close()
	return append([]byte{}, value...), true, nil
}

// MetaPut writes a small record; it is on disk when MetaPut returns.
func (s *Store) MetaPut(key string, v []byte) error {
	return s.MetaBatch(map[string][]byte{key: v}, nil)
}

// MetaBatch writes and deletes small records in one step; all of it is on disk
// when it returns. A key that is both put and deleted is deleted.
func (s *Store) MetaBatch(puts map[string][]byte, deletes []string) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.exit()
	batch := s.db.NewBatch()
	for k, v := range puts {
		if err := batch.Set(metaKey(k), v, nil); err != nil {
			return errors.Join(fmt.Errorf("store: writing record %q: %w", k, err), batch.Close())
		}
	}
	for _, k := range deletes {
		if err := batch.Delete(metaKey(k), nil); err != nil {
			return errors.Join(fmt.Errorf("store: deleting record %q: %w", k, err), batch.Close())
		}
	}
	return s.change(batch, func() (*step, error) { return &step{}, nil })
}

// MetaScan calls f with the records whose keys begin with prefix, in key
// order, as they were at the call, until f returns an error, which it returns.
func (s *Store) MetaScan(prefix string, f func(k string, v []byte) error) error {
	if err := s.enter(); err != nil {
		return err
	}
	records, err := collect(s.db, metaKey(prefix))
	s.exit()
	if err != nil {
		return err
	}
	for _, r := range records {
		if err := f(r.key[1:], r.value); err != nil {
			return err
		}
	}
	return nil
}

type record struct {
	key   string
	value []byte
}

// collect reads all records whose engine keys begin with prefix.
func collect(from pebble.Reader, prefix []byte) (out []record, err error) {
	it, err := from.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: after(prefix)})
	if err != nil {
		return nil, fmt.Errorf("store: reading records: %w", explain(err))
	}
	for ok := it.First(); ok && err == nil; ok = it.Next() {
		var v []byte
		if v, err = it.ValueAndErr(); err == nil {
			out = append(out, record{string(it.Key()), append([]byte{}, v...)})
		}
	}
	if err = errors.Join(err, it.Close()); err != nil {
		return nil, fmt.Errorf("store: reading records: %w", explain(err))
	}
	return out, nil
}
