package plan

import (
	"slices"
	"strings"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"

	"github.com/taskfleet/taskfleet/internal/ydbembed/issue"
	"github.com/taskfleet/taskfleet/internal/ydbembed/store"
	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
	"github.com/taskfleet/taskfleet/internal/ydbembed/yql"
)

const schemeStatus = Ydb.StatusIds_SCHEME_ERROR

// DDL is one statement that changes the scheme; exactly one of Create, Alter
// and Drop is set.
type DDL struct {
	Path        string
	Create      *store.Table
	Alter       func(store.Table) (store.Table, error)
	Drop        bool
	IfNotExists bool
	IfExists    bool
}

// ddl compiles against the scheme as it is before the text runs.
func (c *compiler) ddl(s yql.Statement) error {
	switch s := s.(type) {
	case *yql.CreateTable:
		p, err := c.absolute(s.Table, c.prefix, s.Table.Path)
		if err != nil {
			return err
		}
		def, err := c.tableOf(s, p)
		if err != nil {
			return err
		}
		c.q.DDL = append(c.q.DDL, DDL{Path: p, Create: def, IfNotExists: s.IfNotExists})
	case *yql.AlterTable:
		t, err := c.table(s.Table)
		if err != nil {
			return err
		}
		var steps []func(*store.Table) error
		for _, a := range s.Actions {
			step, err := c.alteration(a)
			if err != nil {
				return err
			}
			steps = append(steps, step)
		}
		c.q.DDL = append(c.q.DDL, DDL{Path: t.Path, Alter: func(t store.Table) (store.Table, error) {
			t.Columns, t.Settings = slices.Clone(t.Columns), slices.Clone(t.Settings)
			for _, step := range steps {
				if err := step(&t); err != nil {
					return t, err
				}
			}
			return t, nil
		}})
	case *yql.DropTable:
		p, err := c.absolute(s.Table, c.prefix, s.Table.Path)
		if err != nil {
			return err
		}
		c.q.DDL = append(c.q.DDL, DDL{Path: p, Drop: true, IfExists: s.IfExists})
	default:
		return at(s, issue.Unsupported("Statement is not supported: %T", s))
	}
	return nil
}

func (c *compiler) tableOf(s *yql.CreateTable, p string) (*store.Table, error) {
	t := &store.Table{Path: p}
	for _, def := range s.Columns {
		col, err := c.columnOf(def)
		if err != nil {
			return nil, err
		}
		if t.Column(col.Name) >= 0 {
			return nil, at(def, issue.Type("Duplicate column: %s.", col.Name))
		}
		t.Columns = append(t.Columns, col)
	}
	for _, name := range s.PrimaryKey {
		i := t.Column(name)
		if i < 0 {
			return nil, at(s, issue.Type("Undefined column: %s", name))
		}
		if t.IsKey(i) {
			return nil, at(s, issue.Type("Duplicate column in PRIMARY KEY: %s", name))
		}
		if k := t.Columns[i].Type.Kind; !keyKind(k) {
			return nil, at(s, issue.New(schemeStatus, issue.CodeSchemeError, "Column '%s' has wrong key type %s", name, t.Columns[i].Type))
		}
		t.Key = append(t.Key, i)
	}
	if len(t.Key) == 0 {
		return nil, at(s, issue.Type("Primary key is required for ydb tables."))
	}
	return t, applySettings(t, s.Settings)
}

func keyKind(k types.Kind) bool {
	switch k {
	case types.Float, types.Double, types.JSON, types.JSONDocument, types.Yson:
		return false
	}
	return true
}

func (c *compiler) columnOf(def yql.ColumnDef) (store.Column, error) {
	t := def.Type.Unwrap()
	if t.Kind >= types.Null || t.Kind == types.Invalid || def.Type.Kind == types.Optional && def.NotNull {
		return store.Column{}, at(def, issue.Type("Invalid type for column: %s", def.Name))
	}
	col := store.Column{Name: def.Name, Type: t, NotNull: def.NotNull, Family: def.Family}
	if def.Default == nil {
		return col, nil
	}
	x, err := c.expr(def.Default, &scope{why: "DEFAULT"})
	if err != nil {
		return col, err
	}
	lit, isLiteral := def.Default.(*yql.Literal)
	fitted := coerce(x, col.ValueType())
	if fitted == nil || !isLiteral && x.Literal == nil {
		return col, at(def, issue.Type("Default expr %s is nullable or optional, or of a type that does not fit column %s", x.Text, col.Name))
	}
	v, err := fitted.Eval(&Frame{}, nil)
	if err != nil || lit != nil && lit.Value.IsNull() {
		return col, err
	}
	col.Default = &v
	return col, nil
}

// alteration compiles one action of ALTER TABLE.
func (c *compiler) alteration(a yql.AlterAction) (func(*store.Table) error, error) {
	switch a := a.(type) {
	case *yql.AddColumn:
		col, err := c.columnOf(a.Column)
		if err != nil {
			return nil, err
		}
		if col.NotNull && col.Default == nil {
			return nil, at(a, issue.New(schemeStatus, issue.CodeSchemeError, "Cannot add NOT NULL column without DEFAULT: %s", col.Name))
		}
		return func(t *store.Table) error {
			if t.Column(col.Name) >= 0 {
				return issue.Generic("Column \"%s\" already exists", col.Name)
			}
			t.Columns = append(t.Columns, col)
			return nil
		}, nil
	case *yql.DropColumn:
		return func(t *store.Table) error { return dropColumn(t, a.Name) }, nil
	case *yql.SetSettings:
		return func(t *store.Table) error { return applySettings(t, a.Settings) }, nil
	case *yql.ResetSettings:
		return func(t *store.Table) error {
			for _, name := range a.Names {
				if name == "TTL" {
					t.TTL = nil
				}
				t.Settings = slices.DeleteFunc(t.Settings, func(s store.Setting) bool { return s.Name == name })
			}
			return nil
		}, nil
	case *yql.DropNotNull:
		return func(t *store.Table) error {
			i := t.Column(a.Column)
			if i < 0 {
				return issue.Type("Column: \"%s\" does not exist", a.Column)
			}
			if t.IsKey(i) {
				return issue.Generic("Cannot drop NOT NULL of key column %s", a.Column)
			}
			t.Columns[i].NotNull = false
			return nil
		}, nil
	}
	return nil, at(a, issue.Unsupported("ALTER TABLE action is not supported: %T", a))
}

func dropColumn(t *store.Table, name string) error {
	i := t.Column(name)
	switch {
	case i < 0:
		return issue.Type("Column: \"%s\" does not exist", name)
	case t.IsKey(i):
		return issue.New(schemeStatus, issue.CodeSchemeError, "Can't drop key column: '%s'", name)
	case t.TTL != nil && t.TTL.Column == name:
		return issue.New(schemeStatus, issue.CodeSchemeError, "Can't drop TTL column: '%s', disable TTL first", name)
	}
	t.Columns = slices.Delete(t.Columns, i, i+1)
	t.Key = slices.Clone(t.Key)
	for n, k := range t.Key {
		if k > i {
			t.Key[n] = k - 1
		}
	}
	return nil
}

func applySettings(t *store.Table, list []yql.Setting) error {
	for _, s := range list {
		if s.Name == "TTL" {
			ttl, err := ttlOf(t, s)
			if err != nil {
				return err
			}
			t.TTL = ttl
			continue
		}
		value := s.Value
		if s.Keys != nil {
			value = keysText(s.Keys)
		}
		i := slices.IndexFunc(t.Settings, func(o store.Setting) bool { return o.Name == s.Name })
		if i < 0 {
			t.Settings = append(t.Settings, store.Setting{Name: s.Name, Value: value})
			continue
		}
		t.Settings[i].Value = value
	}
	return nil
}

// keysText is how the keys of PARTITION_AT_KEYS are kept: (16), (32, a).
func keysText(keys [][]yql.Expr) string {
	rows := make([]string, len(keys))
	for i, key := range keys {
		values := make([]string, len(key))
		for j, e := range key {
			if lit, ok := e.(*yql.Literal); ok && !lit.Value.IsNull() {
				values[j] = lit.Value.String()
			}
		}
		rows[i] = "(" + strings.Join(values, ", ") + ")"
	}
	return strings.Join(rows, ", ")
}

func ttlOf(t *store.Table, s yql.Setting) (*store.TTL, error) {
	i := t.Column(s.On)
	if i < 0 {
		return nil, at(s, issue.New(schemeStatus, issue.CodeSchemeError, "Cannot enable TTL on unknown column: '%s'", s.On))
	}
	k := t.Columns[i].Type.Kind
	if !isDate(k) && (s.Unit == "" || k != types.Uint32 && k != types.Uint64) {
		return nil, at(s, issue.New(schemeStatus, issue.CodeSchemeError, "Unsupported column type for TTL: %s %s", s.On, k))
	}
	v, err := types.Parse(types.Interval, s.Value)
	if err != nil || v.Int() < 0 {
		return nil, at(s, issue.Type("Literal of Interval type is expected for TTL, got: %s", s.Value))
	}
	return &store.TTL{Column: s.On, After: time.Duration(v.Int()) * time.Microsecond, Unit: s.Unit}, nil
}
