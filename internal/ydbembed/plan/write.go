package plan

import (
	"slices"
	"strings"

	"github.com/taskfleet/taskfleet/internal/ydbembed/issue"
	"github.com/taskfleet/taskfleet/internal/ydbembed/store"
	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
	"github.com/taskfleet/taskfleet/internal/ydbembed/yql"
)

// input is what a writing statement takes its rows from.
type input struct {
	node    Node
	columns []int   // table columns, in the order of values
	values  []*Expr // over a row of node, of the column's type
}

// has tells whether the input gives a table column, and where.
func (in *input) has(column int) int { return slices.Index(in.columns, column) }

func (c *compiler) insert(s *yql.Insert) error {
	t, err := c.table(s.Table)
	if err != nil {
		return err
	}
	in, err := c.input(s, t, s.Columns, s.Rows, s.Select, true)
	if err != nil {
		return err
	}
	for _, k := range t.Key {
		if in.has(k) < 0 && t.Columns[k].Default == nil {
			return at(s, missingKey(t.Columns[k]))
		}
	}
	for i, col := range t.Columns {
		if col.NotNull && col.Default == nil && in.has(i) < 0 {
			return at(s, issue.MissingNotNull(col.Name))
		}
	}
	w := &Write{
		Effect: Effect{Table: t}, Mode: writeModes[s.Mode],
		Source: in.node, Values: in.values, Columns: in.columns, All: len(in.columns) == len(t.Columns),
	}
	if err := w.returning(s.Returning); err != nil {
		return err
	}
	c.q.Statements = append(c.q.Statements, w)
	return nil
}

var writeModes = map[yql.InsertMode]WriteMode{
	yql.InsertAbort: InsertAbort, yql.InsertRevert: InsertRevert, yql.InsertIgnore: InsertIgnore,
	yql.Upsert: Upsert, yql.Replace: Replace,
}

func missingKey(col store.Column) *issue.Error {
	if col.NotNull {
		return issue.MissingNotNull(col.Name)
	}
	return issue.Type("Missing key column in input: %s", col.Name)
}

// input compiles VALUES or SELECT as the source of a write. With all unset,
// columns that are no columns of the key are dropped, as DELETE ON does.
func (c *compiler) input(pos positioned, t *store.Table, names []string, rows [][]yql.Expr, sel *yql.Select, all bool) (*input, error) {
	if sel == nil {
		return c.values(pos, t, names, rows)
	}
	node, columns, err := c.selectRows(sel)
	if err != nil {
		return nil, err
	}
	if names != nil && len(names) != len(columns) {
		return nil, at(pos, issue.Type("SELECT has %d columns, but %d were expected: %s", len(columns), len(names), strings.Join(names, ", ")))
	}
	in := &input{node: node}
	var given []*Expr
	for i, col := range columns {
		if names != nil && names[i] != col.Name {
			return nil, at(pos, issue.Type("Column names in SELECT don't match column specification in parenthesis. %q doesn't match %q", names[i], col.Name))
		}
		column := t.Column(col.Name)
		if !all && (column < 0 || !t.IsKey(column)) {
			continue
		}
		if column < 0 {
			return nil, at(pos, issue.Type("No such column: %s", col.Name))
		}
		x := slot(i, col.Type, col.Name)
		x.Literal = col.literal
		in.columns, given = append(in.columns, column), append(given, x)
	}
	in.values, err = c.fit(pos, t, in.columns, given)
	return in, err
}

func (c *compiler) values(pos positioned, t *store.Table, names []string, rows [][]yql.Expr) (*input, error) {
	if len(names) == 0 {
		return nil, at(pos, issue.Type("VALUES need a list of column names"))
	}
	in := &input{}
	for _, name := range names {
		column := t.Column(name)
		if column < 0 {
			return nil, at(pos, issue.Type("No such column: %s", name))
		}
		if in.has(column) >= 0 {
			return nil, at(pos, issue.Type("Duplicated column: %s", name))
		}
		in.values = append(in.values, slot(len(in.columns), t.Columns[column].ValueType(), name))
		in.columns = append(in.columns, column)
	}
	node := &Rows{Rows: make([][]*Expr, len(rows))}
	for i, row := range rows {
		if len(row) != len(names) {
			return nil, at(pos, issue.Type("VALUES have %d columns, UPSERT expects: %d", len(row), len(names)))
		}
		exprs, err := c.exprs(row, &scope{why: "VALUES"})
		if err != nil {
			return nil, err
		}
		if node.Rows[i], err = c.fit(pos, t, in.columns, exprs); err != nil {
			return nil, err
		}
	}
	in.node = node
	return in, nil
}

// fit converts expressions to the types of table columns.
func (c *compiler) fit(pos positioned, t *store.Table, columns []int, exprs []*Expr) ([]*Expr, error) {
	out := make([]*Expr, len(exprs))
	for i, x := range exprs {
		col := t.Columns[columns[i]]
		if out[i] = coerce(x, col.ValueType()); out[i] != nil {
			continue
		}
		if col.NotNull && coerce(x, types.OptionalOf(col.Type)) != nil {
			return nil, at(pos, issue.NullIntoNotNull(col.Name))
		}
		return nil, at(pos, mismatch(t, columns, exprs))
	}
	return out, nil
}

// mismatch is YDB's text for a row of the wrong type.
func mismatch(t *store.Table, columns []int, exprs []*Expr) *issue.Error {
	from, to := make([]types.Field, len(exprs)), make([]types.Field, len(exprs))
	for i, x := range exprs {
		col := t.Columns[columns[i]]
		from[i] = types.Field{Name: col.Name, Type: x.Type}
		to[i] = types.Field{Name: col.Name, Type: col.ValueType()}
	}
	byName := func(a, b types.Field) int { return strings.Compare(a.Name, b.Name) }
	slices.SortFunc(from, byName)
	slices.SortFunc(to, byName)
	e := issue.Generic("Failed to convert type: %s to %s", types.StructOf(from...), types.StructOf(to...))
	e.Issues = append(e.Issues, issue.Issue{
		Code: issue.CodeBadColumnType, Severity: issue.Err, Message: "Failed to convert input columns types to scheme types",
	})
	return e.Under(issue.CodeTypeAnnotation)
}

// returning resolves RETURNING.
func (e *Effect) returning(r *yql.Returning) error {
	if r == nil {
		return nil
	}
	names := r.Columns
	if r.All {
		for _, col := range e.Table.Columns {
			names = append(names, col.Name)
		}
	}
	e.Returning = []int{}
	for _, name := range names {
		i := e.Table.Column(name)
		if i < 0 {
			return at(r, issue.Type("Column not found: %s", name))
		}
		e.Returning = append(e.Returning, i)
		e.Result = append(e.Result, Column{Name: name, Type: e.Table.Columns[i].ValueType()})
	}
	return nil
}

func (c *compiler) update(s *yql.Update) error {
	t, err := c.table(s.Table)
	if err != nil {
		return err
	}
	u := &Update{Effect: Effect{Table: t}}
	if err := u.returning(s.Returning); err != nil {
		return err
	}
	if s.On != nil {
		err = c.updateOn(s, u)
	} else {
		err = c.updateSet(s, u)
	}
	if err == nil {
		c.q.Statements = append(c.q.Statements, u)
	}
	return err
}

// updateOn takes key and new values from a source; rows that are not there are left alone.
func (c *compiler) updateOn(s *yql.Update, u *Update) error {
	in, err := c.input(s, u.Table, s.On.Columns, s.On.Rows, s.On.Select, true)
	if err != nil {
		return err
	}
	for _, k := range u.Table.Key {
		i := in.has(k)
		if i < 0 {
			return at(s, issue.Type("Missing key column in input: %s", u.Table.Columns[k].Name))
		}
		u.Columns, u.Values = append(u.Columns, k), append(u.Values, in.values[i])
	}
	for i, column := range in.columns {
		if !u.Table.IsKey(column) {
			u.Columns, u.Values = append(u.Columns, column), append(u.Values, in.values[i])
		}
	}
	u.Source, u.On = in.node, true
	u.Need = make([]bool, len(u.Table.Columns))
	for _, i := range u.Returning {
		u.Need[i] = true
	}
	return nil
}

// updateSet computes new values from the rows that WHERE lets through.
func (c *compiler) updateSet(s *yql.Update, u *Update) error {
	node, sc, err := c.affected(s.Table, s.Where, &u.Effect)
	if err != nil {
		return err
	}
	u.Source = node
	for _, k := range u.Table.Key {
		u.Columns, u.Values = append(u.Columns, k), append(u.Values, sc.sources[0].ref(k))
	}
	var columns []int
	var given []*Expr
	for _, item := range s.Set {
		column := u.Table.Column(item.Column)
		switch {
		case column < 0:
			return at(item, issue.Type("No such column: %s", item.Column))
		case u.Table.IsKey(column):
			return at(item, issue.BadRequest("Cannot update primary key column: %s", item.Column))
		case slices.Contains(columns, column):
			return at(item, issue.Type("Duplicated column: %s", item.Column))
		}
		x, err := c.expr(item.Expr, sc)
		if err != nil {
			return err
		}
		columns, given = append(columns, column), append(given, x)
	}
	values, err := c.fit(s, u.Table, columns, given)
	u.Columns, u.Values = append(u.Columns, columns...), append(u.Values, values...)
	return err
}

// affected reads the rows of a table for UPDATE and DELETE .. WHERE.
func (c *compiler) affected(name yql.TableName, where yql.Expr, e *Effect) (Node, *scope, error) {
	var terms []yql.Expr
	if where != nil {
		terms = flatten(where, "AND", nil)
	}
	node, sc, err := c.from(&yql.FromTable{Node: name.Node, Table: name}, terms)
	if err != nil {
		return nil, nil, err
	}
	if where != nil {
		pred, err := c.expr(where, sc)
		if err != nil {
			return nil, nil, err
		}
		if err := wantBool(where, pred); err != nil {
			return nil, nil, err
		}
		node = &Filter{Input: node, Pred: pred}
	}
	for _, i := range e.Returning {
		sc.sources[0].touch(i)
	}
	return node, sc, nil
}

func (c *compiler) delete(s *yql.Delete) error {
	t, err := c.table(s.Table)
	if err != nil {
		return err
	}
	d := &Delete{Effect: Effect{Table: t}}
	if err := d.returning(s.Returning); err != nil {
		return err
	}
	if s.On == nil {
		node, sc, err := c.affected(s.Table, s.Where, &d.Effect)
		if err != nil {
			return err
		}
		d.Source = node
		for _, k := range t.Key {
			d.Keys = append(d.Keys, sc.sources[0].ref(k))
		}
	} else {
		in, err := c.input(s, t, s.On.Columns, s.On.Rows, s.On.Select, false)
		if err != nil {
			return err
		}
		d.Source, d.On = in.node, true
		for _, k := range t.Key {
			i := in.has(k)
			if i < 0 {
				return at(s, issue.Type("Missing key column in input: %s", t.Columns[k].Name))
			}
			d.Keys = append(d.Keys, in.values[i])
		}
	}
	c.q.Statements = append(c.q.Statements, d)
	return nil
}
