package store

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/tidwall/btree"

	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
)

// Bound is one end of a range: the leading key values at which it lies, and
// whether the keys that begin with them belong to the range.
type Bound struct {
	Prefix    []types.Value
	Inclusive bool
}

var errExhausted = errors.New("store: iterator is exhausted")

// Range is a range of a table's keys; a nil end is unbounded.
type Range struct{ From, To *Bound }

// Iterator walks over a range in key order or against it. It reads from the
// engine only when asked for the next row, and ends with its transaction.
type Iterator struct {
	tx      *Tx
	table   *Table
	span    span
	reverse bool
	need    []bool
	st      *Access
	err     error // why there is nothing more

	engine   *pebble.Iterator
	engineOK bool
	own      btree.MapIter[string, *write]
	ownOK    bool
}

// Scan walks over the rows of a range, with the transaction's own writes up to
// now. A Serializable transaction locks the whole range at once, however far
// it is read, as YDB does. Errors come from Next.
func (tx *Tx) Scan(t *Table, r Range, reverse bool, need []bool, st *Access) *Iterator {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	it := &Iterator{tx: tx, table: t, reverse: reverse, need: need, st: st}
	if it.err = tx.usable(t); it.err == nil {
		it.err = tx.readable(t)
	}
	if it.err == nil {
		it.span, it.err = bounds(t, r)
	}
	if it.err != nil {
		return it
	}
	if tx.mode == Serializable {
		tx.spans = append(tx.spans, it.span)
	}
	if tx.writes.Len() > 0 {
		it.own = tx.writes.Copy().Iter()
		it.seekOwn()
	}
	if tx.iters == nil {
		tx.iters = map[*Iterator]struct{}{}
	}
	tx.iters[it] = struct{}{}
	return it
}

// Next returns the next row, or false at the end. After false or an error the
// iterator is closed.
func (it *Iterator) Next() (Row, bool, error) {
	it.tx.mu.Lock()
	defer it.tx.mu.Unlock()
	if it.err == nil && it.engine == nil {
		it.err = it.seekEngine()
	}
	for it.err == nil && (it.engineOK || it.ownOK) {
		row, err := it.step()
		if err != nil {
			it.err = err
			break
		}
		if row != nil {
			return row, true, nil
		}
	}
	if it.err == nil && it.engine != nil {
		if err := it.engine.Error(); err != nil {
			it.err = fmt.Errorf("store: reading table %s: %w", it.table.Path, explain(err))
		}
	}
	err := it.err
	it.release()
	if errors.Is(err, errExhausted) {
		err = nil
	}
	return nil, false, err
}

// step takes the nearer of the two next entries, or both when they are of one
// row; it returns nil for a row that the transaction has deleted.
func (it *Iterator) step() (Row, error) {
	order := 0 // of the engine's entry against the own one
	switch {
	case !it.ownOK:
		order = -1
	case !it.engineOK:
		order = 1
	default:
		order = strings.Compare(string(it.engine.Key()), it.own.Key())
		if it.reverse {
			order = -order
		}
	}
	var row Row
	var w *write
	if order >= 0 {
		w = it.own.Value()
		row = w.row // nil of a delete
	}
	if order <= 0 && (w == nil || w.kind == mergeWrite) {
		need := it.need
		if w != nil {
			need = nil
		}
		base, err := it.readEngine(need)
		if err != nil {
			return nil, err
		}
		row = base
	} else if w != nil && w.kind == mergeWrite {
		row = nil // nothing below
	}
	if w != nil && w.kind == mergeWrite {
		row = w.over(row)
	}
	if order <= 0 {
		it.engineOK = it.advanceEngine()
	}
	if order >= 0 {
		it.advanceOwn()
	}
	return row, nil
}

func (it *Iterator) readEngine(need []bool) (Row, error) {
	value, err := it.engine.ValueAndErr()
	if err != nil {
		return nil, fmt.Errorf("store: reading table %s: %w", it.table.Path, explain(err))
	}
	row, size, err := decodeRow(it.table, it.engine.Key(), value, need)
	if err == nil && it.st != nil {
		it.st.ReadRows++
		it.st.ReadBytes += uint64(size)
	}
	return row, err
}

func (it *Iterator) seekEngine() error {
	if it.span.lower >= it.span.upper {
		return errExhausted
	}
	var err error
	it.engine, err = it.tx.snap.NewIter(&pebble.IterOptions{
		LowerBound: []byte(it.span.lower), UpperBound: []byte(it.span.upper),
	})
	if err != nil {
		return fmt.Errorf("store: reading table %s: %w", it.table.Path, explain(err))
	}
	if it.reverse {
		it.engineOK = it.engine.Last()
	} else {
		it.engineOK = it.engine.First()
	}
	return nil
}

func (it *Iterator) advanceEngine() bool {
	if it.reverse {
		return it.engine.Prev()
	}
	return it.engine.Next()
}

func (it *Iterator) seekOwn() {
	found := it.own.Seek(it.span.lower)
	if it.reverse {
		if found = it.own.Seek(it.span.upper); found {
			found = it.own.Prev()
		} else {
			found = it.own.Last()
		}
	}
	it.ownOK = found && it.ownInside()
}

func (it *Iterator) advanceOwn() {
	if it.reverse {
		it.ownOK = it.own.Prev()
	} else {
		it.ownOK = it.own.Next()
	}
	it.ownOK = it.ownOK && it.ownInside()
}

func (it *Iterator) ownInside() bool {
	return it.own.Key() >= it.span.lower && it.own.Key() < it.span.upper
}

// Close gives the iterator's resources back; it may be called at any time and
// more than once.
func (it *Iterator) Close() {
	it.tx.mu.Lock()
	defer it.tx.mu.Unlock()
	it.release()
}

// release closes the iterator. The caller holds the transaction's mu.
func (it *Iterator) release() {
	if it.engine != nil {
		if err := it.engine.Close(); err != nil && it.err == nil {
			it.err = err
		}
		it.engine = nil
	}
	it.engineOK, it.ownOK = false, false
	if it.err == nil {
		if it.err = it.tx.ended; it.err == nil {
			it.err = errExhausted
		}
	}
	delete(it.tx.iters, it)
}
