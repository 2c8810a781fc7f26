package plan_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"pgregory.net/rapid"

	"github.com/taskfleet/taskfleet/internal/ydbembed/issue"
	"github.com/taskfleet/taskfleet/internal/ydbembed/plan"
	"github.com/taskfleet/taskfleet/internal/ydbembed/store"
	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
)

func catalog(t testing.TB, tables ...store.Table) *store.Catalog {
	s, err := store.Open(store.Options{TTLInterval: -1})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	for _, def := range tables {
		require.NoError(t, s.CreateTable(def))
	}
	return s.Catalog()
}

func events() store.Table {
	return store.Table{
		Path: "/local/fleet/events", Key: []int{0, 1},
		Columns: []store.Column{
			{Name: "p", Type: types.Primitive(types.Uint16), NotNull: true},
			{Name: "id", Type: types.Primitive(types.Utf8), NotNull: true},
			{Name: "v", Type: types.Primitive(types.Uint64)},
		},
	}
}

func TestExplainSpeaksAsYDB(t *testing.T) {
	t.Parallel()
	env := plan.Env{Catalog: catalog(t, events()), Database: "/local", Params: map[string]*types.Type{
		"p": types.Primitive(types.Uint16), "id": types.Primitive(types.Utf8), "n": types.Primitive(types.Uint64),
	}}
	tree, err := plan.Parse(`SELECT id FROM ` + "`fleet/events`" + ` WHERE p = $p AND id > $id ORDER BY p, id LIMIT $n;
		UPSERT INTO ` + "`fleet/events`" + ` (p, id) VALUES (1, 'x');`)
	require.NoError(t, err)
	q, err := plan.Compile(tree, env)
	require.NoError(t, err)
	require.False(t, q.ReadOnly())
	require.False(t, q.IsDDL())
	var doc struct {
		Meta map[string]string
		Plan struct {
			Type  string `json:"Node Type"`
			Plans []struct {
				Type  string `json:"Node Type"`
				Plans []struct {
					Type      string `json:"Node Type"`
					Tables    []string
					Operators []map[string]any
				}
			}
		}
		Tables []struct {
			Name   string
			Reads  []map[string]any
			Writes []map[string]any
		}
	}
	require.NoError(t, json.Unmarshal([]byte(q.ExplainJSON()), &doc))
	require.Equal(t, map[string]string{"version": "0.2", "type": "query"}, doc.Meta)
	require.Equal(t, "Query", doc.Plan.Type)
	read := doc.Plan.Plans[0].Plans[0]
	require.Equal(t, "Limit-TableRangeScan", read.Type)
	require.Equal(t, []string{"fleet/events"}, read.Tables)
	require.Equal(t, map[string]any{
		"Name": "TableRangeScan", "Table": "fleet/events", "Scan": "Sequential", "ReadLimit": "$n",
		"ReadColumns": []any{"p", "id"}, "ReadRange": []any{"p ($p)", "id ($id, +∞)"},
	}, read.Operators[1])
	require.Equal(t, "/local/fleet/events", doc.Tables[0].Name)
	require.Equal(t, "Scan", doc.Tables[0].Reads[0]["type"])
	require.Equal(t, "Upsert", doc.Tables[0].Writes[0]["type"])
	require.Contains(t, q.ExplainAST(), `("Limit-TableRangeScan" '"fleet/events"`)
}

func TestParameters(t *testing.T) {
	t.Parallel()
	structs := types.ListOf(types.StructOf(types.Field{Name: "a", Type: types.Primitive(types.Utf8)}))
	for _, c := range []struct {
		text   string
		passed *types.Type
		want   string
		status Ydb.StatusIds_StatusCode
	}{
		{"DECLARE $x AS Uint64; SELECT $x;", nil, "Uint64", 0},
		{"DECLARE $x AS Uint64?; SELECT $x;", types.Primitive(types.Uint64), "Uint64?", 0},
		{"DECLARE $x AS Uint64?; SELECT $x;", types.Primitive(types.Null), "Uint64?", 0},
		{"DECLARE $x AS List<Struct<a: Utf8>>; SELECT ListLength($x);", types.Primitive(types.EmptyList), "List<Struct<'a':Utf8>>", 0},
		{"DECLARE $x AS List<Struct<a: Utf8?>>; SELECT ListLength($x);", structs, "", Ydb.StatusIds_BAD_REQUEST},
		{"DECLARE $x AS Uint64; SELECT $x;", types.Primitive(types.Uint32), "", Ydb.StatusIds_BAD_REQUEST},
		{"DECLARE $x AS Uint64; SELECT $x;", types.OptionalOf(types.Primitive(types.Uint64)), "", Ydb.StatusIds_BAD_REQUEST},
		{"SELECT $x;", types.Primitive(types.Uint32), "Uint32", 0},
		{"SELECT $x;", nil, "", Ydb.StatusIds_GENERIC_ERROR},
	} {
		env := plan.Env{Catalog: catalog(t), Database: "/local"}
		if c.passed != nil {
			env.Params = map[string]*types.Type{"x": c.passed}
		}
		tree, err := plan.Parse(c.text)
		require.NoError(t, err)
		q, err := plan.Compile(tree, env)
		if c.status != 0 {
			require.Error(t, err, c.text)
			require.Equal(t, c.status, issue.From(err).Status, c.text)
			continue
		}
		require.NoError(t, err, c.text)
		require.Equal(t, c.want, q.Params[0].Type.String(), c.text)
	}
}

func TestCacheForgetsTheOldest(t *testing.T) {
	t.Parallel()
	cache := plan.NewCache(2)
	env := plan.Env{Catalog: catalog(t), Database: "/local"}
	compile := func(text string) bool {
		_, hit, err := cache.Compile(text, env)
		require.NoError(t, err)
		return hit
	}
	require.False(t, compile("SELECT 1"))
	require.False(t, compile("SELECT 2"))
	require.True(t, compile("SELECT 1"))
	require.False(t, compile("SELECT 3"), "2 goes")
	require.True(t, compile("SELECT 1"))
	require.False(t, compile("SELECT 2"))
}

// Values that = holds for hash alike, and only they.
func TestHashKeyIsEquality(t *testing.T) {
	t.Parallel()
	value := rapid.Custom(func(t *rapid.T) types.Value {
		n := rapid.Int64Range(-3, 3).Draw(t, "n")
		switch rapid.IntRange(0, 6).Draw(t, "kind") {
		case 0:
			return types.IntValue(types.Int32, n)
		case 1:
			return types.IntValue(types.Int64, n)
		case 2:
			return types.UintValue(types.Uint64, uint64(n))
		case 3:
			return types.FloatValue(types.Double, float64(n)/2)
		case 4:
			return types.UintValue(types.Uint8, uint64(n+3))
		case 5:
			return types.FloatValue(types.Float, float64(n))
		}
		return types.IntValue(types.Int8, n)
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := value.Draw(t, "a"), value.Draw(t, "b")
		require.Equal(t, types.Compare(a, b) == 0, plan.HashKey(a) == plan.HashKey(b), "%s %s and %s %s", a.Kind(), a, b.Kind(), b)
	})
	text := func(k types.Kind, s string) types.Value { return types.TextValue(k, s) }
	require.Equal(t, plan.HashKey(text(types.String, "a")), plan.HashKey(text(types.Utf8, "a")))
	pair := func(a, b string) types.Value {
		return types.ItemsValue(types.Tuple, []types.Value{text(types.Utf8, a), text(types.Utf8, b)})
	}
	require.NotEqual(t, plan.HashKey(pair("a", "bc")), plan.HashKey(pair("ab", "c")))
}
