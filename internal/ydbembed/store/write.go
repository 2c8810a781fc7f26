package store

import (
	"fmt"

	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
)

type writeKind uint8

const (
	putWrite writeKind = iota
	mergeWrite
	deleteWrite
)

// write is what the transaction does to one row; later writes of the same row
// are folded into it.
type write struct {
	kind  writeKind
	table *Table
	row   Row    // put: all columns; merge: the listed ones and the key
	set   []bool // merge: the listed columns
	value []byte // put: the stored form
}

// over returns the row that a merge makes of what is there, nil for nothing.
func (w *write) over(base Row) Row {
	if base == nil {
		return newRow(w.table, w.row, w.set)
	}
	return overlay(base, w.row, w.set)
}

// Put writes a whole row, whatever was there. The row is the store's from now on.
func (tx *Tx) Put(t *Table, row Row, st *Access) {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	key, ok := tx.writeKey(t, row, nil)
	if !ok {
		return
	}
	w := &write{kind: putWrite, table: t, row: row, value: appendRow(nil, t, row, nil)}
	tx.writes.Set(string(key), w)
	countUpdate(st, len(key)+len(w.value))
}

// Merge writes the listed columns over whatever is there when the transaction
// commits, without reading it; a missing row gets its other columns' defaults.
// Key columns need not be listed. row and set are the store's from now on.
func (tx *Tx) Merge(t *Table, row Row, set []bool, st *Access) {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	key, ok := tx.writeKey(t, row, set)
	if !ok {
		return
	}
	countUpdate(st, len(key)+len(appendRow(nil, t, row, set)))
	w := &write{kind: mergeWrite, table: t, row: row, set: set}
	own, _ := tx.writes.Get(string(key))
	switch {
	case own == nil:
	case own.kind == mergeWrite:
		w.row = overlay(own.row, row, set)
		w.set = append([]bool(nil), own.set...)
		for i, listed := range set {
			w.set[i] = w.set[i] || listed
		}
	default: // over a put, or over nothing after a delete
		w.row = w.over(own.row)
		w.kind, w.set, w.value = putWrite, nil, appendRow(nil, t, w.row, nil)
	}
	tx.writes.Set(string(key), w)
}

// Delete removes a row by its whole key, whether it is there or not.
func (tx *Tx) Delete(t *Table, key []types.Value, st *Access) {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	k, err := rowKey(t, key, true)
	if !tx.writable(t, err) {
		return
	}
	tx.writes.Set(string(k), &write{kind: deleteWrite, table: t})
	if st != nil {
		st.DeleteRows++
	}
}

// writeKey checks the row (its listed columns, all when set is nil) and returns
// its engine key.
func (tx *Tx) writeKey(t *Table, row Row, set []bool) ([]byte, bool) {
	if len(row) != len(t.Columns) || set != nil && len(set) != len(t.Columns) {
		err := fmt.Errorf("store: table %s has %d columns, got a row of %d", t.Path, len(t.Columns), len(row))
		return nil, tx.writable(t, err)
	}
	var err error
	for i, v := range row {
		if err == nil && (set == nil || set[i]) {
			err = checkFits(t, i, v)
		}
	}
	if err != nil {
		return nil, tx.writable(t, err)
	}
	key, err := rowKey(t, t.KeyOf(row), true)
	return key, tx.writable(t, err)
}

// writable records why a write cannot be taken: the first reason sticks.
func (tx *Tx) writable(t *Table, err error) bool {
	if err == nil {
		err = tx.usable(t)
	}
	if err == nil && tx.mode == SnapshotReadOnly {
		err = ErrReadOnly
	}
	if err != nil && tx.failed == nil {
		tx.failed = err
	}
	return err == nil
}

func countUpdate(st *Access, size int) {
	if st != nil {
		st.UpdateRows++
		st.UpdateBytes += uint64(size - tablePrefixLen)
	}
}
