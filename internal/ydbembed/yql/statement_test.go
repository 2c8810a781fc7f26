package yql

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
)

// parseOne parses a text of one statement.
func parseOne[T Statement](t *testing.T, text string) T {
	t.Helper()
	q, err := Parse(text)
	require.NoError(t, err)
	require.Len(t, q.Statements, 1)
	s, ok := q.Statements[0].(T)
	require.True(t, ok, "%T", q.Statements[0])
	return s
}

func TestCreateTable(t *testing.T) {
	s := parseOne[*CreateTable](t, "CREATE TABLE IF NOT EXISTS `a/b` (\n"+
		`id Utf8 NOT NULL, index Uint8 NULL DEFAULT 7, at Timestamp FAMILY default, key bytes, PRIMARY KEY (id, index))
		WITH (auto_partitioning_by_load = ENABLED, AUTO_PARTITIONING_PARTITION_SIZE_MB = 50, READ_REPLICAS_SETTINGS = "PER_AZ:1",
		TTL = Interval("PT1H") ON at AS SECONDS, PARTITION_AT_KEYS = (("a", 1), ("b"), "c"), KEY_BLOOM_FILTER = true)`)
	require.Equal(t, "a/b", s.Table.Path)
	require.True(t, s.IfNotExists)
	require.Equal(t, []string{"id", "index"}, s.PrimaryKey)
	require.Len(t, s.Columns, 4)
	require.Equal(t, "id", s.Columns[0].Name)
	require.True(t, s.Columns[0].NotNull)
	require.Equal(t, Pos{Line: 2, Col: 1}, s.Columns[0].Pos)
	require.Equal(t, "7':Int32", dump(s.Columns[1].Default))
	require.False(t, s.Columns[1].NotNull)
	require.Equal(t, types.String, s.Columns[3].Type.Kind)

	got := make(map[string]Setting)
	for _, setting := range s.Settings {
		setting.Node = Node{}
		name := setting.Name
		setting.Name = ""
		got[name] = setting
	}
	keys := got["PARTITION_AT_KEYS"].Keys
	require.Len(t, keys, 3)
	require.Len(t, keys[0], 2)
	require.Equal(t, "c':String", dump(keys[2][0]))
	delete(got, "PARTITION_AT_KEYS")
	require.Equal(t, map[string]Setting{
		"AUTO_PARTITIONING_BY_LOAD":           {Value: "ENABLED"},
		"AUTO_PARTITIONING_PARTITION_SIZE_MB": {Value: "50"},
		"READ_REPLICAS_SETTINGS":              {Value: "PER_AZ:1"},
		"TTL":                                 {Value: "PT1H", On: "at", Unit: "SECONDS"},
		"KEY_BLOOM_FILTER":                    {Value: "true"},
	}, got)
}

func TestAlterAndDropTable(t *testing.T) {
	s := parseOne[*AlterTable](t, `ALTER TABLE t ADD COLUMN a Utf8 NOT NULL DEFAULT "x", ADD b Int32, DROP COLUMN c, DROP d,
		SET (TTL = Interval("P1D") ON at), SET KEY_BLOOM_FILTER ENABLED, RESET (ttl, x), ALTER COLUMN e DROP NOT NULL`)
	require.Len(t, s.Actions, 8)
	require.Equal(t, "a", s.Actions[0].(*AddColumn).Column.Name)
	require.Equal(t, "b", s.Actions[1].(*AddColumn).Column.Name)
	require.Equal(t, "c", s.Actions[2].(*DropColumn).Name)
	require.Equal(t, "d", s.Actions[3].(*DropColumn).Name)
	require.Equal(t, "P1D", s.Actions[4].(*SetSettings).Settings[0].Value)
	require.Equal(t, "ENABLED", s.Actions[5].(*SetSettings).Settings[0].Value)
	require.Equal(t, []string{"TTL", "X"}, s.Actions[6].(*ResetSettings).Names)
	require.Equal(t, "e", s.Actions[7].(*DropNotNull).Column)

	require.False(t, parseOne[*DropTable](t, "DROP TABLE t").IfExists)
	require.True(t, parseOne[*DropTable](t, "drop table if exists t").IfExists)
}

func TestDeclareAndPragma(t *testing.T) {
	d := parseOne[*Declare](t, "DECLARE $rows AS List<Struct<b:Uint8,a:Utf8?>>")
	require.Equal(t, "rows", d.Name)
	require.Equal(t, "List<Struct<'a':Utf8?,'b':Uint8>>", d.Type.String())
	require.Equal(t, "Tuple<Int32,List<List<Bool>>>?", parseOne[*Declare](t, "DECLARE $x AS Tuple<Int32,List<List<Bool>>>?").Type.String())

	p := parseOne[*Pragma](t, `PRAGMA TablePathPrefix("/local/dir")`)
	require.Equal(t, "TablePathPrefix", p.Name)
	require.Equal(t, []string{"/local/dir"}, p.Values)
	p = parseOne[*Pragma](t, `PRAGMA ydb.Limit = -5`)
	require.Equal(t, "ydb.Limit", p.Name)
	require.Equal(t, []string{"-5"}, p.Values)
}

func TestWrites(t *testing.T) {
	for text, mode := range map[string]InsertMode{
		"INSERT": InsertAbort, "INSERT OR ABORT": InsertAbort, "INSERT OR REVERT": InsertRevert,
		"INSERT OR IGNORE": InsertIgnore, "UPSERT": Upsert, "REPLACE": Replace,
	} {
		s := parseOne[*Insert](t, text+" INTO t (a, b) VALUES (1, $x), (2, NULL) RETURNING a, b")
		require.Equal(t, mode, s.Mode)
		require.Equal(t, []string{"a", "b"}, s.Columns)
		require.Len(t, s.Rows, 2)
		require.Equal(t, []string{"a", "b"}, s.Returning.Columns)
	}
	s := parseOne[*Insert](t, "UPSERT INTO t (SELECT 1 AS a)")
	require.Nil(t, s.Columns)
	require.NotNil(t, s.Select)
	require.Nil(t, s.Returning)
	s = parseOne[*Insert](t, "UPSERT INTO t (a) SELECT b FROM $c RETURNING *")
	require.Equal(t, []string{"a"}, s.Columns)
	require.True(t, s.Returning.All)

	u := parseOne[*Update](t, "UPDATE t SET a = 1, b = a + 1 WHERE k = 1 RETURNING id")
	require.Len(t, u.Set, 2)
	require.Equal(t, "[a + 1':Int32]", dump(u.Set[1].Expr))
	require.NotNil(t, u.Where)
	require.Nil(t, u.On)
	u = parseOne[*Update](t, "UPDATE t ON (k, a) VALUES (1, 2)")
	require.Equal(t, []string{"k", "a"}, u.On.Columns)
	u = parseOne[*Update](t, "UPDATE t ON SELECT * FROM $c RETURNING id")
	require.NotNil(t, u.On.Select)
	require.NotNil(t, u.Returning)

	d := parseOne[*Delete](t, "DELETE FROM t WHERE k = 1 RETURNING *")
	require.NotNil(t, d.Where)
	require.True(t, d.Returning.All)
	d = parseOne[*Delete](t, "DELETE FROM t ON SELECT k FROM $c")
	require.NotNil(t, d.On.Select)
}

func TestSelects(t *testing.T) {
	s := parseOne[*SelectStatement](t, `SELECT DISTINCT t.*, a AS x, b y, c, FROM t AS u WHERE a GROUP BY a, b AS g HAVING c ORDER BY a DESC, b LIMIT 1 OFFSET 2`).Select
	require.Len(t, s.Arms, 1)
	arm := s.Arms[0]
	require.True(t, arm.Distinct)
	require.Len(t, arm.Items, 4)
	require.True(t, arm.Items[0].Star)
	require.Equal(t, "t", arm.Items[0].Table)
	require.Equal(t, "x", arm.Items[1].Alias)
	require.Equal(t, "y", arm.Items[2].Alias)
	require.Equal(t, "u", arm.From.(*FromTable).Alias)
	require.Equal(t, "g", arm.GroupBy[1].Alias)
	require.Equal(t, []bool{true, false}, []bool{s.OrderBy[0].Desc, s.OrderBy[1].Desc})
	require.NotNil(t, s.Limit)
	require.NotNil(t, s.Offset)

	s = parseOne[*SelectStatement](t, "(SELECT 1 LIMIT 1) UNION ALL SELECT 2 UNION ALL SELECT 3 ORDER BY a").Select
	require.Len(t, s.Arms, 3)
	require.NotNil(t, s.Arms[0].Sub.Limit)
	require.False(t, s.Distinct)
	require.Len(t, s.OrderBy, 1)
	require.True(t, parseOne[*SelectStatement](t, "SELECT 1 UNION SELECT 2").Select.Distinct)
	require.Nil(t, parseOne[*SelectStatement](t, "((SELECT 1))").Select.Arms[0].Sub)
}

func TestJoins(t *testing.T) {
	for text, kind := range map[string]JoinKind{
		"JOIN": InnerJoin, "INNER JOIN": InnerJoin, "LEFT JOIN": LeftJoin, "LEFT OUTER JOIN": LeftJoin,
		"RIGHT JOIN": RightJoin, "FULL JOIN": FullJoin, "LEFT ONLY JOIN": LeftOnly, "LEFT SEMI JOIN": LeftSemi,
		"RIGHT ONLY JOIN": RightOnly, "RIGHT SEMI JOIN": RightSemi, "EXCLUSION JOIN": ExclusionJoin,
	} {
		s := parseOne[*SelectStatement](t, "SELECT * FROM AS_TABLE($l) AS a "+text+" t AS b ON a.k = b.k").Select
		j := s.Arms[0].From.(*Join)
		require.Equal(t, kind, j.Kind, text)
		require.Equal(t, "a", j.Left.(*FromAsTable).Alias)
		require.Equal(t, "b", j.Right.(*FromTable).Alias)
		require.Equal(t, "[a.k = b.k]", dump(j.On))
	}
	s := parseOne[*SelectStatement](t, "SELECT * FROM a CROSS JOIN $b b JOIN (SELECT 1) AS c USING (x, y)").Select
	outer := s.Arms[0].From.(*Join)
	require.Equal(t, []string{"x", "y"}, outer.Using)
	require.Equal(t, "c", outer.Right.(*FromSelect).Alias)
	require.Equal(t, "b", outer.Left.(*Join).Right.(*FromNamed).Alias)
}

func TestAssign(t *testing.T) {
	for text, arms := range map[string]int{
		"$a = SELECT 1":                                 1,
		"$a = (SELECT 1)":                               1,
		"$a = (SELECT 1) UNION ALL (SELECT 2)":          2,
		"$a = ((SELECT 1) UNION ALL SELECT 2)":          2,
		"$a = (SELECT 1 UNION ALL SELECT 2 ORDER BY a)": 2,
	} {
		s := parseOne[*Assign](t, text)
		require.Nil(t, s.Expr, text)
		require.Len(t, s.Select.Arms, arms, text)
	}
	require.Equal(t, "[select(1 arms) + 1':Int32]", dump(parseOne[*Assign](t, "$a = (SELECT 1) + 1").Expr))
}
