package plan

import (
	"strings"

	"github.com/taskfleet/taskfleet/internal/ydbembed/issue"
	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
	"github.com/taskfleet/taskfleet/internal/ydbembed/yql"
)

// function compiles a call whose arguments are compiled already.
type function struct {
	min, max int // arguments; max -1 for any number
	compile  func(pos positioned, args []*Expr) (*Expr, error)
}

// call compiles a function call. Built-in names have no case; those of modules
// (DateTime::..) do.
func (c *compiler) call(e *yql.Call, sc *scope) (*Expr, error) {
	name := strings.ToLower(e.Name)
	if _, ok := aggregates[name]; ok {
		return nil, at(e, issue.Type("Aggregate function %s is not allowed here", e.Name))
	}
	if f, ok := special[name]; ok {
		return f(c, e, sc)
	}
	f, ok := functions[name]
	if strings.Contains(name, "::") {
		f, ok = modules[e.Name]
	}
	if !ok || e.Star || e.Distinct {
		return nil, at(e, issue.Generic("Unknown builtin: %s", e.Name))
	}
	if len(e.Args) < f.min || f.max >= 0 && len(e.Args) > f.max {
		return nil, at(e, issue.Type("Wrong number of arguments of %s: %d", e.Name, len(e.Args)))
	}
	args, err := c.exprs(e.Args, sc)
	if err != nil {
		return nil, err
	}
	return f.compile(e, args)
}

// special holds the functions that need more than their arguments' values.
// It is filled by init because they compile expressions in turn.
var special map[string]func(c *compiler, e *yql.Call, sc *scope) (*Expr, error)

func init() {
	special = map[string]func(c *compiler, e *yql.Call, sc *scope) (*Expr, error){
		"currentutctimestamp": now(types.Timestamp),
		"currentutcdatetime":  now(types.Datetime),
		"currentutcdate":      now(types.Date),
		"nothing":             nothing,
		"randomuuid":          randomUUID,
		"random":              random,
		"randomnumber":        randomNumber,
	}
}

// now gives one value for the whole text; its arguments only say when to
// compute it, which is all the same then.
func now(k types.Kind) func(c *compiler, e *yql.Call, sc *scope) (*Expr, error) {
	return func(c *compiler, e *yql.Call, sc *scope) (*Expr, error) {
		if _, err := c.exprs(e.Args, sc); err != nil {
			return nil, err
		}
		return &Expr{
			Type: types.Primitive(k), Const: true, Text: e.Name + "()",
			Eval: func(f *Frame, _ []types.Value) (types.Value, error) {
				return dateAs(k, types.TimestampValue(f.Now)), nil
			},
		}, nil
	}
}

func nothing(_ *compiler, e *yql.Call, _ *scope) (*Expr, error) {
	if len(e.Args) == 1 {
		if t, ok := e.Args[0].(*yql.TypeArg); ok && t.Type.Kind == types.Optional {
			return constant(t.Type, types.NullValue), nil
		}
	}
	return nil, at(e, issue.Type("Expected optional type as argument of Nothing"))
}

// caseOf compiles both forms of CASE.
func (c *compiler) caseOf(e *yql.Case, sc *scope) (*Expr, error) {
	var subject *Expr
	var err error
	if e.X != nil {
		if subject, err = c.expr(e.X, sc); err != nil {
			return nil, err
		}
	}
	conds := make([]*Expr, len(e.Whens))
	values := make([]*Expr, len(e.Whens), len(e.Whens)+1)
	for i, w := range e.Whens {
		if conds[i], err = c.expr(w.Cond, sc); err != nil {
			return nil, err
		}
		if subject != nil {
			conds[i], err = comparison(w.Cond, "=", subject, conds[i])
		} else {
			err = wantBool(w.Cond, conds[i])
		}
		if err != nil {
			return nil, err
		}
		if values[i], err = c.expr(w.Then, sc); err != nil {
			return nil, err
		}
	}
	last := constant(types.Primitive(types.Null), types.NullValue)
	if e.Else != nil {
		if last, err = c.expr(e.Else, sc); err != nil {
			return nil, err
		}
	}
	return choose(e, conds, append(values, last))
}

// choose is the value after the first true condition, or the last value.
func choose(pos positioned, conds, values []*Expr) (*Expr, error) {
	values, t, err := unify(pos, values)
	if err != nil {
		return nil, err
	}
	return &Expr{
		Type: t, Const: allConst(conds...) && allConst(values...), Text: "IF(" + joinTexts(conds) + ")",
		Eval: func(f *Frame, row []types.Value) (types.Value, error) {
			for i, cond := range conds {
				ok, err := cond.True(f, row)
				if err != nil {
					return types.NullValue, err
				}
				if ok {
					return values[i].Eval(f, row)
				}
			}
			return values[len(conds)].Eval(f, row)
		},
	}, nil
}

// coalesce is the first argument that is not NULL.
func coalesce(pos positioned, args []*Expr) (*Expr, error) {
	unified, t, err := unify(pos, args)
	if err != nil {
		return nil, err
	}
	for _, a := range args {
		if !a.Type.IsOptional() {
			t = t.Unwrap()
		}
	}
	return &Expr{
		Type: t, Const: allConst(args...), Text: "COALESCE(" + joinTexts(args) + ")",
		Eval: func(f *Frame, row []types.Value) (types.Value, error) {
			for _, a := range unified {
				if v, err := a.Eval(f, row); err != nil || !v.IsNull() {
					return v, err
				}
			}
			return types.NullValue, nil
		},
	}, nil
}
