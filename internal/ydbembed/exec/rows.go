package exec

import (
	"github.com/taskfleet/taskfleet/internal/ydbembed/issue"
	"github.com/taskfleet/taskfleet/internal/ydbembed/plan"
	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
)

// rows makes rows when asked. A row that was given out is not changed later.
type rows interface {
	next() (row []types.Value, ok bool, err error)
	close()
}

// open starts to read a source.
func (r *run) open(n plan.Node) (rows, error) {
	switch n := n.(type) {
	case *plan.One:
		return &listRows{list: [][]types.Value{nil}}, nil
	case *plan.Rows:
		return &valuesRows{run: r, node: n}, nil
	case *plan.AsTable:
		return r.openList(n)
	case *plan.Ref:
		return r.openNamed(n.Named)
	case *plan.Scan:
		return r.openScan(n)
	case *plan.Lookup:
		return r.openLookup(n)
	case *plan.HashJoin:
		return r.openHashJoin(n)
	case *plan.Cross:
		return r.openCross(n)
	case *plan.Aggregate:
		return r.openAggregate(n)
	case *plan.Sort:
		return r.openSort(n)
	case *plan.Limit:
		return r.openLimit(n)
	case *plan.Union:
		return &unionRows{run: r, node: n}, nil
	}
	return r.openUnary(n)
}

// openUnary opens the sources that pass the rows of one input on.
func (r *run) openUnary(n plan.Node) (rows, error) {
	var input plan.Node
	switch n := n.(type) {
	case *plan.Filter:
		input = n.Input
	case *plan.Project:
		input = n.Input
	case *plan.Distinct:
		input = n.Input
	default:
		return nil, issue.Unsupported("Source is not supported: %T", n)
	}
	in, err := r.open(input)
	if err != nil {
		return nil, err
	}
	switch n := n.(type) {
	case *plan.Filter:
		return &filterRows{run: r, in: in, pred: n.Pred}, nil
	case *plan.Project:
		return &projectRows{run: r, in: in, exprs: n.Exprs}, nil
	}
	return &distinctRows{in: in, seen: map[string]struct{}{}, held: r.holding()}, nil
}

// listRows gives rows that are there already.
type listRows struct {
	list [][]types.Value
	at   int
	held *holding // what they take, nil when another has it
}

func (l *listRows) next() ([]types.Value, bool, error) {
	if l.at >= len(l.list) {
		return nil, false, nil
	}
	l.at++
	return l.list[l.at-1], true, nil
}

func (l *listRows) close() {
	if l.held != nil {
		l.held.free()
	}
}

// structRows gives the structs of a list as rows.
type structRows struct {
	list []types.Value
	at   int
}

func (r *run) openList(n *plan.AsTable) (rows, error) {
	v, err := n.List.Eval(r.frame, nil)
	return &structRows{list: v.Items()}, err
}

func (l *structRows) next() ([]types.Value, bool, error) {
	if l.at >= len(l.list) {
		return nil, false, nil
	}
	l.at++
	return l.list[l.at-1].Items(), true, nil
}

func (l *structRows) close() {}

type valuesRows struct {
	run  *run
	node *plan.Rows
	at   int
}

func (v *valuesRows) next() ([]types.Value, bool, error) {
	if v.at >= len(v.node.Rows) {
		return nil, false, nil
	}
	v.at++
	row, err := v.run.compute(v.node.Rows[v.at-1], nil)
	return row, err == nil, err
}

func (v *valuesRows) close() {}

// compute evaluates expressions over a row.
func (r *run) compute(exprs []*plan.Expr, row []types.Value) ([]types.Value, error) {
	r.frame.Budget.Row()
	out := make([]types.Value, len(exprs))
	for i, x := range exprs {
		v, err := x.Eval(r.frame, row)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

type filterRows struct {
	run  *run
	in   rows
	pred *plan.Expr
}

func (f *filterRows) next() ([]types.Value, bool, error) {
	for {
		row, ok, err := f.in.next()
		if err != nil || !ok {
			return nil, false, err
		}
		if err := f.run.frame.Alive(); err != nil {
			return nil, false, err
		}
		keep, err := f.run.holds(f.pred, row)
		if err != nil {
			return nil, false, err
		}
		if keep {
			return row, true, nil
		}
	}
}

func (f *filterRows) close() { f.in.close() }

type projectRows struct {
	run   *run
	in    rows
	exprs []*plan.Expr
}

func (p *projectRows) next() ([]types.Value, bool, error) {
	row, ok, err := p.in.next()
	if err != nil || !ok {
		return nil, false, err
	}
	out, err := p.run.compute(p.exprs, row)
	return out, err == nil, err
}

func (p *projectRows) close() { p.in.close() }

type distinctRows struct {
	in   rows
	seen map[string]struct{}
	held holding
}

func (d *distinctRows) next() ([]types.Value, bool, error) {
	for {
		row, ok, err := d.in.next()
		if err != nil || !ok {
			return nil, false, err
		}
		key := rowKey(row)
		if _, ok := d.seen[key]; !ok {
			if err := d.held.key(key); err != nil {
				return nil, false, err
			}
			d.seen[key] = struct{}{}
			return row, true, nil
		}
	}
}

func (d *distinctRows) close() {
	d.in.close()
	d.held.free()
}

// rowKey is equal for rows of equal values, NULLs being equal.
func rowKey(row []types.Value) string {
	var key []byte
	for _, v := range row {
		key = plan.AppendHash(key, v)
	}
	return string(key)
}

type limitRows struct {
	in         rows
	skip, left uint64
}

func (r *run) openLimit(n *plan.Limit) (rows, error) {
	l := &limitRows{left: ^uint64(0)}
	if n.Count != nil {
		v, err := n.Count.Eval(r.frame, nil)
		if err != nil {
			return nil, err
		}
		if !v.IsNull() {
			l.left = v.Uint()
		}
	}
	if n.Offset != nil {
		v, err := n.Offset.Eval(r.frame, nil)
		if err != nil {
			return nil, err
		}
		l.skip = v.Uint()
	}
	in, err := r.open(n.Input)
	l.in = in
	return l, err
}

func (l *limitRows) next() ([]types.Value, bool, error) {
	if l.left == 0 {
		return nil, false, nil
	}
	for ; l.skip > 0; l.skip-- {
		if _, ok, err := l.in.next(); err != nil || !ok {
			l.left = 0
			return nil, false, err
		}
	}
	l.left--
	return l.in.next()
}

func (l *limitRows) close() { l.in.close() }

type unionRows struct {
	run  *run
	node *plan.Union
	arm  int
	in   rows
}

func (u *unionRows) next() ([]types.Value, bool, error) {
	for {
		if u.in == nil {
			if u.arm == len(u.node.Arms) {
				return nil, false, nil
			}
			in, err := u.run.open(u.node.Arms[u.arm])
			if err != nil {
				return nil, false, err
			}
			u.in = in
		}
		row, ok, err := u.in.next()
		if err != nil {
			return nil, false, err
		}
		if ok {
			return u.arrange(row), true, nil
		}
		u.in.close()
		u.in = nil
		u.arm++
	}
}

func (u *unionRows) arrange(row []types.Value) []types.Value {
	places := u.node.Maps[u.arm]
	out := make([]types.Value, len(places))
	for i, from := range places {
		if from >= 0 {
			out[i] = row[from]
		}
	}
	return out
}

func (u *unionRows) close() {
	if u.in != nil {
		u.in.close()
	}
}
