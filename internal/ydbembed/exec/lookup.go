package exec

import (
	"github.com/taskfleet/taskfleet/internal/ydbembed/plan"
	"github.com/taskfleet/taskfleet/internal/ydbembed/store"
	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
)

// lookupRows joins each left row with the table rows of its key; every distinct
// key is read once.
type lookupRows struct {
	run   *run
	node  *plan.Lookup
	left  rows
	st    *store.Access
	cache map[string][][]types.Value
	held  holding

	row     []types.Value   // the left row that is joined
	matches [][]types.Value // table rows that are left for it
	matched bool
}

func (r *run) openLookup(n *plan.Lookup) (rows, error) {
	left, err := r.open(n.Left)
	if err != nil {
		return nil, err
	}
	return &lookupRows{run: r, node: n, left: left, st: r.st.Access(n.Table), cache: map[string][][]types.Value{}, held: r.holding()}, nil
}

func (l *lookupRows) next() ([]types.Value, bool, error) {
	for {
		for len(l.matches) > 0 {
			joined := join(l.row, l.matches[0])
			l.matches = l.matches[1:]
			ok, err := l.run.holds(l.node.Residual, joined)
			if err != nil {
				return nil, false, err
			}
			if !ok {
				continue
			}
			l.matched = true
			switch l.node.Kind {
			case plan.LeftOnly:
				l.matches = nil
			case plan.LeftSemi:
				l.matches = nil
				return l.row, true, nil
			default:
				return joined, true, nil
			}
		}
		if l.row != nil && !l.matched {
			row := l.row
			l.row = nil
			switch l.node.Kind {
			case plan.Left:
				return join(row, make([]types.Value, len(l.node.Table.Columns))), true, nil
			case plan.LeftOnly:
				return row, true, nil
			}
		}
		row, ok, err := l.left.next()
		if err != nil || !ok {
			return nil, false, err
		}
		if err := l.run.frame.Alive(); err != nil {
			return nil, false, err
		}
		l.row, l.matched = row, false
		if l.matches, err = l.find(row); err != nil {
			return nil, false, err
		}
	}
}

// find returns the table rows that have the key of a left row.
func (l *lookupRows) find(row []types.Value) ([][]types.Value, error) {
	t := l.node.Table
	key := make([]types.Value, len(l.node.Keys))
	l.run.frame.Budget.Row()
	for i, x := range l.node.Keys {
		v, err := x.Eval(l.run.frame, row)
		if err != nil || v.IsNull() {
			return nil, err
		}
		off := 0
		if key[i], off = plan.KeyValue(t.Columns[t.Key[i]].Type.Kind, v); off != 0 {
			return nil, nil
		}
	}
	name := rowKey(key)
	if found, ok := l.cache[name]; ok {
		return found, nil
	}
	found, err := l.read(key)
	if err != nil {
		return nil, err
	}
	l.cache[name] = found
	return found, l.held.key(name)
}

func (l *lookupRows) read(key []types.Value) ([][]types.Value, error) {
	t, tx := l.node.Table, l.run.tx
	if len(key) == len(t.Key) {
		row, ok, err := tx.Get(t, key, l.node.Need, l.st)
		if err != nil || !ok {
			return nil, err
		}
		return [][]types.Value{row}, l.held.row(row)
	}
	b := &store.Bound{Prefix: key, Inclusive: true}
	it := tx.Scan(t, store.Range{From: b, To: b}, false, l.node.Need, l.st)
	defer it.Close()
	var out [][]types.Value
	for {
		row, ok, err := it.Next()
		if err != nil || !ok {
			return out, err
		}
		if err := l.run.frame.Alive(); err != nil {
			return nil, err
		}
		if err := l.held.row(row); err != nil {
			return nil, err
		}
		out = append(out, row)
	}
}

func (l *lookupRows) close() {
	l.left.close()
	l.held.free()
}

func join(left, right []types.Value) []types.Value {
	out := make([]types.Value, 0, len(left)+len(right))
	return append(append(out, left...), right...)
}

// holds reports whether a condition is true of a row; no condition is.
func (r *run) holds(cond *plan.Expr, row []types.Value) (bool, error) {
	if cond == nil {
		return true, nil
	}
	r.frame.Budget.Row()
	return cond.True(r.frame, row)
}
