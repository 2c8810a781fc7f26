package plan

import (
	"strings"
	"unicode/utf8"

	"github.com/taskfleet/taskfleet/internal/ydbembed/issue"
	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
	"github.com/taskfleet/taskfleet/internal/ydbembed/yql"
)

func (c *compiler) unary(e *yql.Unary, sc *scope) (*Expr, error) {
	x, err := c.expr(e.X, sc)
	if err != nil {
		return nil, err
	}
	if e.Op == "NOT" {
		if err := wantBool(e.X, x); err != nil {
			return nil, err
		}
		return not(x), nil
	}
	return sign(e, x)
}

func (c *compiler) binary(e *yql.Binary, sc *scope) (*Expr, error) {
	switch e.Op {
	case "AND", "OR":
		terms := flatten(e, e.Op, nil)
		list, err := c.exprs(terms, sc)
		if err != nil {
			return nil, err
		}
		for i, x := range list {
			if err := wantBool(terms[i], x); err != nil {
				return nil, err
			}
		}
		return logic(e.Op, list), nil
	}
	x, err := c.expr(e.X, sc)
	if err != nil {
		return nil, err
	}
	y, err := c.expr(e.Y, sc)
	if err != nil {
		return nil, err
	}
	switch e.Op {
	case "XOR":
		return xor(e, x, y)
	case "=", "!=", "<", "<=", ">", ">=":
		return comparison(e, e.Op, x, y)
	case "IS DISTINCT FROM":
		return distinctFrom(e, x, y, false)
	case "IS NOT DISTINCT FROM":
		return distinctFrom(e, x, y, true)
	case "LIKE", "NOT LIKE":
		return like(e, x, y, e.Op == "NOT LIKE")
	case "??":
		return coalesce(e, []*Expr{x, y})
	case "||":
		return concat(e, x, y)
	}
	return arithmetic(e, e.Op, x, y)
}

// flatten lists the terms of a chain of one operator, without recursion on its left side.
func flatten(e yql.Expr, op string, out []yql.Expr) []yql.Expr {
	var rights []yql.Expr
	for {
		b, ok := e.(*yql.Binary)
		if !ok || b.Op != op {
			break
		}
		rights = append(rights, b.Y)
		e = b.X
	}
	out = append(out, e)
	for i := len(rights) - 1; i >= 0; i-- {
		if b, ok := rights[i].(*yql.Binary); ok && b.Op == op {
			out = flatten(b, op, out)
			continue
		}
		out = append(out, rights[i])
	}
	return out
}

func wantBool(pos positioned, x *Expr) error {
	if k := x.Type.Unwrap().Kind; k != types.Bool && k != types.Null {
		return at(pos, issue.Type("Expected Bool, but got: %s", x.Type))
	}
	return nil
}

func boolResult(list ...*Expr) *types.Type {
	for _, x := range list {
		if x.Type.IsOptional() {
			return optBoolType
		}
	}
	return boolType
}

// logic compiles AND and OR of any number of terms, with three values.
func logic(op string, list []*Expr) *Expr {
	if len(list) == 1 {
		return list[0]
	}
	decides := op == "OR" // the value that settles the matter
	texts := make([]string, len(list))
	for i, x := range list {
		texts[i] = x.Text
	}
	return &Expr{
		Type: boolResult(list...), Const: allConst(list...), Text: "(" + strings.Join(texts, " "+op+" ") + ")",
		Eval: func(f *Frame, row []types.Value) (types.Value, error) {
			null := false
			for _, x := range list {
				v, err := x.Eval(f, row)
				if err != nil {
					return v, err
				}
				if v.IsNull() {
					null = true
				} else if v.Bool() == decides {
					return v, nil
				}
			}
			if null {
				return types.NullValue, nil
			}
			return types.BoolValue(!decides), nil
		},
	}
}

func not(x *Expr) *Expr {
	return &Expr{
		Type: boolResult(x), Const: x.Const, Text: "NOT " + x.Text,
		Eval: func(f *Frame, row []types.Value) (types.Value, error) {
			v, err := x.Eval(f, row)
			if err != nil || v.IsNull() {
				return types.NullValue, err
			}
			return types.BoolValue(!v.Bool()), nil
		},
	}
}

func xor(e *yql.Binary, x, y *Expr) (*Expr, error) {
	for _, operand := range []*Expr{x, y} {
		if err := wantBool(e, operand); err != nil {
			return nil, err
		}
	}
	return strict(boolResult(x, y), x.Text+" XOR "+y.Text, func(_ *Frame, v []types.Value) (types.Value, error) {
		return types.BoolValue(v[0].Bool() != v[1].Bool()), nil
	}, x, y), nil
}

// strict makes an expression that is NULL when an argument is NULL and
// otherwise what f makes of the arguments.
func strict(t *types.Type, text string, f func(f *Frame, args []types.Value) (types.Value, error), args ...*Expr) *Expr {
	return &Expr{
		Type: t, Const: allConst(args...), Text: text,
		Eval: func(fr *Frame, row []types.Value) (types.Value, error) {
			var buf [4]types.Value
			values := buf[:0]
			for _, a := range args {
				v, err := a.Eval(fr, row)
				if err != nil || v.IsNull() {
					return types.NullValue, err
				}
				values = append(values, v)
			}
			return f(fr, values)
		},
	}
}

// like compiles [NOT] LIKE: % is any text, _ any character.
func like(e *yql.Binary, x, y *Expr, negate bool) (*Expr, error) {
	for _, operand := range []*Expr{x, y} {
		if k := operand.Type.Unwrap().Kind; !isPlainText(k) && k != types.Null {
			return nil, at(e, issue.Type("Expected String or Utf8 for LIKE, but got: %s", operand.Type))
		}
	}
	return strict(boolResult(x, y), x.Text+" LIKE "+y.Text, func(_ *Frame, v []types.Value) (types.Value, error) {
		return types.BoolValue(likeMatch(v[0].Text(), v[1].Text()) != negate), nil
	}, x, y), nil
}

// likeMatch matches greedily with one point of return, so in no space of its
// own and at worst quadratic time.
func likeMatch(text, pattern string) bool {
	ti, pi, star, mark := 0, 0, -1, 0
	for ti < len(text) {
		r, size := utf8.DecodeRuneInString(text[ti:])
		want, width := utf8.DecodeRuneInString(pattern[pi:]) // width 0 at the end
		switch {
		case want == '%' && width > 0:
			star, mark = pi, ti
			pi++
		case width > 0 && (want == '_' || want == r):
			ti += size
			pi += width
		case star >= 0:
			_, size = utf8.DecodeRuneInString(text[mark:])
			mark += size
			ti, pi = mark, star+1
		default:
			return false
		}
	}
	return strings.Trim(pattern[pi:], "%") == ""
}
