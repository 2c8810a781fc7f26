package plan

import (
	"github.com/taskfleet/taskfleet/internal/ydbembed/issue"
	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
	"github.com/taskfleet/taskfleet/internal/ydbembed/yql"
)

// from compiles FROM. The conjuncts of WHERE may choose how tables are read;
// they are still to be checked for every row.
func (c *compiler) from(e yql.TableExpr, where []yql.Expr) (Node, *scope, error) {
	if e == nil {
		return &One{}, &scope{}, nil
	}
	node, sc, err := c.source(e, where)
	if err != nil {
		return nil, nil, err
	}
	for _, s := range sc.sources {
		if s.scan == nil {
			continue
		}
		if s.scan.Path, err = c.choosePath(s, sc, where); err != nil {
			return nil, nil, err
		}
	}
	return node, sc, nil
}

func (c *compiler) source(e yql.TableExpr, where []yql.Expr) (Node, *scope, error) {
	if err := c.enter(e); err != nil {
		return nil, nil, err
	}
	defer c.leave()
	switch e := e.(type) {
	case *yql.FromTable:
		return c.fromTable(e)
	case *yql.FromNamed:
		b := c.names[e.Name]
		if b.named == nil {
			return nil, nil, at(e, issue.Generic("Unknown name of a select: $%s", e.Name))
		}
		c.use(b.named)
		return &Ref{Named: b.named}, single(alias(e.Alias, e.Name), b.named.Columns), nil
	case *yql.FromAsTable:
		return c.fromAsTable(e)
	case *yql.FromSelect:
		node, columns, err := c.selectRows(e.Select)
		if err != nil {
			return nil, nil, err
		}
		return node, single(e.Alias, columns), nil
	case *yql.Join:
		return c.join(e, where)
	}
	return nil, nil, at(e, issue.Unsupported("Source is not supported: %T", e))
}

func (c *compiler) fromTable(e *yql.FromTable) (Node, *scope, error) {
	t, err := c.table(e.Table)
	if err != nil {
		return nil, nil, err
	}
	if c.current != nil {
		c.current.reads = true
	}
	if err := c.grow(len(t.Columns) * columnBytes); err != nil {
		return nil, nil, err
	}
	columns := make([]Column, len(t.Columns))
	for i, col := range t.Columns {
		columns[i] = Column{Name: col.Name, Type: col.ValueType()}
	}
	need := make([]bool, len(columns))
	scan := &Scan{Table: t, Path: &Path{Table: t}, Need: need}
	sc := single(alias(e.Alias, e.Table.Path), columns)
	s := sc.sources[0]
	s.table, s.need, s.scan = t, need, scan
	return scan, sc, nil
}

func (c *compiler) fromAsTable(e *yql.FromAsTable) (Node, *scope, error) {
	list, err := c.expr(e.Expr, &scope{why: "AS_TABLE"})
	if err != nil {
		return nil, nil, err
	}
	t := list.Type.Unwrap()
	switch {
	case t.Kind == types.EmptyList:
		return &AsTable{List: list}, single(e.Alias, nil), nil
	case t.Kind != types.List || t.Elem.Kind != types.Struct:
		return nil, nil, at(e, issue.Type("Expected list of structs in AS_TABLE, but got: %s", list.Type))
	}
	columns := make([]Column, len(t.Elem.Fields))
	for i, f := range t.Elem.Fields {
		columns[i] = Column{Name: f.Name, Type: f.Type}
	}
	return &AsTable{List: list}, single(e.Alias, columns), nil
}

func single(alias string, columns []Column) *scope {
	return &scope{sources: []*source{{alias: alias, cols: columns}}, width: len(columns)}
}

func alias(given, otherwise string) string {
	if given != "" {
		return given
	}
	return otherwise
}
