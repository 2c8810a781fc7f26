package plan

import (
	"path"
	"strings"

	"github.com/taskfleet/taskfleet/internal/ydbembed/issue"
	"github.com/taskfleet/taskfleet/internal/ydbembed/store"
	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
	"github.com/taskfleet/taskfleet/internal/ydbembed/yql"
)

// Env is what a text is compiled against.
type Env struct {
	Catalog  *store.Catalog
	Database string                 // absolute path, e.g. /local
	Params   map[string]*types.Type // types of the passed parameters, by name without $
}

// maxDepth bounds how deep expressions and selects may nest.
const maxDepth = 1500

type compiler struct {
	env      Env
	q        *Query
	prefix   string // of relative table paths
	params   map[string]int
	declared map[string]*declaration
	names    map[string]binding
	all      []*Named
	subs     map[*yql.SubSelect]*Named
	stmt     int    // index of the statement that is compiled
	current  *Named // the named select that is compiled, if any
	depth    int
}

type declaration struct {
	typ  *types.Type
	used bool
	pos  yql.Pos
}

// binding is what $name stands for: a select or an expression, with the selects
// that it needs.
type binding struct {
	named *Named
	expr  *Expr
	deps  []*Named
}

// Compile plans a parsed text. Its errors are *issue.Error.
func Compile(text *yql.Query, env Env) (*Query, error) {
	size, _ := typesSize(env.Params)
	c := &compiler{
		env: env, q: &Query{}, prefix: env.Database,
		params: map[string]int{}, declared: map[string]*declaration{}, names: map[string]binding{},
		subs: map[*yql.SubSelect]*Named{},
	}
	if err := c.grow(size); err != nil {
		return nil, err
	}
	for _, s := range text.Statements {
		if err := c.grow(exprBytes); err != nil {
			return nil, err
		}
		if err := c.statement(s); err != nil {
			return nil, err
		}
	}
	if len(c.q.DDL) > 0 && len(c.q.Statements) > 0 {
		return nil, issue.MixedDDL()
	}
	c.warnUnused(text)
	c.arrangeNamed()
	c.q.NamedCount, c.q.named, c.q.database = len(c.all), c.all, env.Database
	return c.q, nil
}

func (c *compiler) statement(s yql.Statement) error {
	c.stmt = len(c.q.Statements)
	switch s := s.(type) {
	case *yql.Pragma:
		return c.pragma(s)
	case *yql.Declare:
		return c.declare(s)
	case *yql.Assign:
		return c.assign(s)
	case *yql.SelectStatement:
		source, columns, err := c.selectRows(s.Select)
		if err == nil {
			err = c.result(columns)
		}
		if err != nil {
			return err
		}
		c.q.Statements = append(c.q.Statements, &Select{Source: source, Result: columns})
		return nil
	case *yql.Insert:
		return c.insert(s)
	case *yql.Update:
		return c.update(s)
	case *yql.Delete:
		return c.delete(s)
	}
	return c.ddl(s)
}

func (c *compiler) pragma(s *yql.Pragma) error {
	if !strings.EqualFold(s.Name, "TablePathPrefix") {
		return nil // the others tune what ydbembed has not
	}
	if len(s.Values) != 1 {
		return at(s, issue.Generic("Expected path as value of PRAGMA TablePathPrefix"))
	}
	prefix, err := c.absolute(s, c.env.Database, s.Values[0])
	c.prefix = prefix
	return err
}

func (c *compiler) declare(s *yql.Declare) error {
	if _, ok := c.declared[s.Name]; ok {
		return at(s, issue.Generic("Duplicate declaration of $%s", s.Name))
	}
	d := &declaration{typ: s.Type, pos: s.Pos}
	if passed, ok := c.env.Params[s.Name]; ok {
		t, ok := acceptParam(s.Type, passed)
		if !ok {
			return issue.BadRequest("Parameter $%s type mismatch, expected: %s, actual: %s", s.Name, s.Type, passed)
		}
		d.typ = t
	}
	c.declared[s.Name] = d
	c.params[s.Name] = len(c.q.Params)
	c.q.Params = append(c.q.Params, Param{Name: s.Name, Type: d.typ})
	return nil
}

// acceptParam tells whether a value of the passed type may stand for a
// declared parameter, and the type to plan with. Structs may come in any field order.
func acceptParam(declared, passed *types.Type) (*types.Type, bool) {
	switch {
	case sameShape(declared, passed):
		return passed, true
	case passed.Kind == types.EmptyList && declared.Unwrap().Kind == types.List:
		return declared, true
	case declared.Kind == types.Optional && passed.Kind == types.Null:
		return declared, true
	case declared.Kind == types.Optional && sameShape(declared.Elem, passed):
		return types.OptionalOf(passed), true
	}
	return nil, false
}

// sameShape is Equal but for the order of struct fields.
func sameShape(a, b *types.Type) bool {
	if a.Kind != b.Kind || len(a.Fields) != len(b.Fields) {
		return false
	}
	if a.Elem != nil && !sameShape(a.Elem, b.Elem) {
		return false
	}
	for i, f := range a.Fields {
		j := i
		if a.Kind == types.Struct {
			if j = b.FieldIndex(f.Name); j < 0 {
				return false
			}
		}
		if !sameShape(f.Type, b.Fields[j].Type) {
			return false
		}
	}
	return true
}

func (c *compiler) assign(s *yql.Assign) error {
	sel := s.Select
	if sub, ok := s.Expr.(*yql.SubSelect); ok && sel == nil {
		sel = sub.Select
	}
	if sel != nil {
		named, err := c.namedSelect(s.Name, sel)
		if err != nil {
			return err
		}
		c.names[s.Name] = binding{named: named}
		return nil
	}
	outer, collected := c.current, &Named{}
	c.current = collected
	e, err := c.expr(s.Expr, &scope{why: "a named expression"})
	c.current = outer
	if err != nil {
		return err
	}
	once := c.once(e)
	if e.Literal == nil {
		once.Text = "$" + s.Name // texts of texts would grow without end
	}
	c.names[s.Name] = binding{expr: once, deps: collected.deps}
	return nil
}

// once makes an expression that computes e at most once per run.
func (c *compiler) once(e *Expr) *Expr {
	if e.Literal != nil {
		return e
	}
	slot := c.q.slots
	c.q.slots++
	out := *e
	out.Eval = func(f *Frame, row []types.Value) (types.Value, error) {
		if f.known[slot] {
			return f.memo[slot], nil
		}
		v, err := e.Eval(f, row)
		if err != nil {
			return v, err
		}
		f.memo[slot], f.known[slot] = v, true
		return v, f.Budget.Hold(v.Memory())
	}
	return &out
}

// table finds a table by the path as written.
func (c *compiler) table(name yql.TableName) (*store.Table, error) {
	if name.View != "" && !strings.EqualFold(name.View, "PRIMARY KEY") {
		return nil, at(name, issue.Unsupported("Secondary indexes are not supported: VIEW %s", name.View))
	}
	p, err := c.absolute(name, c.prefix, name.Path)
	if err != nil {
		return nil, err
	}
	t, ok := c.env.Catalog.Table(p)
	if !ok {
		return nil, at(name, issue.TableNotFound(p))
	}
	return t, nil
}

// absolute resolves a path as written below base; the result is in the database.
func (c *compiler) absolute(n positioned, base, p string) (string, error) {
	abs := path.Clean(p)
	if !strings.HasPrefix(p, "/") {
		abs = path.Join(base, p)
	}
	if p == "" || abs != c.env.Database && !strings.HasPrefix(abs, c.env.Database+"/") {
		return "", at(n, issue.TableNotFound(abs))
	}
	return abs, nil
}

func (c *compiler) warnUnused(text *yql.Query) {
	for _, s := range text.Statements {
		d, ok := s.(*yql.Declare)
		if !ok || c.declared[d.Name].used {
			continue
		}
		c.q.Warnings = append(c.q.Warnings, issue.Issue{
			Code: issue.CodeUnusedSymbol, Severity: issue.Warning,
			Message: "Symbol $" + d.Name + " is not used", Line: d.Pos.Line, Col: d.Pos.Col,
		})
	}
}

type positioned interface{ Position() yql.Pos }

// at puts the position of a tree node into an error.
func at(n positioned, e *issue.Error) *issue.Error {
	p := n.Position()
	return e.At(p.Line, p.Col)
}

// enter guards against nesting without end; leave undoes it.
func (c *compiler) enter(n positioned) error {
	if c.depth++; c.depth > maxDepth {
		return at(n, issue.Generic("Expression is nested too deep, at most %d levels", maxDepth))
	}
	return nil
}

func (c *compiler) leave() { c.depth-- }
