package exec_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/internal/ydbembed/exec"
	"github.com/taskfleet/taskfleet/internal/ydbembed/issue"
	"github.com/taskfleet/taskfleet/internal/ydbembed/limits"
	"github.com/taskfleet/taskfleet/internal/ydbembed/plan"
	"github.com/taskfleet/taskfleet/internal/ydbembed/store"
	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 678_000, time.UTC)

// db is a store with a plan cache and what a session would do around a query.
type db struct {
	t     testing.TB
	store *store.Store
	cache *plan.Cache
}

// pool is one for a single query, with the limits that a server has.
func pool() *limits.Pool { return limits.NewPool(limits.Memory, limits.Server) }

func planCache() *plan.Cache { return plan.NewCache(0) }

func open(t testing.TB) *db {
	t.Helper()
	s, err := store.Open(store.Options{TTLInterval: -1})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return &db{t: t, store: s, cache: plan.NewCache(0)}
}

// param is a parameter with its type.
type param struct {
	t *types.Type
	v types.Value
}

type params map[string]param

// answer is what a query gave.
type answer struct {
	columns  [][]exec.Column
	rows     [][][]types.Value
	stats    exec.Stats
	warnings []issue.Issue
}

func (a *answer) Columns(set int, columns []exec.Column) error {
	if set != len(a.columns) {
		return fmt.Errorf("set %d after %d", set, len(a.columns))
	}
	a.columns = append(a.columns, columns)
	a.rows = append(a.rows, nil)
	return nil
}

func (a *answer) Row(set int, row []types.Value) error {
	if len(row) != len(a.columns[set]) {
		return fmt.Errorf("row of %d values for %d columns", len(row), len(a.columns[set]))
	}
	for i, c := range a.columns[set] {
		if !isOf(c.Type, row[i]) {
			return fmt.Errorf("%s %s in column %s of type %s", row[i].Kind(), row[i], c.Name, c.Type)
		}
	}
	a.rows[set] = append(a.rows[set], row)
	return nil
}

// isOf tells whether a value is one of the type, all the way down.
func isOf(t *types.Type, v types.Value) bool {
	if v.IsNull() {
		return t.IsOptional()
	}
	t = t.Unwrap()
	switch {
	case t.Kind == types.EmptyList:
		return v.Kind() == types.List && len(v.Items()) == 0
	case t.Kind != v.Kind():
		return false
	case t.Kind == types.List:
		for _, item := range v.Items() {
			if !isOf(t.Elem, item) {
				return false
			}
		}
	case t.Kind == types.Struct || t.Kind == types.Tuple:
		if len(v.Items()) != len(t.Fields) {
			return false
		}
		for i, item := range v.Items() {
			if !isOf(t.Fields[i].Type, item) {
				return false
			}
		}
	}
	return true
}

// set shows a result set: rows by "|", values by ",".
func (a *answer) set(i int) string {
	var rows []string
	for _, row := range a.rows[i] {
		rows = append(rows, show(row))
	}
	return strings.Join(rows, " | ")
}

func show(row []types.Value) string {
	values := make([]string, len(row))
	for i, v := range row {
		values[i] = "null"
		if !v.IsNull() {
			values[i] = v.String()
		}
	}
	return strings.Join(values, ",")
}

func (a *answer) header(i int) string {
	var out []string
	for _, c := range a.columns[i] {
		out = append(out, c.Name+" "+c.Type.String())
	}
	return strings.Join(out, ", ")
}

func (a *answer) read(table string) uint64 {
	if acc := a.stats.Tables["/local/"+table]; acc != nil {
		return acc.ReadRows
	}
	return 0
}

func (d *db) compile(text string, p params) (*plan.Query, map[string]types.Value, error) {
	env := plan.Env{Catalog: d.store.Catalog(), Database: "/local", Params: map[string]*types.Type{}}
	values := map[string]types.Value{}
	for name, x := range p {
		env.Params[name], values[name] = x.t, x.v
	}
	q, _, err := d.cache.Compile(text, env)
	return q, values, err
}

// try runs a text as an implicit transaction.
func (d *db) try(text string, p params) (*answer, error) {
	tx := d.store.Begin(store.Serializable)
	defer tx.Rollback()
	a, err := d.in(tx, text, p)
	if err != nil {
		return nil, err
	}
	return a, tx.Commit(context.Background())
}

func (d *db) in(tx *store.Tx, text string, p params) (*answer, error) {
	q, values, err := d.compile(text, p)
	if err != nil {
		return nil, err
	}
	a := &answer{warnings: q.Warnings}
	if q.IsDDL() {
		return a, exec.RunDDL(context.Background(), q, d.store)
	}
	return a, exec.Run(context.Background(), q, values, exec.NewTx(tx, pool()), now, a, &a.stats)
}

func (d *db) must(text string, p params) *answer {
	d.t.Helper()
	a, err := d.try(text, p)
	require.NoError(d.t, err, text)
	return a
}

// operators lists the names of all operators of a text's plan, as a CI gate would.
func (d *db) operators(text string, p params) []string {
	d.t.Helper()
	q, _, err := d.compile(text, p)
	require.NoError(d.t, err)
	var doc struct{ Plan node }
	require.NoError(d.t, json.Unmarshal([]byte(q.ExplainJSON()), &doc))
	return doc.Plan.names(nil)
}

type node struct {
	Type      string `json:"Node Type"`
	Operators []map[string]any
	Plans     []node
}

func (n node) names(out []string) []string {
	for _, op := range n.Operators {
		name := op["Name"].(string)
		if op["ReadLimit"] != nil {
			name += " limited"
		}
		if op["Reverse"] != nil {
			name += " reverse"
		}
		out = append(out, name)
	}
	for _, p := range n.Plans {
		out = p.names(out)
	}
	return out
}

func u8(n uint64) param  { return number(types.Uint8, n) }
func u16(n uint64) param { return number(types.Uint16, n) }
func u32(n uint64) param { return number(types.Uint32, n) }
func u64(n uint64) param { return number(types.Uint64, n) }

func number(k types.Kind, n uint64) param {
	return param{types.Primitive(k), types.UintValue(k, n)}
}

func i64(n int64) param { return param{types.Primitive(types.Int64), types.IntValue(types.Int64, n)} }

func text(s string) param {
	return param{types.Primitive(types.Utf8), types.TextValue(types.Utf8, s)}
}

func moment(t time.Time) param {
	return param{types.Primitive(types.Timestamp), types.TimestampValue(t)}
}

func interval(d time.Duration) param {
	return param{types.Primitive(types.Interval), types.IntValue(types.Interval, d.Microseconds())}
}

func just(p param) param { return param{types.OptionalOf(p.t), p.v} }

func null(k types.Kind) param {
	return param{types.OptionalOf(types.Primitive(k)), types.NullValue}
}

// record makes a struct of alternating names and params.
func record(parts ...any) param {
	var fields []types.Field
	var values []types.Value
	for i := 0; i < len(parts); i += 2 {
		p := parts[i+1].(param)
		fields = append(fields, types.Field{Name: parts[i].(string), Type: p.t})
		values = append(values, p.v)
	}
	return param{types.StructOf(fields...), types.ItemsValue(types.Struct, values)}
}

func list(items ...param) param {
	values := make([]types.Value, len(items))
	for i, p := range items {
		values[i] = p.v
	}
	return param{types.ListOf(items[0].t), types.ItemsValue(types.List, values)}
}
