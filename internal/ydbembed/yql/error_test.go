package yql

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestErrorsHavePlaces(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"\n\t\t\t\tUPSERT INTO \"users\" (id) VALUES (1);\n\t\t\t", "2:17: String literal can not be used here"},
		{"SELECT 1 AS 'x'", "1:13: String literal can not be used here"},
		{"SELECT", "1:7: Unexpected end of query, expecting an expression"},
		{"SELECT\n  FROM t", "2:3: Unexpected token 'FROM', expecting an expression"},
		{"SELECT 1;\r\nSELEC 2", "2:1: Unexpected token 'SELEC', expecting a statement"},
		{"SELECT 'жж', )", "1:14: Unexpected token ')', expecting ';'"},
		{"SELECT 1 SELECT 2", "1:10: Unexpected token 'SELECT', expecting ';'"},
		{"SELECT \"abc", "1:8: Closing \" is missing"},
		{"SELECT @@abc", "1:8: Closing @@ is missing"},
		{"SELECT `abc", "1:8: Closing ` is missing"},
		{"SELECT 1 /* x", "1:10: Comment is not closed"},
		{"SELECT # 1", "1:8: Unexpected character: '#'"},
		{"SELECT ; #", "1:8: Unexpected token ';', expecting an expression"},
		{"SELECT 99999999999999999999", "1:8: Failed to parse number from string: 99999999999999999999, number limit overflow"},
		{"SELECT 256ut", "1:8: Failed to parse number from string: 256ut, number limit overflow"},
		{"SELECT 129t, -129t", "1:8: Failed to parse number from string: 129t, number limit overflow"},
		{"SELECT 12abc", "1:8: Failed to parse number from string: 12abc"},
		{"SELECT 1.5x", "1:8: Failed to parse float number: 1.5x"},
		{`SELECT "\q"`, "1:8: Failed to parse string literal: invalid escape sequence"},
		{`SELECT "\xZZ"`, "1:8: Failed to parse string literal: invalid escape sequence"},
		{`SELECT Timestamp("tomorrow")`, `1:18: Invalid value "tomorrow" for type Timestamp`},
		{`SELECT Interval(5)`, "1:17: Expected literal string as argument in Interval function"},
		{`SELECT "\xff"u`, `1:8: Invalid value "\xff" for type Utf8`},
		{"DECLARE $x AS Foo", "1:15: Unknown type: 'Foo'"},
		{"DECLARE x AS Utf8", "1:9: Unexpected token 'x', expecting '$'"},
		{"DECLARE $x AS Struct<a:Int32,a:Int32>", "1:30: Duplicated member: a"},
		{"CREATE TABLE t (a Int32, PRIMARY KEY (a), PRIMARY KEY (a))", "1:43: PRIMARY KEY statement must be specified only once"},
		{"CREATE TABLE t (a Int32) WITH (TTL = 5)", "1:39: Unexpected token ')', expecting Interval(..) ON a column"},
		{"CREATE TABLE t (a Int32) WITH (TTL = Interval('PT1H') ON a AS DAYS)", "1:63: Unexpected token 'DAYS', expecting SECONDS, MILLISECONDS, MICROSECONDS, NANOSECONDS"},
		{"UPDATE t SET t.a = 1", "1:15: Unexpected token '.', a column of SET has no table name"},
		{"INSERT INTO t (a, b) VALUES (1)", "1:29: VALUES have 1 columns, expected: 2"},
		{"INSERT INTO t VALUES (1), (1, 2)", "1:27: VALUES have 2 columns, expected: 1"},
		{"UPSERT INTO t", "1:14: Unexpected end of query, expecting VALUES or SELECT"},
		{"SELECT 1 ORDER BY 1 UNION ALL SELECT 2", "1:10: ORDER BY and LIMIT within UNION are only allowed after the last SELECT or in parentheses"},
		{"(SELECT 1) UNION ALL (SELECT 2) ORDER BY 1", "1:33: Unexpected token 'ORDER', expecting ';'"},
		{"SELECT * FROM a JOIN b", "1:23: Unexpected end of query, expecting ON or USING"},
		{"SELECT NOT NOT a", "1:12: Unexpected token 'NOT', expecting an expression"},
		{"SELECT a = b IS NULL", "1:14: Unexpected token 'IS', expecting ';'"},
		{"DELETE FROM t RETURNING a + 1", "1:27: Unexpected token '+', expecting ';'"},
		{"SELECT (a AS x, b)", "1:8: Either all or none of the items in parentheses must have names"},
		{"SELECT AsStruct(1)", "1:8: AsStruct requires a name for every member"},
		{"SELECT " + strings.Repeat("\"x\" ", 2) + "1", "1:12: Unexpected token '\"x\"', expecting ';'"},
		{"SELECT `` FROM t", "1:8: Empty name"},
		{"\xff", "1:1: Query text is not valid UTF-8"},
	} {
		_, err := Parse(tt.text)
		require.EqualError(t, err, tt.want, tt.text)
		var e *Error
		require.ErrorAs(t, err, &e)
		require.False(t, e.Unsupported, tt.text)
	}
}

// TestUnsupportedIsNamed holds that valid YQL which ydbembed lacks is refused
// by name, not as a syntax error.
func TestUnsupportedIsNamed(t *testing.T) {
	for _, tt := range []struct{ text, feature string }{
		{"CREATE TOPIC `a/b` (CONSUMER c) WITH (min_active_partitions = 3)", "CREATE TOPIC"},
		{"ALTER TOPIC t ADD CONSUMER c", "ALTER TOPIC"},
		{"DROP TOPIC t", "DROP TOPIC"},
		{"CREATE VIEW v WITH (security_invoker = TRUE) AS SELECT 1", "CREATE VIEW"},
		{"CREATE USER u PASSWORD 'x'", "CREATE USER"},
		{"CREATE ASYNC REPLICATION r FOR a AS b", "CREATE ASYNC"},
		{"ALTER TABLE tasks ADD CHANGEFEED c WITH (FORMAT = 'JSON')", "ALTER TABLE ADD CHANGEFEED"},
		{"ALTER TABLE tasks DROP CHANGEFEED c", "ALTER TABLE DROP CHANGEFEED"},
		{"ALTER TABLE t ADD INDEX i GLOBAL ON (a)", "ALTER TABLE ADD INDEX"},
		{"ALTER TABLE t DROP INDEX i", "ALTER TABLE DROP INDEX"},
		{"ALTER TABLE t RENAME TO u", "ALTER TABLE RENAME"},
		{"ALTER TABLE t ALTER COLUMN a SET DEFAULT 5", "ALTER COLUMN other than DROP NOT NULL"},
		{"CREATE TABLE t (a Int32, INDEX i GLOBAL ON (a), PRIMARY KEY (a))", "INDEX in CREATE TABLE"},
		{"CREATE TABLE t (a Int32 FAMILY f, PRIMARY KEY (a))", "FAMILY (a column family other than default)"},
		{"CREATE TABLE t (a Int32, FAMILY f (DATA = 'ssd'), PRIMARY KEY (a))", "FAMILY in CREATE TABLE"},
		{"CREATE TABLE t (a Int32, PRIMARY KEY (a)) PARTITION BY HASH (a)", "PARTITION BY (column tables)"},
		{"CREATE TABLE t (a Int32, PRIMARY KEY (a)) WITH (STORE = COLUMN)", "STORE = COLUMN (column tables)"},
		{"CREATE TABLE t (a Serial, PRIMARY KEY (a))", "The type Serial"},
		{"CREATE TABLE t (a Decimal(22,9), PRIMARY KEY (a))", "The type Decimal"},
		{"DECLARE $x AS Dict<Int32,Int32>", "The type Dict"},
		{"DECLARE $x AS Int32??", "Optional of an Optional"},
		{"DECLARE $x AS Optional<Int32?>", "Optional of an Optional"},
		{"SELECT Nothing(OptionalType(DataType('Utf8')))", "A type made by a function (OptionalType)"},
		{"SELECT Decimal('1', 22, 9)", "The type Decimal"},
		{"SELECT * FROM t VIEW i", "VIEW (reading through a secondary index)"},
		{"BATCH UPDATE t SET a = 1", "BATCH UPDATE"},
		{"BATCH DELETE FROM t", "BATCH DELETE"},
		{"TRUNCATE TABLE t", "TRUNCATE TABLE"},
		{"COMMIT", "The statement COMMIT"},
		{"ROLLBACK;", "The statement ROLLBACK"},
		{"GRANT ALL ON t TO u", "The statement GRANT"},
		{"EXPLAIN SELECT 1", "The statement EXPLAIN"},
		{"VALUES (1)", "The statement VALUES"},
		{"DEFINE SUBQUERY $a() AS SELECT 1; END DEFINE", "The statement DEFINE"},
		{"$f = ($x) -> { RETURN $x; }", "A lambda"},
		{"$f = ($x) -> ($x + 1)", "A lambda"},
		{"SELECT ListMap($l, ($x) -> ($x))", "A lambda"},
		{"SELECT $f(1)", "Calling an expression"},
		{"SELECT $l[0]", "Element access with [ ]"},
		{"$a, $b = AsTuple(1, 2)", "Assigning several names at once"},
		{"SELECT ROW_NUMBER() OVER w FROM t WINDOW w AS ()", "OVER (window functions)"},
		{"SELECT 1 FROM t WINDOW w AS (PARTITION BY a)", "WINDOW"},
		{"SELECT JSON_VALUE(a, '$.b')", "JSON_VALUE"},
		{"SELECT JSON_EXISTS(a, '$.b')", "JSON_EXISTS"},
		{"SELECT EXISTS (SELECT 1)", "EXISTS"},
		{"SELECT {1: 2}", "A dict or set literal"},
		{"SELECT a & b", "The bit operator &"},
		{"SELECT a >> b", "The bit operator >>"},
		{"SELECT a REGEXP b", "The operator REGEXP"},
		{"SELECT a NOT ILIKE b", "The operator ILIKE"},
		{"SELECT a LIKE b ESCAPE '!'", "LIKE .. ESCAPE"},
		{"SELECT 1 INTERSECT SELECT 2", "INTERSECT"},
		{"SELECT 1 UNION SELECT 2 UNION ALL SELECT 3", "Mixing UNION and UNION ALL"},
		{"WITH a AS (SELECT 1) SELECT * FROM a", "The statement WITH"},
		{"FROM t SELECT a", "The statement FROM"},
		{"$a = PROCESS t", "PROCESS as a select"},
		{"SELECT * FROM a, b", "A comma between sources (write CROSS JOIN)"},
		{"SELECT * FROM ANY a JOIN b USING (k)", "ANY in a join"},
		{"SELECT * FROM t FLATTEN BY a", "FLATTEN of a source"},
		{"SELECT * FROM t AS x TABLESAMPLE BERNOULLI(1)", "TABLESAMPLE of a source"},
		{"SELECT * FROM RANGE('a', 'b')", "The table function RANGE"},
		{"SELECT * FROM plato.t", "A cluster name before the table"},
		{"SELECT * WITHOUT a FROM t", "WITHOUT"},
		{"SELECT a FROM t GROUP BY ROLLUP(a)", "GROUP BY ROLLUP"},
		{"SELECT a FROM t ASSUME ORDER BY a", "ASSUME ORDER BY"},
		{"SELECT a FROM t LIMIT 1, 2", "LIMIT with a comma (write LIMIT n OFFSET m)"},
		{"SELECT COUNT(a) FILTER (WHERE b) FROM t", "FILTER (WHERE ..) of an aggregate"},
		{"INSERT INTO t DEFAULT VALUES", "DEFAULT VALUES"},
		{"UPDATE t SET (a, b) = (1, 2)", "SET (columns) = (values)"},
		{"UPSERT OBJECT a (TYPE b)", "UPSERT OBJECT"},
		{"--!syntax_pg\nSELECT 1", "--!syntax_pg"},
	} {
		_, err := Parse(tt.text)
		var e *Error
		require.ErrorAs(t, err, &e, tt.text)
		require.Equal(t, tt.feature+" is not supported by ydbembed", e.Message, tt.text)
		require.True(t, e.Unsupported, tt.text)
	}
}

func TestTextSizeIsBounded(t *testing.T) {
	_, err := Parse("SELECT " + strings.Repeat("1", MaxTextSize))
	require.ErrorContains(t, err, "Query text is too long")
}
