package plan

import (
	"strings"

	"github.com/taskfleet/taskfleet/internal/ydbembed/issue"
	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
	"github.com/taskfleet/taskfleet/internal/ydbembed/yql"
)

var aggregates = map[string]AggKind{
	"count": Count, "count_if": CountIf, "min": Min, "max": Max, "sum": Sum, "avg": Avg, "some": Some,
	"aggregate_list": AggList, "agg_list": AggList, "min_by": MinBy, "max_by": MaxBy,
	"bool_and": BoolAnd, "bool_or": BoolOr,
}

// aggregation is what expressions see after GROUP BY: the keys, then the
// aggregates, which are collected as they are met.
type aggregation struct {
	input *scope
	keys  []yql.SelectItem
	exprs []*Expr // of keys, over the input
	aggs  []Agg
}

// expr compiles what is a key or an aggregate; nil for what must be looked into.
func (a *aggregation) expr(c *compiler, e yql.Expr) (*Expr, error) {
	for i, k := range a.keys {
		if a.isKey(e, k, i) {
			return slot(i, a.exprs[i].Type, a.exprs[i].Text), nil
		}
	}
	switch e := e.(type) {
	case *yql.Column:
		if _, _, err := a.input.find(e); err != nil {
			return nil, err
		}
		return nil, at(e, issue.Type("Column `%s` must either be a key column in GROUP BY or it should be used in aggregation function", columnText(e)))
	case *yql.Call:
		if kind, ok := aggregates[strings.ToLower(e.Name)]; ok {
			return a.call(c, e, kind)
		}
	}
	return nil, nil
}

func (a *aggregation) isKey(e yql.Expr, key yql.SelectItem, i int) bool {
	if sameExpr(e, key.Expr) {
		return true
	}
	col, ok := e.(*yql.Column)
	if !ok {
		return false
	}
	if col.Table == "" && col.Name == key.Alias {
		return true
	}
	s, index, err := a.input.find(col)
	return err == nil && a.exprs[i].column == s.offset+index+1
}

func slot(i int, t *types.Type, text string) *Expr {
	return &Expr{Type: t, Text: text, column: i + 1, Eval: func(_ *Frame, row []types.Value) (types.Value, error) { return row[i], nil }}
}

func (a *aggregation) call(c *compiler, e *yql.Call, kind AggKind) (*Expr, error) {
	want := 1
	switch {
	case e.Star:
		want = 0
	case kind == MinBy || kind == MaxBy:
		want = 2
	}
	if len(e.Args) != want || e.Star && kind != Count {
		return nil, at(e, issue.Type("Wrong number of arguments of %s: %d", e.Name, len(e.Args)))
	}
	args, err := c.exprs(e.Args, a.input)
	if err != nil {
		return nil, err
	}
	agg := Agg{Kind: kind, Distinct: e.Distinct}
	if want > 0 {
		agg.Arg = args[0]
	}
	if want > 1 {
		agg.By = args[1]
	}
	if agg.Type, err = aggType(e, agg, len(a.keys) > 0); err != nil {
		return nil, err
	}
	a.aggs = append(a.aggs, agg)
	return slot(len(a.keys)+len(a.aggs)-1, agg.Type, e.Name+"("+joinTexts(args)+")"), nil
}

// aggType is the type of an aggregate's result. Without GROUP BY there may be
// no row at all, so everything but counts is Optional then.
func aggType(pos positioned, a Agg, grouped bool) (*types.Type, error) {
	if a.Kind == Count {
		return types.Primitive(types.Uint64), nil
	}
	t := a.Arg.Type
	k := t.Unwrap().Kind
	optional := t.IsOptional() || !grouped
	switch a.Kind {
	case CountIf, BoolAnd, BoolOr:
		if err := wantBool(pos, a.Arg); err != nil {
			return nil, err
		}
		if a.Kind == CountIf {
			return types.Primitive(types.Uint64), nil
		}
	case Sum, Avg:
		switch {
		case a.Kind == Avg && (k.IsNumeric() || k == types.Null):
			t = types.Primitive(types.Double)
		case k == types.Interval && a.Kind == Sum:
			optional = true
		case k.IsSigned():
			t = types.Primitive(types.Int64)
		case k.IsInteger():
			t = types.Primitive(types.Uint64)
		case k.IsNumeric(), k == types.Null:
		default:
			return nil, at(pos, issue.Type("Cannot aggregate type %s", a.Arg.Type))
		}
	case Min, Max:
		if !comparable(t, t) {
			return nil, at(pos, issue.Type("Cannot compare type %s", t))
		}
	case MinBy, MaxBy:
		if !comparable(a.By.Type, a.By.Type) {
			return nil, at(pos, issue.Type("Cannot compare type %s", a.By.Type))
		}
		optional = optional || a.By.Type.IsOptional()
	case AggList:
		return types.ListOf(t.Unwrap()), nil
	}
	if optional {
		return types.OptionalOf(t), nil
	}
	return t, nil
}

// hasAggregate tells whether an aggregate call is anywhere in an expression.
func hasAggregate(e yql.Expr) bool {
	found := false
	walk(e, func(e yql.Expr) bool {
		if call, ok := e.(*yql.Call); ok {
			if _, ok := aggregates[strings.ToLower(call.Name)]; ok {
				found = true
			}
		}
		return !found
	})
	return found
}

// node is the source of the aggregated rows. A lone MIN or MAX of a column in
// whose order the scan can read needs the first row only.
func (a *aggregation) node(input Node, scan *Scan) Node {
	if len(a.keys) == 0 && len(a.aggs) == 1 && scan != nil {
		agg := a.aggs[0]
		if (agg.Kind == Min || agg.Kind == Max) && scan.inOrder([]SortKey{{Expr: agg.Arg, Desc: agg.Kind == Max}}) {
			if agg.Arg.Type.IsOptional() {
				input = &Filter{Input: input, Pred: notNull(agg.Arg)}
			}
			input = &Limit{Input: input, Count: constant(types.Primitive(types.Uint64), types.UintValue(types.Uint64, 1))}
		}
	}
	return &Aggregate{Input: input, Keys: a.exprs, Aggs: a.aggs}
}

func notNull(x *Expr) *Expr {
	return &Expr{
		Type: boolType, Text: x.Text + " IS NOT NULL",
		Eval: func(f *Frame, row []types.Value) (types.Value, error) {
			v, err := x.Eval(f, row)
			return types.BoolValue(!v.IsNull()), err
		},
	}
}
