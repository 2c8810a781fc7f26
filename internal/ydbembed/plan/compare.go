package plan

import (
	"cmp"

	"github.com/taskfleet/taskfleet/internal/ydbembed/issue"
	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
	"github.com/taskfleet/taskfleet/internal/ydbembed/yql"
)

var (
	boolType    = types.Primitive(types.Bool)
	trueValue   = types.BoolValue(true)
	falseValue  = types.BoolValue(false)
	optBoolType = types.OptionalOf(boolType)
)

// comparable tells whether values of two types may be compared.
func comparable(a, b *types.Type) bool {
	a, b = a.Unwrap(), b.Unwrap()
	if a.Kind == types.Null || b.Kind == types.Null {
		return true
	}
	switch {
	case a.Kind.IsNumeric():
		return b.Kind.IsNumeric()
	case isPlainText(a.Kind):
		return isPlainText(b.Kind)
	case isDate(a.Kind):
		return isDate(b.Kind)
	case a.Kind == types.Tuple || a.Kind == types.Struct:
		if b.Kind != a.Kind || len(a.Fields) != len(b.Fields) {
			return false
		}
		for i, f := range a.Fields {
			if f.Name != b.Fields[i].Name || !comparable(f.Type, b.Fields[i].Type) {
				return false
			}
		}
		return true
	case a.Kind == types.List:
		return b.Kind == types.List && comparable(a.Elem, b.Elem)
	}
	return a.Kind == b.Kind && a.Kind != types.JSON && a.Kind != types.JSONDocument && a.Kind != types.Yson
}

func isPlainText(k types.Kind) bool { return k == types.String || k == types.Utf8 }

func isDate(k types.Kind) bool {
	return k == types.Date || k == types.Datetime || k == types.Timestamp
}

// holdsOptional tells whether a value of the type may be or hold a NULL.
func holdsOptional(t *types.Type) bool {
	if t.IsOptional() {
		return true
	}
	for _, f := range t.Fields {
		if holdsOptional(f.Type) {
			return true
		}
	}
	return false
}

// order compares two values that hold no NULL at the top; null tells that a
// NULL inside a tuple leaves the answer open. Unequal tells, when null is set,
// whether the values differ for certain.
func order(a, b types.Value) (c int, null, unequal bool) {
	ka, kb := a.Kind(), b.Kind()
	switch {
	case ka == types.Tuple || ka == types.Struct:
		for i, x := range a.Items() {
			y := b.Items()[i]
			if x.IsNull() || y.IsNull() {
				null = true
				continue
			}
			c, n, u := order(x, y)
			if null {
				unequal = unequal || u || !n && c != 0
				continue
			}
			if n || c != 0 {
				return c, n, u
			}
		}
		return 0, null, unequal
	case ka != kb && isDate(ka):
		return cmp.Compare(a.Time().UnixMicro(), b.Time().UnixMicro()), false, false
	}
	return types.Compare(a, b), false, false
}

func isNaN(v types.Value) bool {
	return (v.Kind() == types.Double || v.Kind() == types.Float) && v.Float() != v.Float()
}

// comparison compiles x op y for the six comparison operators.
func comparison(pos positioned, op string, x, y *Expr) (*Expr, error) {
	if !comparable(x.Type, y.Type) {
		return nil, at(pos, issue.Type("Can't compare %s and %s", x.Type, y.Type))
	}
	var holds func(c int) bool
	switch op {
	case "=":
		holds = func(c int) bool { return c == 0 }
	case "!=":
		holds = func(c int) bool { return c != 0 }
	case "<":
		holds = func(c int) bool { return c < 0 }
	case "<=":
		holds = func(c int) bool { return c <= 0 }
	case ">":
		holds = func(c int) bool { return c > 0 }
	default:
		holds = func(c int) bool { return c >= 0 }
	}
	equality := op == "=" || op == "!="
	t := boolType
	if holdsOptional(x.Type) || holdsOptional(y.Type) {
		t = optBoolType
	}
	return &Expr{
		Type: t, Const: allConst(x, y), Text: x.Text + " " + op + " " + y.Text,
		Eval: func(f *Frame, row []types.Value) (types.Value, error) {
			a, err := x.Eval(f, row)
			if err != nil {
				return a, err
			}
			b, err := y.Eval(f, row)
			if err != nil {
				return b, err
			}
			if a.IsNull() || b.IsNull() {
				return types.NullValue, nil
			}
			if isNaN(a) || isNaN(b) {
				return types.BoolValue(op == "!="), nil
			}
			c, null, unequal := order(a, b)
			if null {
				if equality && unequal {
					return types.BoolValue(op == "!="), nil
				}
				return types.NullValue, nil
			}
			return types.BoolValue(holds(c)), nil
		},
	}, nil
}

// distinctFrom compiles IS [NOT] DISTINCT FROM: equality for which NULL is a value.
func distinctFrom(pos positioned, x, y *Expr, not bool) (*Expr, error) {
	if !comparable(x.Type, y.Type) {
		return nil, at(pos, issue.Type("Can't compare %s and %s", x.Type, y.Type))
	}
	return &Expr{
		Type: boolType, Const: allConst(x, y), Text: x.Text + " is distinct from " + y.Text,
		Eval: func(f *Frame, row []types.Value) (types.Value, error) {
			a, err := x.Eval(f, row)
			if err != nil {
				return a, err
			}
			b, err := y.Eval(f, row)
			if err != nil {
				return b, err
			}
			return types.BoolValue((HashKey(a) == HashKey(b)) == not), nil
		},
	}, nil
}

func (c *compiler) isNull(e *yql.IsNull, sc *scope) (*Expr, error) {
	x, err := c.expr(e.X, sc)
	if err != nil {
		return nil, err
	}
	text := " IS NULL"
	if e.Not {
		text = " IS NOT NULL"
	}
	return &Expr{
		Type: boolType, Const: x.Const, Text: x.Text + text,
		Eval: func(f *Frame, row []types.Value) (types.Value, error) {
			v, err := x.Eval(f, row)
			return types.BoolValue(v.IsNull() != e.Not), err
		},
	}, nil
}

func (c *compiler) between(e *yql.Between, sc *scope) (*Expr, error) {
	list, err := c.exprs([]yql.Expr{e.X, e.Lo, e.Hi}, sc)
	if err != nil {
		return nil, err
	}
	lo, err := comparison(e, ">=", list[0], list[1])
	if err != nil {
		return nil, err
	}
	hi, err := comparison(e, "<=", list[0], list[2])
	if err != nil {
		return nil, err
	}
	both := logic("AND", []*Expr{lo, hi})
	if e.Not {
		return not(both), nil
	}
	return both, nil
}
