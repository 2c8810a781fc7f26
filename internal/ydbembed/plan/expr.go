package plan

import (
	"strings"

	"github.com/taskfleet/taskfleet/internal/ydbembed/issue"
	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
	"github.com/taskfleet/taskfleet/internal/ydbembed/yql"
)

// expr compiles an expression over the rows of a scope.
func (c *compiler) expr(e yql.Expr, sc *scope) (*Expr, error) {
	if err := c.enter(e); err != nil {
		return nil, err
	}
	defer c.leave()
	x, err := c.exprOf(e, sc)
	if err != nil {
		return nil, err
	}
	return c.sized(x)
}

// exprOf is expr without its guards.
func (c *compiler) exprOf(e yql.Expr, sc *scope) (*Expr, error) {
	if sc.agg != nil {
		if x, err := sc.agg.expr(c, e); x != nil || err != nil {
			return x, err
		}
	}
	switch e := e.(type) {
	case *yql.Literal:
		return literal(e), nil
	case *yql.Param:
		return c.param(e)
	case *yql.Column:
		return sc.column(e)
	case *yql.Unary:
		return c.unary(e, sc)
	case *yql.Binary:
		return c.binary(e, sc)
	case *yql.IsNull:
		return c.isNull(e, sc)
	case *yql.Between:
		return c.between(e, sc)
	case *yql.In:
		return c.in(e, sc)
	case *yql.Case:
		return c.caseOf(e, sc)
	case *yql.Cast:
		x, err := c.expr(e.X, sc)
		if err != nil {
			return nil, err
		}
		return castTo(e, x, e.Type)
	case *yql.Call:
		return c.call(e, sc)
	case *yql.TupleExpr:
		return c.tuple(e, e.Items, sc)
	case *yql.ListExpr:
		return c.list(e, e.Items, sc)
	case *yql.StructExpr:
		return c.structOf(e, sc)
	case *yql.Member:
		return c.member(e, sc)
	case *yql.SubSelect:
		n, err := c.subselect(e)
		if err != nil {
			return nil, err
		}
		return c.scalar(e, n)
	case *yql.TypeArg:
		return nil, at(e, issue.Type("A type is not a value: %s", e.Type))
	}
	return nil, at(e, issue.Unsupported("Expression is not supported: %T", e))
}

func (c *compiler) exprs(list []yql.Expr, sc *scope) ([]*Expr, error) {
	out := make([]*Expr, len(list))
	for i, e := range list {
		x, err := c.expr(e, sc)
		if err != nil {
			return nil, err
		}
		out[i] = x
	}
	return out, nil
}

func literal(e *yql.Literal) *Expr {
	x := constant(e.Type, e.Value)
	if e.Untyped {
		x.Literal = &e.Value
	}
	return x
}

func constant(t *types.Type, v types.Value) *Expr {
	text := "null"
	if !v.IsNull() {
		text = v.String()
	}
	return &Expr{
		Type: t, Const: true, Text: text,
		Eval: func(*Frame, []types.Value) (types.Value, error) { return v, nil },
	}
}

// param resolves $name: a named expression, a declared or a passed parameter.
func (c *compiler) param(e *yql.Param) (*Expr, error) {
	if b, ok := c.names[e.Name]; ok {
		if b.named != nil {
			c.use(b.named)
			return c.scalar(e, b.named)
		}
		for _, n := range b.deps {
			c.use(n)
		}
		return b.expr, nil
	}
	i, err := c.paramIndex(e)
	if err != nil {
		return nil, err
	}
	return &Expr{
		Type: c.q.Params[i].Type, Const: true, Text: "$" + e.Name,
		Eval: func(f *Frame, _ []types.Value) (types.Value, error) { return f.Params[i], nil },
	}, nil
}

func (c *compiler) paramIndex(e *yql.Param) (int, error) {
	if d, ok := c.declared[e.Name]; ok {
		d.used = true
	}
	if i, ok := c.params[e.Name]; ok {
		c.q.Params[i].Used = true
		return i, nil
	}
	t, ok := c.env.Params[e.Name]
	if !ok {
		return 0, at(e, issue.Generic("Unknown name: $%s", e.Name))
	}
	i := len(c.q.Params)
	c.params[e.Name] = i
	c.q.Params = append(c.q.Params, Param{Name: e.Name, Type: t, Used: true})
	return i, nil
}

func (c *compiler) tuple(pos positioned, items []yql.Expr, sc *scope) (*Expr, error) {
	list, err := c.exprs(items, sc)
	if err != nil {
		return nil, err
	}
	return asTuple(pos, list)
}

func (c *compiler) list(pos positioned, items []yql.Expr, sc *scope) (*Expr, error) {
	list, err := c.exprs(items, sc)
	if err != nil {
		return nil, err
	}
	return asList(pos, list)
}

func (c *compiler) structOf(e *yql.StructExpr, sc *scope) (*Expr, error) {
	list, err := c.exprs(e.Items, sc)
	if err != nil {
		return nil, err
	}
	fields := make([]types.Field, len(list))
	for i, x := range list {
		fields[i] = types.Field{Name: e.Names[i], Type: x.Type}
	}
	return container(e, types.StructOf(fields...), list)
}

func (c *compiler) member(e *yql.Member, sc *scope) (*Expr, error) {
	x, err := c.expr(e.X, sc)
	if err != nil {
		return nil, err
	}
	m := member(x, e.Name)
	if m == nil {
		return nil, at(e, issue.Type("Member not found: %s in %s", e.Name, x.Type))
	}
	return m, nil
}

func allConst(list ...*Expr) bool {
	for _, x := range list {
		if !x.Const {
			return false
		}
	}
	return true
}

func joinTexts(list []*Expr) string {
	texts := make([]string, len(list))
	for i, x := range list {
		texts[i] = x.Text
	}
	return strings.Join(texts, ", ")
}
