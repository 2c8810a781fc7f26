package plan

import (
	"slices"

	"github.com/taskfleet/taskfleet/internal/ydbembed/store"
	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
)

// Keys walks over the keys that a Path covers in one run, in key order or
// against it.
type Keys struct {
	path    *Path
	reverse bool
	lists   [][][]types.Value // by group: the sorted tuples
	at      []int             // odometer over lists
	bounds  []edgeBound
	done    bool
}

type edgeBound struct {
	start int
	upper bool
	edge  edge
}

// edge is a place between keys: before or after all keys that begin with the tuple.
type edge struct {
	tuple []types.Value
	after bool
}

func compareEdges(a, b edge) int {
	for i := range min(len(a.tuple), len(b.tuple)) {
		if c := types.Compare(a.tuple[i], b.tuple[i]); c != 0 {
			return c
		}
	}
	switch la, lb := len(a.tuple), len(b.tuple); {
	case la < lb:
		return beyond(a.after)
	case la > lb:
		return -beyond(b.after)
	case a.after == b.after:
		return 0
	}
	return beyond(a.after)
}

// beyond is 1 for an edge after its keys, -1 for one before them.
func beyond(after bool) int {
	if after {
		return 1
	}
	return -1
}

// keyBytes is what a value takes in the lists of a Keys.
const keyBytes = 100

// Open computes the values of a run.
func (p *Path) Open(f *Frame, reverse bool) (*Keys, error) {
	k := &Keys{path: p, reverse: reverse, at: make([]int, len(p.Groups))}
	start := 0
	for i, g := range p.Groups {
		values, err := g.Values(f)
		if err != nil {
			return nil, err
		}
		if err := f.Budget.Hold(len(values) * g.N * keyBytes); err != nil {
			return nil, err
		}
		list := p.tuples(g, start, values)
		if len(list) == 0 {
			k.done = true
			return k, nil
		}
		k.lists = append(k.lists, list)
		if reverse {
			k.at[i] = len(list) - 1
		}
		start += g.N
	}
	for _, b := range p.Bounds {
		eb, empty, err := p.edge(f, b)
		if err != nil {
			return nil, err
		}
		k.done = k.done || empty
		k.bounds = append(k.bounds, eb)
	}
	return k, nil
}

// tuples converts the values of a group to keys, sorted and without repetition.
func (p *Path) tuples(g Group, start int, values []types.Value) [][]types.Value {
	out := make([][]types.Value, 0, len(values))
next:
	for _, v := range values {
		tuple := []types.Value{v}
		if g.N > 1 {
			if v.IsNull() {
				continue
			}
			tuple = slices.Clone(v.Items())
		}
		for i, item := range tuple {
			if item.IsNull() && !g.Null {
				continue next
			}
			key, off := p.key(start+i, item)
			if off != 0 {
				continue next
			}
			tuple[i] = key
		}
		out = append(out, tuple)
	}
	slices.SortFunc(out, compareTuples)
	return slices.CompactFunc(out, func(a, b []types.Value) bool { return compareTuples(a, b) == 0 })
}

func compareTuples(a, b []types.Value) int {
	return slices.CompareFunc(a, b, types.Compare)
}

func (p *Path) key(i int, v types.Value) (types.Value, int) {
	return KeyValue(p.Table.Columns[p.Table.Key[i]].Type.Kind, v)
}

// KeyValue makes a value the kind of a key column. When the column cannot hold
// it, off tells on which side of all its values it lies.
func KeyValue(column types.Kind, v types.Value) (key types.Value, off int) {
	k := v.Kind()
	switch {
	case k == types.Null || k == column:
		return v, 0
	case isPlainText(k):
		return types.TextValue(column, v.Text()), 0
	}
	if out, ok := toInt(v, column); ok {
		return out, 0
	}
	if k.IsSigned() && v.Int() < 0 {
		return v, -1
	}
	return v, 1
}

// edge computes a bound; empty tells that no key can satisfy it.
func (p *Path) edge(f *Frame, b KeyBound) (out edgeBound, empty bool, err error) {
	out = edgeBound{start: b.Start, upper: b.Upper}
	inclusive := b.Inclusive
	for i, x := range b.Exprs {
		v, err := x.Eval(f, nil)
		if err != nil {
			return out, false, err
		}
		if v.IsNull() { // comparing goes no further, and what is equal so far is not known to hold
			inclusive = false
			empty = i == 0
			break
		}
		key, off := p.key(b.Start+i, v)
		if off != 0 {
			inclusive = (off < 0) != b.Upper
			empty = i == 0 && !inclusive
			break
		}
		out.edge.tuple = append(out.edge.tuple, key)
	}
	out.edge.after = inclusive == b.Upper
	return out, empty, nil
}

// Next returns the next key range; point tells that From holds a whole key and
// the range is that key.
func (k *Keys) Next() (r store.Range, point bool, ok bool) {
	for !k.done {
		prefix := k.prefix()
		k.advance()
		if len(prefix) == len(k.path.Table.Key) {
			return store.Range{From: &store.Bound{Prefix: prefix, Inclusive: true}}, true, true
		}
		if r, ok := k.narrow(prefix); ok {
			return r, false, true
		}
	}
	return store.Range{}, false, false
}

func (k *Keys) prefix() []types.Value {
	var out []types.Value
	for i, list := range k.lists {
		out = append(out, list[k.at[i]]...)
	}
	return out
}

// advance turns the odometer, the last group fastest.
func (k *Keys) advance() {
	for i := len(k.at) - 1; i >= 0; i-- {
		switch {
		case !k.reverse && k.at[i]+1 < len(k.lists[i]):
			k.at[i]++
			return
		case k.reverse && k.at[i] > 0:
			k.at[i]--
			return
		case k.reverse:
			k.at[i] = len(k.lists[i]) - 1
		default:
			k.at[i] = 0
		}
	}
	k.done = true
}

// narrow meets the keys that begin with prefix with all bounds.
func (k *Keys) narrow(prefix []types.Value) (store.Range, bool) {
	lo, hi := edge{tuple: prefix}, edge{tuple: prefix, after: true}
	for _, b := range k.bounds {
		e := edge{tuple: append(slices.Clip(prefix[:b.start]), b.edge.tuple...), after: b.edge.after}
		if b.upper {
			if compareEdges(e, hi) < 0 {
				hi = e
			}
			if n := k.firstNull(b.start); n { // NULL is below every value, and not wanted
				e := edge{tuple: append(slices.Clip(prefix[:b.start]), types.NullValue), after: true}
				if compareEdges(e, lo) > 0 {
					lo = e
				}
			}
			continue
		}
		if compareEdges(e, lo) > 0 {
			lo = e
		}
	}
	if compareEdges(lo, hi) >= 0 {
		return store.Range{}, false
	}
	return store.Range{From: bound(lo, !lo.after), To: bound(hi, hi.after)}, true
}

// firstNull tells whether the key column may hold NULL.
func (k *Keys) firstNull(i int) bool {
	t := k.path.Table
	return !t.Columns[t.Key[i]].NotNull
}

func bound(e edge, inclusive bool) *store.Bound {
	if len(e.tuple) == 0 {
		return nil
	}
	return &store.Bound{Prefix: e.tuple, Inclusive: inclusive}
}
