package plan

import (
	"github.com/taskfleet/taskfleet/internal/ydbembed/issue"
	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
	"github.com/taskfleet/taskfleet/internal/ydbembed/yql"
)

// in compiles x IN (..): a set of constants is hashed once per run, other items
// are compared one by one.
func (c *compiler) in(e *yql.In, sc *scope) (*Expr, error) {
	x, err := c.expr(e.X, sc)
	if err != nil {
		return nil, err
	}
	var out *Expr
	if n, err := c.inSelect(e.Set); n != nil || err != nil {
		if err != nil {
			return nil, err
		}
		if out, err = inNamed(e, x, n); err != nil {
			return nil, err
		}
	} else {
		set, err := c.inSet(e, sc)
		if err != nil {
			return nil, err
		}
		if out, err = c.inList(e, x, set); err != nil {
			return nil, err
		}
	}
	if e.Not {
		return not(out), nil
	}
	return out, nil
}

// inSelect recognises IN (SELECT ..) and IN $select.
func (c *compiler) inSelect(set yql.Expr) (*Named, error) {
	switch set := set.(type) {
	case *yql.SubSelect:
		return c.subselect(set)
	case *yql.Param:
		if b := c.names[set.Name]; b.named != nil {
			c.use(b.named)
			return b.named, nil
		}
	}
	return nil, nil
}

func inNamed(e *yql.In, x *Expr, n *Named) (*Expr, error) {
	if len(n.Columns) != 1 {
		return nil, at(e.Set, issue.Type("A select after IN must have one column, it has %d", len(n.Columns)))
	}
	t := n.Columns[0].Type
	if !comparable(x.Type, t) {
		return nil, at(e, issue.Type("Can't compare %s and %s", x.Type, t))
	}
	return memberOf(x, inType(x, t), func(f *Frame, _ []types.Value) (*Set, error) { return f.Set(n) }), nil
}

func inType(x *Expr, item *types.Type) *types.Type {
	if holdsOptional(x.Type) || holdsOptional(item) {
		return optBoolType
	}
	return boolType
}

// inSet compiles what stands after IN to expressions: one of a list type, or the items.
func (c *compiler) inSet(e *yql.In, sc *scope) ([]*Expr, error) {
	items := []yql.Expr{e.Set}
	if t, ok := e.Set.(*yql.TupleExpr); ok {
		items = t.Items
	}
	return c.exprs(items, sc)
}

func (c *compiler) inList(e *yql.In, x *Expr, set []*Expr) (*Expr, error) {
	if len(set) == 1 { // IN $list and IN ($list) mean the same
		_, listed := e.Set.(*yql.TupleExpr)
		switch t := set[0].Type.Unwrap(); {
		case t.Kind == types.EmptyList:
			return constant(boolType, falseValue), nil
		case t.Kind == types.List, t.Kind == types.Tuple && !listed:
			return c.inContainer(e, x, set[0])
		}
	}
	item := boolType
	for _, y := range set {
		if !comparable(x.Type, y.Type) {
			return nil, at(e, issue.Type("Can't compare %s and %s", x.Type, y.Type))
		}
		if holdsOptional(y.Type) {
			item = optBoolType
		}
	}
	if allConst(set...) {
		return memberOf(x, inType(x, item), c.constSet(func(f *Frame, s *Set) error {
			for _, y := range set {
				v, err := y.Eval(f, nil)
				if err == nil {
					err = s.Add(f, v)
				}
				if err != nil {
					return err
				}
			}
			return nil
		})), nil
	}
	list := make([]*Expr, len(set))
	for i, y := range set {
		eq, err := comparison(e, "=", x, y)
		if err != nil {
			return nil, err
		}
		list[i] = eq
	}
	return logic("OR", list), nil
}

// inContainer is IN with a value of a list or tuple type.
func (c *compiler) inContainer(e *yql.In, x, set *Expr) (*Expr, error) {
	t := set.Type.Unwrap()
	elems := []*types.Type{t.Elem}
	if t.Kind == types.Tuple {
		elems = elems[:0]
		for _, f := range t.Fields {
			elems = append(elems, f.Type)
		}
	}
	result := inType(x, set.Type)
	for _, elem := range elems {
		if !comparable(x.Type, elem) {
			return nil, at(e, issue.Type("Can't compare %s and %s", x.Type, elem))
		}
		if holdsOptional(elem) {
			result = optBoolType
		}
	}
	if !set.Const {
		return nil, at(e.Set, issue.Unsupported("IN with a list that differs by row is not supported"))
	}
	return memberOf(x, result, c.constSet(func(f *Frame, s *Set) error {
		v, err := set.Eval(f, nil)
		for _, item := range v.Items() {
			if err == nil {
				err = s.Add(f, item)
			}
		}
		return err
	})), nil
}

// constSet builds a set once per run.
func (c *compiler) constSet(fill func(f *Frame, s *Set) error) func(*Frame, []types.Value) (*Set, error) {
	slot := c.q.slots
	c.q.slots++
	return func(f *Frame, _ []types.Value) (*Set, error) {
		if s, ok := f.list[slot]; ok {
			return s, nil
		}
		s := NewSet()
		if err := fill(f, s); err != nil {
			return nil, err
		}
		f.list[slot] = s
		return s, nil
	}
}

func memberOf(x *Expr, t *types.Type, set func(*Frame, []types.Value) (*Set, error)) *Expr {
	return &Expr{
		Type: t, Const: x.Const, Text: x.Text + " IN",
		Eval: func(f *Frame, row []types.Value) (types.Value, error) {
			v, err := x.Eval(f, row)
			if err != nil {
				return v, err
			}
			s, err := set(f, row)
			switch {
			case err != nil:
				return types.NullValue, err
			case s.Len() == 0 && !s.HasNull:
				return falseValue, nil
			case hasNull(v):
				return types.NullValue, nil
			case s.Has(v):
				return trueValue, nil
			case s.HasNull:
				return types.NullValue, nil
			}
			return falseValue, nil
		},
	}
}
