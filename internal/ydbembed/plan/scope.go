package plan

import (
	"path"

	"github.com/taskfleet/taskfleet/internal/ydbembed/issue"
	"github.com/taskfleet/taskfleet/internal/ydbembed/store"
	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
	"github.com/taskfleet/taskfleet/internal/ydbembed/yql"
)

// scope is what column names mean: the sources of a FROM and where their
// columns stand in the row.
type scope struct {
	sources []*source
	width   int
	agg     *aggregation // after GROUP BY: what stands in the row instead
	why     string       // without sources: where the expression stands
}

// source is one entry of FROM.
type source struct {
	alias  string
	cols   []Column
	offset int
	table  *store.Table // nil when it is not a table as it stands
	need   []bool       // of a table: columns that are read
	scan   *Scan        // the scan that reads it, when one does
}

func (s *source) matches(alias string) bool {
	return s.alias == alias || s.table != nil && path.Base(s.alias) == alias
}

func (s *source) index(name string) int {
	for i, c := range s.cols {
		if c.Name == name {
			return i
		}
	}
	return -1
}

// touch notes that a column is read.
func (s *source) touch(i int) {
	if s.need != nil {
		s.need[i] = true
	}
}

// find resolves a column name without marking it as read.
func (sc *scope) find(e *yql.Column) (*source, int, error) {
	var found *source
	index := -1
	known := e.Table == ""
	for _, s := range sc.sources {
		if e.Table != "" && !s.matches(e.Table) {
			continue
		}
		known = true
		if i := s.index(e.Name); i >= 0 {
			if found != nil {
				return nil, 0, at(e, issue.Type("Column name is ambiguous: %s", e.Name))
			}
			found, index = s, i
		}
	}
	switch {
	case found != nil:
		return found, index, nil
	case len(sc.sources) == 0 && sc.why != "":
		return nil, 0, at(e, issue.Type("Column reference is not allowed in %s: %s", sc.why, columnText(e)))
	case len(sc.sources) == 0:
		return nil, 0, at(e, issue.Type("Column references are not allowed without FROM: %s", columnText(e)))
	case !known:
		return nil, 0, at(e, issue.Type("Unknown correlation name: %s", e.Table))
	}
	return nil, 0, at(e, issue.Type("Column not found: %s", columnText(e)))
}

// column compiles a column reference.
func (sc *scope) column(e *yql.Column) (*Expr, error) {
	s, i, err := sc.find(e)
	if err != nil {
		if member := sc.structMember(e); member != nil {
			return member, nil
		}
		return nil, err
	}
	return s.ref(i), nil
}

// ref is the expression of a source's column, which it marks as read.
func (s *source) ref(i int) *Expr {
	s.touch(i)
	at := s.offset + i
	return &Expr{
		Type: s.cols[i].Type, Literal: s.cols[i].literal, Text: s.cols[i].Name, column: at + 1,
		Eval: func(_ *Frame, row []types.Value) (types.Value, error) { return row[at], nil },
	}
}

// structMember reads x.name where x is a column that holds a struct.
func (sc *scope) structMember(e *yql.Column) *Expr {
	if e.Table == "" {
		return nil
	}
	s, i, err := sc.find(&yql.Column{Name: e.Table})
	if err != nil || s.cols[i].Type.Unwrap().Kind != types.Struct {
		return nil
	}
	return member(s.ref(i), e.Name)
}

// member reads a field of a struct expression; nil when it has none of the name.
func member(x *Expr, name string) *Expr {
	t := x.Type.Unwrap()
	if t.Kind != types.Struct {
		return nil
	}
	field := t.FieldIndex(name)
	if field < 0 {
		return nil
	}
	typ := t.Fields[field].Type
	if x.Type.IsOptional() {
		typ = types.OptionalOf(typ)
	}
	return &Expr{
		Type: typ, Const: x.Const, Text: x.Text + "." + name,
		Eval: func(f *Frame, row []types.Value) (types.Value, error) {
			v, err := x.Eval(f, row)
			if err != nil || v.IsNull() {
				return types.NullValue, err
			}
			return v.Items()[field], nil
		},
	}
}

func columnText(e *yql.Column) string {
	if e.Table != "" {
		return e.Table + "." + e.Name
	}
	return e.Name
}

// join puts the sources of two scopes side by side.
func (sc *scope) join(right *scope) *scope {
	out := &scope{width: sc.width + right.width}
	out.sources = append(out.sources, sc.sources...)
	for _, s := range right.sources {
		s.offset += sc.width
		out.sources = append(out.sources, s)
	}
	return out
}

// optional makes every column nullable: the right side of a LEFT JOIN.
func (sc *scope) optional() {
	for _, s := range sc.sources {
		cols := make([]Column, len(s.cols))
		for i, c := range s.cols {
			cols[i] = Column{Name: c.Name, Type: types.OptionalOf(c.Type)}
		}
		s.cols = cols
	}
}
