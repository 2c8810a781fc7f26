package plan

import (
	"fmt"

	"github.com/taskfleet/taskfleet/internal/ydbembed/issue"
	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
	"github.com/taskfleet/taskfleet/internal/ydbembed/yql"
)

// tail is what orders and limits the rows of a select.
type tail struct {
	order         []yql.OrderItem
	limit, offset yql.Expr
}

func (t tail) empty() bool { return len(t.order) == 0 && t.limit == nil && t.offset == nil }

// selectRows compiles a whole select.
func (c *compiler) selectRows(sel *yql.Select) (Node, []Column, error) {
	if err := c.enter(sel); err != nil {
		return nil, nil, err
	}
	defer c.leave()
	t := tail{sel.OrderBy, sel.Limit, sel.Offset}
	if len(sel.Arms) == 1 && sel.Arms[0].Sub == nil {
		return c.arm(&sel.Arms[0], t)
	}
	node, columns, err := c.union(sel)
	if err != nil || t.empty() {
		return node, columns, err
	}
	return c.orderRows(node, columns, t)
}

// orderRows applies a tail to rows that are only known by their columns.
func (c *compiler) orderRows(node Node, columns []Column, t tail) (Node, []Column, error) {
	keys, err := c.sortKeys(t.order, single("", columns), nil)
	if err != nil {
		return nil, nil, err
	}
	node, err = c.finish(node, keys, t)
	return node, columns, err
}

// finish sorts, when there are keys, and limits.
func (c *compiler) finish(node Node, keys []SortKey, t tail) (Node, error) {
	limit, err := c.count(t.limit)
	if err != nil {
		return nil, err
	}
	offset, err := c.count(t.offset)
	if err != nil {
		return nil, err
	}
	if len(keys) > 0 {
		node = &Sort{Input: node, Keys: keys, Limit: limit, Skip: offset}
	}
	if limit != nil || offset != nil {
		node = &Limit{Input: node, Count: limit, Offset: offset}
	}
	return node, nil
}

// count compiles LIMIT or OFFSET; NULL stands for none.
func (c *compiler) count(e yql.Expr) (*Expr, error) {
	if e == nil {
		return nil, nil
	}
	x, err := c.expr(e, &scope{why: "LIMIT and OFFSET"})
	if err != nil {
		return nil, err
	}
	out := coerce(x, types.OptionalOf(types.Primitive(types.Uint64)))
	if out == nil {
		return nil, at(e, issue.Type("Mismatch type argument #1, type diff: %s!=Uint64", x.Type))
	}
	return out, nil
}

// arm compiles one SELECT with the tail that applies to it.
func (c *compiler) arm(a *yql.SelectArm, t tail) (Node, []Column, error) {
	var where []yql.Expr
	if a.Where != nil {
		where = flatten(a.Where, "AND", nil)
	}
	node, sc, err := c.from(a.From, where)
	if err != nil {
		return nil, nil, err
	}
	base, _ := node.(*Scan)
	scan := base // as long as its order is that of the result
	if a.Where != nil {
		pred, err := c.expr(a.Where, sc)
		if err != nil {
			return nil, nil, err
		}
		if err := wantBool(a.Where, pred); err != nil {
			return nil, nil, err
		}
		node = &Filter{Input: node, Pred: pred}
	}
	items, err := expand(a.Items, sc)
	if err != nil {
		return nil, nil, err
	}
	grouped, err := c.grouping(a, items, t, sc)
	if err != nil {
		return nil, nil, err
	}
	if grouped != nil {
		sc, scan = &scope{sources: sc.sources, agg: grouped}, nil
	}
	exprs, columns, err := c.project(items, sc)
	if err != nil {
		return nil, nil, err
	}
	var having *Expr
	if a.Having != nil {
		if having, err = c.expr(a.Having, sc); err != nil {
			return nil, nil, err
		}
		if err := wantBool(a.Having, having); err != nil {
			return nil, nil, err
		}
	}
	var keys []SortKey
	if !a.Distinct {
		if keys, err = c.sortKeys(t.order, sc, items); err != nil {
			return nil, nil, err
		}
	}
	if grouped != nil {
		node = grouped.node(node, base)
		if having != nil {
			node = &Filter{Input: node, Pred: having}
		}
	} else if having != nil {
		return nil, nil, at(a.Having, issue.Type("HAVING with no GROUP BY and no aggregation"))
	}
	if a.Distinct {
		return c.orderRows(&Distinct{Input: &Project{Input: node, Exprs: exprs}}, columns, t)
	}
	if scan != nil && scan.inOrder(keys) {
		keys = nil
	}
	limited, err := c.finish(node, keys, t)
	if err != nil {
		return nil, nil, err
	}
	if l, ok := limited.(*Limit); ok && scan != nil && len(keys) == 0 && (a.Where == nil || scan.Path.exact) {
		scan.limit = l.Count
	}
	return &Project{Input: limited, Exprs: exprs}, columns, nil
}

// item is a result column: an expression as written, or a column of a star.
type item struct {
	name   string
	expr   yql.Expr
	source *source
	index  int
}

// expand replaces stars by the columns that they stand for and names all columns.
func expand(list []yql.SelectItem, sc *scope) ([]item, error) {
	var out []item
	seen := map[string]bool{}
	add := func(pos positioned, it item) error {
		if seen[it.name] {
			return at(pos, issue.Type("Duplicated member: %s", it.name))
		}
		seen[it.name] = true
		out = append(out, it)
		return nil
	}
	for i, si := range list {
		if !si.Star {
			name := si.Alias
			if col, ok := si.Expr.(*yql.Column); ok && name == "" {
				name = col.Name
			}
			if m, ok := si.Expr.(*yql.Member); ok && name == "" {
				name = m.Name
			}
			if name == "" {
				name = fmt.Sprintf("column%d", i)
			}
			if err := add(si, item{name: name, expr: si.Expr}); err != nil {
				return nil, err
			}
			continue
		}
		if si.Table == "" && len(list) > 1 {
			return nil, at(si, issue.Type("Unable to use plain '*' with other projection items. Please use qualified asterisk instead: '<table>.*' (<table> can be either table name or table alias)"))
		}
		found := false
		for _, s := range sc.sources {
			if si.Table != "" && !s.matches(si.Table) {
				continue
			}
			found = true
			for ci, col := range s.cols {
				if err := add(si, item{name: col.Name, source: s, index: ci}); err != nil {
					return nil, err
				}
			}
		}
		if !found && si.Table != "" {
			return nil, at(si, issue.Type("Unknown correlation name: %s", si.Table))
		}
		if !found {
			return nil, at(si, issue.Type("Column references are not allowed without FROM: *"))
		}
	}
	return out, nil
}

// project compiles the result columns.
func (c *compiler) project(items []item, sc *scope) ([]*Expr, []Column, error) {
	if err := c.grow(len(items) * (exprBytes + columnBytes)); err != nil {
		return nil, nil, err
	}
	exprs := make([]*Expr, len(items))
	columns := make([]Column, len(items))
	for i, it := range items {
		var err error
		switch {
		case it.source != nil && sc.agg == nil:
			exprs[i] = it.source.ref(it.index)
		case it.source != nil:
			exprs[i], err = c.expr(&yql.Column{Table: it.source.alias, Name: it.name}, sc)
		default:
			exprs[i], err = c.expr(it.expr, sc)
		}
		if err != nil {
			return nil, nil, err
		}
		columns[i] = Column{Name: it.name, Type: exprs[i].Type, literal: exprs[i].Literal}
	}
	return exprs, columns, nil
}

// sortKeys compiles ORDER BY. A bare name means a result column first, then a
// column of the sources.
func (c *compiler) sortKeys(order []yql.OrderItem, sc *scope, items []item) ([]SortKey, error) {
	keys := make([]SortKey, len(order))
	for i, o := range order {
		e := o.Expr
		if col, ok := e.(*yql.Column); ok && col.Table == "" {
			for _, it := range items {
				if it.name == col.Name && it.expr != nil {
					e = it.expr
				}
			}
		}
		x, err := c.expr(e, sc)
		if err != nil {
			return nil, err
		}
		if !comparable(x.Type, x.Type) {
			return nil, at(o.Expr, issue.Type("Cannot order by type %s", x.Type))
		}
		keys[i] = SortKey{Expr: x, Desc: o.Desc}
	}
	return keys, nil
}

// grouping tells whether a select aggregates, and compiles its keys.
func (c *compiler) grouping(a *yql.SelectArm, items []item, t tail, sc *scope) (*aggregation, error) {
	aggregated := len(a.GroupBy) > 0 || a.Having != nil && hasAggregate(a.Having)
	for _, it := range items {
		aggregated = aggregated || it.expr != nil && hasAggregate(it.expr)
	}
	for _, o := range t.order {
		aggregated = aggregated || hasAggregate(o.Expr)
	}
	if !aggregated {
		return nil, nil
	}
	agg := &aggregation{input: sc, keys: a.GroupBy}
	for _, k := range a.GroupBy {
		x, err := c.expr(k.Expr, sc)
		if err != nil {
			return nil, err
		}
		agg.exprs = append(agg.exprs, x)
	}
	return agg, nil
}
