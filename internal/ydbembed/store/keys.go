package store

import (
	"encoding/binary"
	"fmt"

	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
)

// The first byte of an engine key.
const (
	schemeSpace = 's' // then a path, or nothing: the header
	metaSpace   = 'm' // then the record's name
	seqSpace    = 'n' // alone: the number of the latest change
	tableSpace  = 't' // then the table's number, 8 bytes, and the row's key
)

const tablePrefixLen = 9

// span is a half-open range of engine keys.
type span struct{ lower, upper string }

func tablePrefix(t *Table) []byte {
	return binary.BigEndian.AppendUint64([]byte{tableSpace}, t.ID)
}

func tableSpan(t *Table) span {
	p := tablePrefix(t)
	return span{string(p), string(after(p))}
}

// after returns the least key greater than all keys that begin with prefix.
func after(prefix []byte) []byte {
	end := append([]byte(nil), prefix...)
	for i := len(end) - 1; i >= 0; i-- {
		end[i]++
		if end[i] != 0 {
			return end[:i+1]
		}
	}
	return nil
}

// rowKey encodes leading key values of a table's row; all of them when full.
func rowKey(t *Table, key []types.Value, full bool) ([]byte, error) {
	if len(key) > len(t.Key) || full && len(key) != len(t.Key) {
		return nil, fmt.Errorf("store: table %s has %d key columns, got %d values", t.Path, len(t.Key), len(key))
	}
	b := make([]byte, 0, tablePrefixLen+16*len(key))
	b = append(b, tableSpace)
	b = binary.BigEndian.AppendUint64(b, t.ID)
	for i, v := range key {
		if err := checkFits(t, t.Key[i], v); err != nil {
			return nil, err
		}
		b = types.AppendKey(b, v)
	}
	return b, nil
}

func checkFits(t *Table, column int, v types.Value) error {
	c := &t.Columns[column]
	if !v.Fits(c.Type.Kind) {
		return fmt.Errorf("store: column %s of table %s wants %s, got %s", c.Name, t.Path, c.Type, v.Kind())
	}
	return nil
}

// bounds turns a range into a span of engine keys.
func bounds(t *Table, r Range) (span, error) {
	sp := tableSpan(t)
	if r.From != nil {
		b, err := rowKey(t, r.From.Prefix, false)
		if err != nil {
			return sp, err
		}
		if !r.From.Inclusive {
			b = after(b)
		}
		sp.lower = string(b)
	}
	if r.To != nil {
		b, err := rowKey(t, r.To.Prefix, false)
		if err != nil {
			return sp, err
		}
		if r.To.Inclusive {
			b = after(b)
		}
		sp.upper = string(b)
	}
	return sp, nil
}
