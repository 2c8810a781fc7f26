package store

import (
	"encoding/binary"
	"fmt"

	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
)

// Row holds values by position in Table.Columns. Rows that were given to or
// came from a transaction are shared: nobody changes them afterwards.
type Row = []types.Value

// appendRow appends a row's stored form: for each non-key column in order, its
// number and its value. NULL is left out, except where its absence would mean
// the column's initial value.
func appendRow(dst []byte, t *Table, row Row, set []bool) []byte {
	for i := range t.Columns {
		c := &t.Columns[i]
		if t.IsKey(i) || set != nil && !set[i] || row[i].IsNull() && c.Initial == nil {
			continue
		}
		dst = binary.AppendUvarint(dst, uint64(c.ID))
		dst = types.AppendStored(dst, row[i])
	}
	return dst
}

// decodeRow reads the needed columns (all when need is nil) of an engine entry
// and returns how many bytes they take.
func decodeRow(t *Table, key, value []byte, need []bool) (Row, int, error) {
	row := make(Row, len(t.Columns))
	size := len(key) - tablePrefixLen
	if err := decodeRowKey(t, key, row, need); err != nil {
		return nil, 0, err
	}
	next := 0 // columns before it are done; columns are in order of their numbers
	for len(value) > 0 {
		id, n := binary.Uvarint(value)
		if n <= 0 {
			return nil, 0, damaged(t, "column number")
		}
		for next < len(t.Columns) && uint64(t.Columns[next].ID) < id {
			fillInitial(t, next, row, need)
			next++
		}
		value = value[n:]
		if next == len(t.Columns) || uint64(t.Columns[next].ID) != id || need != nil && !need[next] {
			_, _, rest, err := types.SplitStored(value) // dropped, or not wanted
			if err != nil {
				return nil, 0, damaged(t, err.Error())
			}
			value = rest
			if next < len(t.Columns) && uint64(t.Columns[next].ID) == id {
				next++
			}
			continue
		}
		v, rest, err := types.DecodeStored(t.Columns[next].Type, value)
		if err != nil {
			return nil, 0, damaged(t, err.Error())
		}
		row[next] = v
		size += len(value) - len(rest)
		value = rest
		next++
	}
	for ; next < len(t.Columns); next++ {
		fillInitial(t, next, row, need)
	}
	return row, size, nil
}

func fillInitial(t *Table, i int, row Row, need []bool) {
	if c := &t.Columns[i]; c.Initial != nil && !t.IsKey(i) && (need == nil || need[i]) {
		row[i] = *c.Initial
	}
}

// decodeRowKey stops after the last key column that is needed.
func decodeRowKey(t *Table, key []byte, row Row, need []bool) error {
	last := len(t.Key) - 1
	for need != nil && last >= 0 && !need[t.Key[last]] {
		last--
	}
	if len(key) < tablePrefixLen {
		return damaged(t, "short key")
	}
	rest := key[tablePrefixLen:]
	for _, c := range t.Key[:last+1] {
		var err error
		if row[c], rest, err = types.DecodeKey(t.Columns[c].Type, rest); err != nil {
			return damaged(t, err.Error())
		}
	}
	return nil
}

// newRow is what a partial write of a missing row makes: listed columns, and
// defaults for the others.
func newRow(t *Table, row Row, set []bool) Row {
	out := make(Row, len(t.Columns))
	for i := range t.Columns {
		switch c := &t.Columns[i]; {
		case set[i] || t.IsKey(i):
			out[i] = row[i]
		case c.Default != nil:
			out[i] = *c.Default
		}
	}
	return out
}

// overlay puts the listed columns of row over base.
func overlay(base, row Row, set []bool) Row {
	out := append(Row(nil), base...)
	for i, listed := range set {
		if listed {
			out[i] = row[i]
		}
	}
	return out
}

func damaged(t *Table, what string) error {
	return fmt.Errorf("%w: table %s: %s", ErrCorrupt, t.Path, what)
}
