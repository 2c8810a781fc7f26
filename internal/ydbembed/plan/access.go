package plan

import (
	"slices"

	"github.com/taskfleet/taskfleet/internal/ydbembed/store"
	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
	"github.com/taskfleet/taskfleet/internal/ydbembed/yql"
)

// Path tells which keys of a table a scan reads: leading key columns that are
// fixed to lists of values, then bounds. It covers at least the rows that the
// conditions it was made of let through.
type Path struct {
	Table  *store.Table
	Groups []Group
	Bounds []KeyBound
	fixed  int  // key columns that Groups cover
	exact  bool // it lets through nothing else, so the filter has nothing to do
}

// Group fixes N key columns, from the one where the group before ends.
type Group struct {
	N      int
	Values func(f *Frame) ([]types.Value, error) // tuples when N > 1
	Null   bool                                  // NULL is a wanted value: IS NULL
	single bool                                  // exactly one value, whatever the parameters
	text   string
}

// KeyBound limits the key columns from Start on, compared as a tuple.
type KeyBound struct {
	Start     int
	Exprs     []*Expr
	Upper     bool
	Inclusive bool
}

// Points tells that every key column is fixed: the scan is a number of lookups.
func (p *Path) Points() bool { return p.fixed == len(p.Table.Key) }

// Full tells that the whole table is read.
func (p *Path) Full() bool { return len(p.Groups) == 0 && len(p.Bounds) == 0 }

// choosing collects what the conjuncts of WHERE say about key columns.
type choosing struct {
	c      *compiler
	s      *source
	sc     *scope
	groups []candidate
	bounds []boundCandidate
}

type candidate struct {
	start int
	group Group
	term  int
}

type boundCandidate struct {
	bound KeyBound
	term  int
	exact bool
}

// choosePath derives the keys to read for one table of FROM.
func (c *compiler) choosePath(s *source, sc *scope, where []yql.Expr) (*Path, error) {
	ch := &choosing{c: c, s: s, sc: sc}
	for i, term := range where {
		if err := ch.look(term, i); err != nil {
			return nil, err
		}
	}
	p := &Path{Table: s.table}
	done := map[int]bool{}
	for {
		best := ch.group(p.fixed)
		if best == nil {
			break
		}
		p.Groups = append(p.Groups, best.group)
		p.fixed += best.group.N
		done[best.term] = true
	}
	for _, b := range ch.bounds {
		if b.bound.Start > p.fixed {
			continue
		}
		p.Bounds = append(p.Bounds, b.bound)
		if b.exact && !p.Points() {
			done[b.term] = true
		}
	}
	p.exact = len(done) == len(where)
	return p, nil
}

// group picks the best list of values for the key columns from start on.
func (ch *choosing) group(start int) *candidate {
	var best *candidate
	for i := range ch.groups {
		g := &ch.groups[i]
		if g.start != start {
			continue
		}
		if best == nil || g.group.single && !best.group.single || g.group.single == best.group.single && g.group.N > best.group.N {
			best = g
		}
	}
	return best
}

// look reads one conjunct.
func (ch *choosing) look(term yql.Expr, index int) error {
	switch e := term.(type) {
	case *yql.Binary:
		switch e.Op {
		case "OR":
			return ch.orBound(e, index)
		case "=", "<", "<=", ">", ">=":
			if err := ch.compare(e.Op, e.X, e.Y, index); err != nil {
				return err
			}
			return ch.compare(mirror[e.Op], e.Y, e.X, index)
		}
	case *yql.Between:
		if e.Not {
			return nil
		}
		if err := ch.compare(">=", e.X, e.Lo, index); err != nil {
			return err
		}
		return ch.compare("<=", e.X, e.Hi, index)
	case *yql.IsNull:
		if key := ch.key(e.X); key >= 0 && !e.Not {
			null := func(*Frame) ([]types.Value, error) { return []types.Value{types.NullValue}, nil }
			ch.groups = append(ch.groups, candidate{start: key, term: index, group: Group{N: 1, Null: true, single: true, Values: null, text: "null"}})
		}
	case *yql.In:
		return ch.in(e, index)
	}
	return nil
}

var mirror = map[string]string{"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

// key returns the place in the key of a column of the table, or -1.
func (ch *choosing) key(e yql.Expr) int {
	col, ok := e.(*yql.Column)
	if !ok {
		return -1
	}
	s, i, err := ch.sc.find(col)
	if err != nil || s != ch.s {
		return -1
	}
	return slices.Index(ch.s.table.Key, i)
}

// keys returns the place in the key where a tuple of consecutive key columns begins.
func (ch *choosing) keys(items []yql.Expr) int {
	start := -1
	for i, e := range items {
		k := ch.key(e)
		if k < 0 || i > 0 && k != start+i {
			return -1
		}
		if i == 0 {
			start = k
		}
	}
	return start
}

// fits compiles a constant for a key column; nil when it cannot be a key.
func (ch *choosing) fits(key int, e yql.Expr) (*Expr, error) {
	if !isConst(e) {
		return nil, nil
	}
	x, err := ch.c.expr(e, &scope{})
	if err != nil {
		return nil, err
	}
	if !keyable(ch.kind(key), x.Type) {
		return nil, nil
	}
	return x, nil
}

func (ch *choosing) kind(key int) types.Kind {
	return ch.s.table.Columns[ch.s.table.Key[key]].Type.Kind
}

func (ch *choosing) compare(op string, left, right yql.Expr, index int) error {
	items, values := []yql.Expr{left}, []yql.Expr{right}
	if l, ok := left.(*yql.TupleExpr); ok {
		r, ok := right.(*yql.TupleExpr)
		if !ok || len(l.Items) != len(r.Items) {
			return nil
		}
		items, values = l.Items, r.Items
	}
	start := ch.keys(items)
	if start < 0 {
		return nil
	}
	exprs := make([]*Expr, len(values))
	for i, v := range values {
		x, err := ch.fits(start+i, v)
		if err != nil || x == nil {
			return err
		}
		exprs[i] = x
	}
	if op != "=" {
		ch.bound(op, start, exprs, index, true)
		return nil
	}
	for i, x := range exprs {
		one := func(f *Frame) ([]types.Value, error) {
			v, err := x.Eval(f, nil)
			return []types.Value{v}, err
		}
		ch.groups = append(ch.groups, candidate{start: start + i, term: index, group: Group{N: 1, single: true, Values: one, text: x.Text}})
	}
	return nil
}

func (ch *choosing) bound(op string, start int, exprs []*Expr, index int, exact bool) {
	ch.bounds = append(ch.bounds, boundCandidate{term: index, exact: exact, bound: KeyBound{
		Start: start, Exprs: exprs, Upper: op[0] == '<', Inclusive: len(op) == 2,
	}})
}

// in reads key IN (..), and (key, key) IN (..).
func (ch *choosing) in(e *yql.In, index int) error {
	items := []yql.Expr{e.X}
	if t, ok := e.X.(*yql.TupleExpr); ok {
		items = t.Items
	}
	start := ch.keys(items)
	if start < 0 || e.Not || !isConst(e.Set) {
		return nil
	}
	g := Group{N: len(items), text: "IN"}
	n, err := ch.c.inSelect(e.Set)
	if err != nil {
		return err
	}
	if n != nil {
		if len(n.Columns) != 1 || !ch.listFits(start, g.N, n.Columns[0].Type) {
			return nil
		}
		g.Values = func(f *Frame) ([]types.Value, error) {
			s, err := f.Set(n)
			if err != nil {
				return nil, err
			}
			return s.Values(), nil
		}
		ch.groups = append(ch.groups, candidate{start: start, group: g, term: index})
		return nil
	}
	set, err := ch.c.inSet(e, &scope{})
	if err != nil {
		return err
	}
	if g.Values = ch.listed(start, g.N, set); g.Values != nil {
		ch.groups = append(ch.groups, candidate{start: start, group: g, term: index})
	}
	return nil
}

// listed gives the values of an IN list; nil when they cannot be keys.
func (ch *choosing) listed(start, n int, set []*Expr) func(*Frame) ([]types.Value, error) {
	if len(set) == 1 {
		t := set[0].Type.Unwrap()
		if t.Kind == types.List && ch.listFits(start, n, t.Elem) {
			return func(f *Frame) ([]types.Value, error) {
				v, err := set[0].Eval(f, nil)
				return v.Items(), err
			}
		}
	}
	for _, x := range set {
		if !ch.listFits(start, n, x.Type) {
			return nil
		}
	}
	return func(f *Frame) ([]types.Value, error) {
		out := make([]types.Value, len(set))
		for i, x := range set {
			v, err := x.Eval(f, nil)
			if err != nil {
				return nil, err
			}
			out[i] = v
		}
		return out, nil
	}
}

func (ch *choosing) listFits(start, n int, t *types.Type) bool {
	t = t.Unwrap()
	if n == 1 {
		return t.Kind != types.Tuple && keyable(ch.kind(start), t)
	}
	if t.Kind != types.Tuple || len(t.Fields) != n {
		return false
	}
	for i, f := range t.Fields {
		if !keyable(ch.kind(start+i), f.Type) {
			return false
		}
	}
	return true
}
