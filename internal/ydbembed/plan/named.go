package plan

import (
	"github.com/taskfleet/taskfleet/internal/ydbembed/issue"
	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
	"github.com/taskfleet/taskfleet/internal/ydbembed/yql"
)

// namedSelect compiles a select that others refer to.
func (c *compiler) namedSelect(name string, sel *yql.Select) (*Named, error) {
	n := &Named{ID: len(c.all), Name: name, defined: c.stmt, lastUse: -1}
	c.all = append(c.all, n)
	outer := c.current
	c.current = n
	source, columns, err := c.selectRows(sel)
	c.current = outer
	if err != nil {
		return nil, err
	}
	n.Source, n.Columns = source, columns
	return n, nil
}

// use notes that what is being compiled needs n.
func (c *compiler) use(n *Named) {
	n.uses++
	if c.current != nil {
		c.current.deps = append(c.current.deps, n)
		c.current.reads = c.current.reads || n.reads
		return
	}
	n.neededBy(c.stmt)
}

func (n *Named) neededBy(stmt int) {
	if n.lastUse >= stmt {
		return
	}
	n.lastUse = stmt
	for _, d := range n.deps {
		d.neededBy(stmt)
	}
}

// arrangeNamed decides which named selects are computed once and kept, and
// which must be computed before a statement writes: a named select shows the
// tables as they are where it is defined.
func (c *compiler) arrangeNamed() {
	for _, n := range c.all {
		n.Keep = n.uses > 1
	}
	for i, s := range c.q.Statements {
		e := effectOf(s)
		if e == nil {
			continue
		}
		for _, n := range c.all {
			if n.reads && n.defined <= i && n.lastUse > i {
				n.Keep = true
				e.Before = append(e.Before, n)
			}
		}
	}
}

func effectOf(s Statement) *Effect {
	switch s := s.(type) {
	case *Write:
		return &s.Effect
	case *Update:
		return &s.Effect
	case *Delete:
		return &s.Effect
	}
	return nil
}

// subselect is a select in parentheses that stands in an expression.
func (c *compiler) subselect(e *yql.SubSelect) (*Named, error) {
	if n, ok := c.subs[e]; ok { // it also chooses how a table is read
		return n, nil
	}
	n, err := c.namedSelect("", e.Select)
	if err != nil {
		return nil, err
	}
	c.use(n)
	c.subs[e] = n
	return n, nil
}

// scalar is the value of a select: its only column in its first row.
func (c *compiler) scalar(pos positioned, n *Named) (*Expr, error) {
	if len(n.Columns) != 1 {
		return nil, at(pos, issue.Type("A select used as a value must have one column, it has %d", len(n.Columns)))
	}
	return &Expr{
		Type: types.OptionalOf(n.Columns[0].Type), Const: true, Text: "$" + n.Name,
		Eval: func(f *Frame, _ []types.Value) (types.Value, error) { return f.Scalar(n) },
	}, nil
}
