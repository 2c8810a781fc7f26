package plan

import (
	"github.com/taskfleet/taskfleet/internal/ydbembed/issue"
	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
	"github.com/taskfleet/taskfleet/internal/ydbembed/yql"
)

// joining is a join while its plan is chosen.
type joining struct {
	kind        JoinKind
	left, right Node
	ls, rs      *scope
	eqs         []equality
	where       []yql.Expr
}

// equality is one conjunct of ON: an expression of each side.
type equality struct {
	pos         positioned
	left, right yql.Expr
}

var joinNames = map[yql.JoinKind]string{
	yql.RightJoin: "RIGHT JOIN", yql.FullJoin: "FULL JOIN", yql.RightOnly: "RIGHT ONLY JOIN",
	yql.RightSemi: "RIGHT SEMI JOIN", yql.ExclusionJoin: "EXCLUSION JOIN",
}

var joinKinds = map[yql.JoinKind]JoinKind{
	yql.InnerJoin: Inner, yql.LeftJoin: Left, yql.LeftOnly: LeftOnly, yql.LeftSemi: LeftSemi,
}

func (c *compiler) join(e *yql.Join, where []yql.Expr) (Node, *scope, error) {
	if name, ok := joinNames[e.Kind]; ok {
		return nil, nil, at(e, issue.Unsupported("%s is not supported", name))
	}
	j := &joining{kind: joinKinds[e.Kind], where: where}
	var err error
	if j.left, j.ls, err = c.source(e.Left, where); err != nil {
		return nil, nil, err
	}
	if j.right, j.rs, err = c.source(e.Right, where); err != nil {
		return nil, nil, err
	}
	for _, r := range j.rs.sources {
		for _, l := range j.ls.sources {
			if l.alias == r.alias && l.alias != "" {
				return nil, nil, at(e, issue.Type("Duplicated correlation name: %s", l.alias))
			}
		}
	}
	if e.Kind == yql.CrossJoin {
		return &Cross{Left: j.left, Right: j.right}, j.ls.join(j.rs), nil
	}
	if err := j.readOn(e); err != nil {
		return nil, nil, err
	}
	for _, try := range []func(*compiler, *joining) (Node, *scope, error){lookupRight, lookupLeft, semiLookupLeft} {
		if node, sc, err := try(c, j); node != nil || err != nil {
			return node, sc, err
		}
	}
	return hashJoin(c, j)
}

// readOn splits ON or USING into equalities of one side with the other.
func (j *joining) readOn(e *yql.Join) error {
	for _, name := range e.Using {
		l := &yql.Column{Node: e.Node, Name: name}
		if _, _, err := j.ls.find(l); err != nil {
			return err
		}
		r := &yql.Column{Node: e.Node, Name: name}
		if _, _, err := j.rs.find(r); err != nil {
			return err
		}
		j.eqs = append(j.eqs, equality{pos: e, left: l, right: r})
	}
	if e.On == nil {
		return nil
	}
	for _, term := range flatten(e.On, "AND", nil) {
		b, ok := term.(*yql.Binary)
		if !ok || b.Op != "=" {
			return at(term, issue.Type("JOIN ON expression must be a conjunction of equality predicates"))
		}
		switch x, y := j.side(b.X), j.side(b.Y); {
		case x == leftSide && y == rightSide:
			j.eqs = append(j.eqs, equality{pos: b, left: b.X, right: b.Y})
		case x == rightSide && y == leftSide:
			j.eqs = append(j.eqs, equality{pos: b, left: b.Y, right: b.X})
		default:
			return at(b, issue.Type("JOIN: each equality predicate argument must depend on exactly one JOIN input"))
		}
	}
	return nil
}

type side uint8

const (
	noSide side = iota
	leftSide
	rightSide
	bothSides
)

// side tells which inputs an expression depends on.
func (j *joining) side(e yql.Expr) side {
	out := noSide
	walk(e, func(e yql.Expr) bool {
		col, ok := e.(*yql.Column)
		if !ok {
			return true
		}
		if _, _, err := j.ls.find(col); err == nil {
			out |= leftSide
		}
		if _, _, err := j.rs.find(col); err == nil {
			out |= rightSide
		}
		return true
	})
	return out
}

func (j *joining) flip() *joining {
	out := &joining{kind: j.kind, left: j.right, right: j.left, ls: j.rs, rs: j.ls, where: j.where}
	for _, e := range j.eqs {
		out.eqs = append(out.eqs, equality{pos: e.pos, left: e.right, right: e.left})
	}
	return out
}

// lookupRight reads the right side, a table, by the keys that the left side gives.
func lookupRight(c *compiler, j *joining) (Node, *scope, error) {
	scan, ok := j.right.(*Scan)
	if !ok {
		return nil, nil, nil
	}
	keys, used, err := j.lookupKeys(c, scan)
	if err != nil || len(keys) == 0 {
		return nil, nil, err
	}
	node := &Lookup{Left: j.left, Table: scan.Table, Keys: keys, Need: scan.Need, Kind: j.kind}
	j.rs.sources[0].scan = nil // read by lookup from now on
	joined := j.ls.join(j.rs)
	if node.Residual, err = j.residual(c, joined, used); err != nil {
		return nil, nil, err
	}
	return node, j.output(joined), nil
}

// lookupLeft is lookupRight with the sides changed; the row begins with the
// right side then, which the scope accounts for.
func lookupLeft(c *compiler, j *joining) (Node, *scope, error) {
	if _, ok := j.left.(*Scan); !ok || j.kind != Inner {
		return nil, nil, nil
	}
	node, sc, err := lookupRight(c, j.flip())
	if node == nil || err != nil {
		return nil, nil, err
	}
	n := len(j.rs.sources) // SELECT * lists the sources as they were written
	sc.sources = append(append([]*source{}, sc.sources[n:]...), sc.sources[:n]...)
	return node, sc, nil
}

// semiLookupLeft reads a table by the distinct keys of a LEFT SEMI JOIN's right side.
func semiLookupLeft(c *compiler, j *joining) (Node, *scope, error) {
	scan, ok := j.left.(*Scan)
	if !ok || j.kind != LeftSemi {
		return nil, nil, nil
	}
	f := j.flip()
	f.where = nil
	keys, used, err := f.lookupKeys(c, scan)
	if err != nil || len(keys) == 0 || len(used) < len(j.eqs) {
		return nil, nil, err
	}
	distinct := &Distinct{Input: &Project{Input: j.right, Exprs: keys}}
	slots := make([]*Expr, len(keys))
	for i, k := range keys {
		slots[i] = slot(i, k.Type, k.Text)
	}
	s := j.ls.sources[0]
	s.scan = nil
	s.offset += len(keys)
	sc := &scope{sources: j.ls.sources, width: len(keys) + j.ls.width}
	return &Lookup{Left: distinct, Table: scan.Table, Keys: slots, Need: scan.Need, Kind: Inner}, sc, nil
}

// lookupKeys finds the longest key prefix of the right table that the left side
// gives, by equalities of ON; an INNER JOIN may take constants of WHERE too. It
// returns the expressions over a left row and which equalities they are.
func (j *joining) lookupKeys(c *compiler, scan *Scan) ([]*Expr, map[int]bool, error) {
	t, s := scan.Table, j.rs.sources[0]
	var keys []*Expr
	used := map[int]bool{}
	for _, column := range t.Key {
		key, err := j.keyFromOn(c, s, column, used)
		if err != nil {
			return nil, nil, err
		}
		if key == nil && j.kind == Inner {
			if key, err = j.keyFromWhere(c, s, column); err != nil {
				return nil, nil, err
			}
		}
		if key == nil {
			break
		}
		keys = append(keys, key)
	}
	if len(used) == 0 {
		return nil, nil, nil
	}
	return keys, used, nil
}

func (j *joining) keyFromOn(c *compiler, s *source, column int, used map[int]bool) (*Expr, error) {
	for i, eq := range j.eqs {
		col, ok := eq.right.(*yql.Column)
		if !ok || used[i] {
			continue
		}
		if _, index, err := j.rs.find(col); err != nil || index != column {
			continue
		}
		x, err := c.expr(eq.left, j.ls)
		if err != nil {
			return nil, err
		}
		if !comparable(x.Type, s.cols[column].Type) {
			return nil, at(eq.pos, issue.Type("Cannot compare key columns: %s and %s", x.Type, s.cols[column].Type))
		}
		if keyable(s.table.Columns[column].Type.Kind, x.Type) {
			used[i] = true
			s.touch(column)
			return x, nil
		}
	}
	return nil, nil
}

func (j *joining) keyFromWhere(c *compiler, s *source, column int) (*Expr, error) {
	for _, term := range j.where {
		b, ok := term.(*yql.Binary)
		if !ok || b.Op != "=" {
			continue
		}
		for _, pair := range [][2]yql.Expr{{b.X, b.Y}, {b.Y, b.X}} {
			col, ok := pair[0].(*yql.Column)
			if !ok || !isConst(pair[1]) {
				continue
			}
			_, index, err := j.rs.find(col)
			if _, _, elsewhere := j.ls.find(col); err != nil || index != column || elsewhere == nil {
				continue
			}
			x, err := c.expr(pair[1], &scope{})
			if err != nil {
				return nil, err
			}
			if keyable(s.table.Columns[column].Type.Kind, x.Type) {
				return x, nil
			}
		}
	}
	return nil, nil
}

// residual compiles the equalities that the key does not cover.
func (j *joining) residual(c *compiler, joined *scope, used map[int]bool) (*Expr, error) {
	var list []*Expr
	for i, eq := range j.eqs {
		if used[i] {
			continue
		}
		x, err := c.expr(eq.left, joined.only(j.ls))
		if err != nil {
			return nil, err
		}
		y, err := c.expr(eq.right, joined.only(j.rs))
		if err != nil {
			return nil, err
		}
		cond, err := comparison(eq.pos, "=", x, y)
		if err != nil {
			return nil, err
		}
		list = append(list, cond)
	}
	if len(list) == 0 {
		return nil, nil
	}
	return logic("AND", list), nil
}

// only is the scope with the sources of one side, at their places in the joined row.
func (sc *scope) only(side *scope) *scope {
	return &scope{sources: side.sources, width: sc.width}
}

// output is what the joined scope shows: the right side of LEFT ONLY and LEFT
// SEMI is gone, that of LEFT may be NULL.
func (j *joining) output(joined *scope) *scope {
	switch j.kind {
	case LeftOnly, LeftSemi:
		return j.ls
	case Left:
		j.rs.optional()
		for _, s := range j.rs.sources {
			s.scan = nil // WHERE must not narrow what is read of it
		}
	}
	return joined
}

func hashJoin(c *compiler, j *joining) (Node, *scope, error) {
	node := &HashJoin{Left: j.left, Right: j.right, Kind: j.kind, RightWidth: j.rs.width}
	for _, eq := range j.eqs {
		x, err := c.expr(eq.left, j.ls)
		if err != nil {
			return nil, nil, err
		}
		y, err := c.expr(eq.right, j.rs)
		if err != nil {
			return nil, nil, err
		}
		if !comparable(x.Type, y.Type) {
			return nil, nil, at(eq.pos, issue.Type("Cannot compare key columns: %s and %s", x.Type, y.Type))
		}
		node.LeftKeys, node.RightKeys = append(node.LeftKeys, x), append(node.RightKeys, y)
	}
	return node, j.output(j.ls.join(j.rs)), nil
}

func isConst(e yql.Expr) bool {
	out := true
	walk(e, func(e yql.Expr) bool {
		if _, ok := e.(*yql.Column); ok {
			out = false
		}
		return out
	})
	return out
}

// keyable tells whether values of a type can be turned into keys of a kind
// exactly, or told to lie outside of it.
func keyable(column types.Kind, t *types.Type) bool {
	k := t.Unwrap().Kind
	switch {
	case k == types.Null || k == column:
		return true
	case column.IsInteger():
		return k.IsInteger()
	}
	return isPlainText(column) && isPlainText(k)
}
