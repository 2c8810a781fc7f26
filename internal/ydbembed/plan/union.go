package plan

import (
	"github.com/taskfleet/taskfleet/internal/ydbembed/issue"
	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
	"github.com/taskfleet/taskfleet/internal/ydbembed/yql"
)

// union compiles the arms of a select and joins them by column name; a column
// that an arm lacks is NULL there.
func (c *compiler) union(sel *yql.Select) (Node, []Column, error) {
	nodes := make([]Node, len(sel.Arms))
	arms := make([][]Column, len(sel.Arms))
	var columns []Column
	for i := range sel.Arms {
		a := &sel.Arms[i]
		var err error
		if a.Sub != nil {
			nodes[i], arms[i], err = c.selectRows(a.Sub)
		} else {
			nodes[i], arms[i], err = c.arm(a, tail{})
		}
		if err != nil {
			return nil, nil, err
		}
		for _, col := range arms[i] {
			if columnIndex(columns, col.Name) < 0 {
				columns = append(columns, Column{Name: col.Name})
			}
		}
	}
	if len(nodes) == 1 {
		return nodes[0], arms[0], nil
	}
	if err := c.grow(len(columns) * (len(nodes)*exprBytes + columnBytes)); err != nil {
		return nil, nil, err
	}
	node := &Union{Arms: nodes, Maps: make([][]int, len(nodes))}
	for i := range nodes {
		node.Maps[i] = make([]int, len(columns))
	}
	converted := make([][]*Expr, len(nodes)) // by arm, nil when it fits as it is
	for ci := range columns {
		if err := uniteColumn(sel, node, arms, &columns[ci], ci, converted); err != nil {
			return nil, nil, err
		}
	}
	for i, exprs := range converted {
		if exprs != nil {
			node.Arms[i] = &Project{Input: node.Arms[i], Exprs: exprs}
		}
	}
	if sel.Distinct {
		return &Distinct{Input: node}, columns, nil
	}
	return node, columns, nil
}

// uniteColumn finds the common type of one column and the conversions of the arms to it.
func uniteColumn(sel *yql.Select, node *Union, arms [][]Column, col *Column, place int, converted [][]*Expr) error {
	list := make([]*Expr, len(arms))
	for i, arm := range arms {
		from := columnIndex(arm, col.Name)
		node.Maps[i][place] = from
		if from < 0 {
			list[i] = constant(types.Primitive(types.Null), types.NullValue)
			continue
		}
		list[i] = slot(from, arm[from].Type, col.Name)
		list[i].Literal = arm[from].literal
	}
	out, t, err := unify(sel, list)
	if err != nil {
		return at(sel, issue.Type("Uncompatible types of column %s in UNION ALL", col.Name))
	}
	col.Type = t
	for i, arm := range arms {
		from := node.Maps[i][place]
		if from < 0 || arm[from].Type.Unwrap().Equal(t.Unwrap()) {
			continue
		}
		if converted[i] == nil {
			converted[i] = make([]*Expr, len(arm))
			for j, other := range arm {
				converted[i][j] = slot(j, other.Type, other.Name)
			}
		}
		converted[i][from] = out[i]
	}
	return nil
}

func columnIndex(columns []Column, name string) int {
	for i, c := range columns {
		if c.Name == name {
			return i
		}
	}
	return -1
}
