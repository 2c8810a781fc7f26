package plan

import (
	"slices"
	"strings"

	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
	"github.com/taskfleet/taskfleet/internal/ydbembed/yql"
)

// children lists the expressions right below one. Selects are not entered.
func children(e yql.Expr) []yql.Expr {
	switch e := e.(type) {
	case *yql.Unary:
		return []yql.Expr{e.X}
	case *yql.Binary:
		return []yql.Expr{e.X, e.Y}
	case *yql.IsNull:
		return []yql.Expr{e.X}
	case *yql.Between:
		return []yql.Expr{e.X, e.Lo, e.Hi}
	case *yql.In:
		return []yql.Expr{e.X, e.Set}
	case *yql.Case:
		var out []yql.Expr
		if e.X != nil {
			out = append(out, e.X)
		}
		for _, w := range e.Whens {
			out = append(out, w.Cond, w.Then)
		}
		if e.Else != nil {
			out = append(out, e.Else)
		}
		return out
	case *yql.Call:
		return e.Args
	case *yql.Cast:
		return []yql.Expr{e.X}
	case *yql.TupleExpr:
		return e.Items
	case *yql.ListExpr:
		return e.Items
	case *yql.StructExpr:
		return e.Items
	case *yql.Member:
		return []yql.Expr{e.X}
	}
	return nil
}

// walk visits an expression and all below it, without recursion; visit tells
// whether to go deeper.
func walk(e yql.Expr, visit func(yql.Expr) bool) {
	if e == nil {
		return
	}
	todo := []yql.Expr{e}
	for len(todo) > 0 {
		e := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if visit(e) {
			todo = append(todo, children(e)...)
		}
	}
}

// sameExpr tells whether two expressions are written the same.
func sameExpr(a, b yql.Expr) bool {
	switch a := a.(type) {
	case *yql.Literal:
		b, ok := b.(*yql.Literal)
		return ok && a.Type.Equal(b.Type) && a.Untyped == b.Untyped && a.Value.IsNull() == b.Value.IsNull() && types.Compare(a.Value, b.Value) == 0
	case *yql.Param:
		b, ok := b.(*yql.Param)
		return ok && a.Name == b.Name
	case *yql.Column:
		b, ok := b.(*yql.Column)
		return ok && a.Name == b.Name && a.Table == b.Table
	case *yql.Unary:
		b, ok := b.(*yql.Unary)
		return ok && a.Op == b.Op && sameChildren(a, b)
	case *yql.Binary:
		b, ok := b.(*yql.Binary)
		return ok && a.Op == b.Op && sameChildren(a, b)
	case *yql.IsNull:
		b, ok := b.(*yql.IsNull)
		return ok && a.Not == b.Not && sameChildren(a, b)
	case *yql.Case:
		b, ok := b.(*yql.Case)
		return ok && (a.X == nil) == (b.X == nil) && len(a.Whens) == len(b.Whens) && sameChildren(a, b)
	case *yql.Call:
		b, ok := b.(*yql.Call)
		return ok && strings.EqualFold(a.Name, b.Name) && a.Star == b.Star && a.Distinct == b.Distinct && sameChildren(a, b)
	case *yql.Cast:
		b, ok := b.(*yql.Cast)
		return ok && a.Type.Equal(b.Type) && sameChildren(a, b)
	case *yql.TupleExpr:
		b, ok := b.(*yql.TupleExpr)
		return ok && sameChildren(a, b)
	case *yql.Member:
		b, ok := b.(*yql.Member)
		return ok && a.Name == b.Name && sameChildren(a, b)
	}
	return false
}

func sameChildren(a, b yql.Expr) bool {
	return slices.EqualFunc(children(a), children(b), sameExpr)
}
