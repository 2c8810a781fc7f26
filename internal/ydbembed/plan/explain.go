package plan

import (
	"encoding/json"
	"strconv"
	"strings"
)

// planNode is one node of EXPLAIN. The fields and names are YDB's.
type planNode struct {
	ID        int         `json:"PlanNodeId"`
	Type      string      `json:"Node Type"`
	Kind      string      `json:"PlanNodeType,omitempty"`
	CTE       string      `json:"CTE Name,omitempty"`
	Subplan   string      `json:"Subplan Name,omitempty"`
	Operators []operator  `json:"Operators,omitempty"`
	Tables    []string    `json:"Tables,omitempty"`
	Plans     []*planNode `json:"Plans,omitempty"`
}

type operator map[string]any

// explainer builds the plan of a query.
type explainer struct {
	q      *Query
	nodes  int
	seen   map[*Named]string // precomputed selects by their plan's name
	pre    []*planNode
	tables tableUse
}

// ExplainJSON returns the plan in YDB's vocabulary: "Node Type" and the names
// of "Operators" say how tables are read.
func (q *Query) ExplainJSON() string {
	root, x := q.explain()
	doc := map[string]any{
		"meta":           map[string]string{"version": "0.2", "type": "query"},
		"Plan":           root,
		"tables":         x.tables.list(),
		"SimplifiedPlan": root,
	}
	out, err := json.Marshal(doc)
	if err != nil {
		return "{}" // strings, numbers and maps of them: cannot happen
	}
	return string(out)
}

// ExplainAST returns the plan as an expression in parentheses.
func (q *Query) ExplainAST() string {
	root, _ := q.explain()
	var b strings.Builder
	root.write(&b, 0)
	return b.String()
}

func (n *planNode) write(b *strings.Builder, depth int) {
	b.WriteString(strings.Repeat("  ", depth) + "(" + strconv.Quote(n.Type))
	for _, t := range n.Tables {
		b.WriteString(" '" + strconv.Quote(t))
	}
	for _, p := range n.Plans {
		b.WriteByte('\n')
		p.write(b, depth+1)
	}
	b.WriteByte(')')
}

func (q *Query) explain() (*planNode, *explainer) {
	x := &explainer{q: q, seen: map[*Named]string{}}
	root := x.new("Query")
	root.Kind = "Query"
	for _, s := range q.Statements {
		root.Plans = append(root.Plans, x.statement(s))
	}
	for _, n := range q.named { // what stands in expressions only
		if n.uses > 0 {
			x.precompute(n)
		}
	}
	for _, d := range q.DDL {
		n := x.new("SchemeOperation")
		n.Tables = []string{q.short(d.Path)}
		root.Plans = append(root.Plans, n)
	}
	root.Plans = append(x.pre, root.Plans...)
	return root, x
}

func (x *explainer) new(kind string) *planNode {
	x.nodes++
	return &planNode{ID: x.nodes - 1, Type: kind}
}

// short is a table's path below the database.
func (q *Query) short(path string) string { return strings.TrimPrefix(path, q.database+"/") }

func (x *explainer) statement(s Statement) *planNode {
	switch s := s.(type) {
	case *Select:
		n := x.new("ResultSet")
		n.Kind = "ResultSet"
		n.Plans = []*planNode{x.node(s.Source)}
		return n
	case *Write:
		name := "Upsert"
		switch s.Mode {
		case InsertAbort, InsertRevert, InsertIgnore:
			name = "Insert"
			x.tables.read(s.Table.Path, map[string]any{"type": "MultiLookup", "lookup_by": keyNames(s.Table), "columns": keyNames(s.Table)})
		case Replace:
			name = "Replace"
		}
		return x.effect(name, &s.Effect, s.Source, columnNames(s.Table, s.Columns))
	case *Update:
		if s.On {
			x.tables.read(s.Table.Path, map[string]any{"type": "MultiLookup", "lookup_by": keyNames(s.Table), "columns": keyNames(s.Table)})
		}
		return x.effect("Update", &s.Effect, s.Source, columnNames(s.Table, s.Columns))
	case *Delete:
		return x.effect("Delete", &s.Effect, s.Source, nil)
	}
	return x.new("Unknown")
}

func (x *explainer) effect(name string, e *Effect, source Node, columns []string) *planNode {
	input := x.node(source)
	n := x.new(name)
	n.Kind, n.Tables = "Effect", []string{x.q.short(e.Table.Path)}
	op := operator{"Name": name, "Table": n.Tables[0]}
	kind := "MultiUpsert"
	if name == "Delete" {
		kind = "MultiErase"
	} else {
		op["SinkType"] = "KqpTableSink"
		op["Columns"] = columns
	}
	if rows, ok := source.(*Rows); ok && len(rows.Rows) == 1 {
		kind = strings.TrimPrefix(kind, "Multi")
	}
	n.Operators, n.Plans = []operator{op}, []*planNode{input}
	x.tables.write(e.Table.Path, map[string]any{"type": kind, "columns": columns})
	return n
}

// precompute plans a select that is computed once, and returns its plan's name.
func (x *explainer) precompute(n *Named) string {
	if name, ok := x.seen[n]; ok {
		return name
	}
	name := "precompute_" + strconv.Itoa(len(x.seen))
	x.seen[n] = name
	input := x.node(n.Source)
	p := x.new("Precompute_" + strings.TrimPrefix(name, "precompute_"))
	p.Kind, p.Subplan, p.Plans = "Materialize", "CTE "+name, []*planNode{input}
	x.pre = append(x.pre, p)
	return name
}

// node plans a source: operators that pass rows on are one plan node with what
// makes the rows.
func (x *explainer) node(n Node) *planNode {
	out := x.new("")
	var ops []operator
	for {
		op, input := x.pass(n)
		if op != nil {
			ops = append(ops, op)
		}
		if input == nil {
			break
		}
		n = input
	}
	last := x.leaf(n, out)
	if last != nil {
		ops = append(ops, last)
	}
	names := make([]string, len(ops))
	for i, op := range ops {
		names[i], _ = op["Name"].(string)
	}
	if out.Type != "" && last == nil {
		names = append(names, out.Type)
	}
	out.Type, out.Operators = strings.Join(names, "-"), ops
	return out
}

// pass is the operator of a source that passes the rows of one input on, and
// that input; nil for other sources.
func (x *explainer) pass(n Node) (operator, Node) {
	switch n := n.(type) {
	case *Project:
		return nil, n.Input
	case *Filter:
		if scan, ok := n.Input.(*Scan); ok && scan.Path.exact {
			return nil, n.Input
		}
		return operator{"Name": "Filter", "Predicate": n.Pred.Text}, n.Input
	case *Limit:
		op := operator{"Name": "Limit"}
		if n.Count != nil {
			op["Limit"] = n.Count.Text
		}
		if n.Offset != nil {
			op["Offset"] = n.Offset.Text
		}
		return op, n.Input
	case *Sort:
		keys := make([]string, len(n.Keys))
		for i, k := range n.Keys {
			keys[i] = k.Expr.Text
			if k.Desc {
				keys[i] += " DESC"
			}
		}
		op := operator{"Name": "Sort", "SortBy": keys}
		if n.Limit != nil {
			op = operator{"Name": "TopSort", "TopSortBy": keys, "Limit": n.Limit.Text}
		}
		return op, n.Input
	case *Distinct:
		return operator{"Name": "Aggregate", "Phase": "Distinct"}, n.Input
	case *Aggregate:
		return operator{"Name": "Aggregate", "GroupBy": joinTexts(n.Keys)}, n.Input
	case *Ref:
		if !n.Named.Keep {
			x.seen[n.Named] = ""
			return nil, n.Named.Source
		}
	}
	return nil, nil
}

// leaf fills in what makes the rows and returns its operator.
func (x *explainer) leaf(n Node, out *planNode) operator {
	switch n := n.(type) {
	case *Scan:
		return x.scan(n, out)
	case *Lookup:
		return x.lookup(n, out)
	case *HashJoin:
		out.Plans = []*planNode{x.node(n.Left), x.node(n.Right)}
		return operator{"Name": joinLabels[n.Kind] + " (MapJoin)", "Condition": joinTexts(n.LeftKeys) + " = " + joinTexts(n.RightKeys)}
	case *Cross:
		out.Plans = []*planNode{x.node(n.Left), x.node(n.Right)}
		return operator{"Name": "CrossJoin (MapJoin)"}
	case *Union:
		for _, arm := range n.Arms {
			out.Plans = append(out.Plans, x.node(arm))
		}
		out.Type = "UnionAll"
	case *Ref:
		out.CTE = x.precompute(n.Named)
		return operator{"Name": "Iterator", "Iterator": "$" + n.Named.Name}
	case *AsTable:
		return operator{"Name": "Iterator", "Iterator": n.List.Text}
	default:
		out.Type = "ConstantExpr"
	}
	return nil
}

var joinLabels = map[JoinKind]string{Inner: "InnerJoin", Left: "LeftJoin", LeftOnly: "LeftOnlyJoin", LeftSemi: "LeftSemiJoin"}
