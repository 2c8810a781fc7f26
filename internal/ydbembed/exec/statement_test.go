package exec_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"

	"github.com/taskfleet/taskfleet/internal/ydbembed/issue"
	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
)

const people = `CREATE TABLE people (id Uint64 NOT NULL, name Utf8, age Uint8, city Utf8, PRIMARY KEY (id));`

const crowd = `UPSERT INTO people (id, name, age, city) VALUES
	(1, 'ann', 30, 'rome'), (2, 'bob', 25, 'oslo'), (3, 'cid', NULL, 'rome'), (4, 'dee', 41, NULL);`

// script is statements on the table people, and what the last one answers.
type script struct {
	name   string
	setup  []string
	query  string
	params params
	want   []string // result sets
	status Ydb.StatusIds_StatusCode
	code   uint32 // an issue of the error
	text   string // a part of the error
}

var statements = []script{
	{name: "constants", query: `SELECT 1, 'x'u AS x, 2.5;`, want: []string{"1,x,2.5"}},
	{name: "two results", query: `SELECT 42; SELECT 43;`, want: []string{"42", "43"}},
	{name: "star", query: `SELECT * FROM people WHERE id = 1;`, want: []string{"1,ann,30,rome"}},
	{name: "null is not less", query: `SELECT id FROM people WHERE age < 200 ORDER BY id;`, want: []string{"1 | 2 | 4"}},
	{name: "is null", query: `SELECT id FROM people WHERE age IS NULL;`, want: []string{"3"}},
	{name: "order desc nulls last", query: `SELECT id FROM people ORDER BY age DESC;`, want: []string{"4 | 1 | 2 | 3"}},
	{name: "order asc nulls first", query: `SELECT id FROM people ORDER BY age;`, want: []string{"3 | 2 | 1 | 4"}},
	{name: "order by alias", query: `SELECT id, 100 - age AS rest FROM people WHERE age IS NOT NULL ORDER BY rest LIMIT 1;`, want: []string{"4,59"}},
	{name: "limit offset", query: `SELECT id FROM people ORDER BY id DESC LIMIT $n OFFSET 1;`, params: params{"n": u64(2)}, want: []string{"3 | 2"}},
	{name: "distinct", query: `SELECT DISTINCT city FROM people ORDER BY city;`, want: []string{"null | oslo | rome"}},
	{
		name: "group", query: `SELECT city, COUNT(*) AS n, SUM(age) AS s, MIN(age) AS lo, MAX(age) AS hi, AVG(age) AS mean
			FROM people GROUP BY city ORDER BY city;`,
		want: []string{"null,1,41,41,41,41 | oslo,1,25,25,25,25 | rome,2,30,30,30,30"},
	},
	{name: "group by expression", query: `SELECT g, COUNT(age) FROM people GROUP BY id % 2 AS g ORDER BY g;`, want: []string{"0,2 | 1,1"}},
	{name: "group by call", query: `SELECT COALESCE(city, 'x') || '!' AS c, COUNT(*) AS n FROM people GROUP BY COALESCE(city, 'x') ORDER BY c;`, want: []string{"oslo!,1 | rome!,2 | x!,1"}},
	{name: "group by case", query: `SELECT CASE WHEN age > 28 THEN 1 ELSE 0 END AS old, COUNT(*) FROM people GROUP BY CASE WHEN age > 28 THEN 1 ELSE 0 END ORDER BY old;`, want: []string{"0,2 | 1,2"}},
	{name: "order by aggregate", query: `SELECT city FROM people GROUP BY city ORDER BY COUNT(*) DESC, city LIMIT 1;`, want: []string{"rome"}},
	{name: "qualified group", query: `SELECT p.city AS c, MAX(p.age) FROM people AS p GROUP BY p.city HAVING p.city IS NOT NULL ORDER BY c;`, want: []string{"oslo,25 | rome,30"}},
	{name: "literal through a select", query: `$r = SELECT 7ul AS id, 'new' AS name, 5 AS age; UPSERT INTO people SELECT * FROM $r; SELECT * FROM people WHERE id = 7;`, want: []string{"7,new,5,null"}},
	{name: "string into text", query: `UPSERT INTO people SELECT id, 'a' || 'b' AS name FROM people;`, status: Ydb.StatusIds_GENERIC_ERROR, code: 2031},
	{name: "wrong columns", query: `UPSERT INTO people (id, name) SELECT id, age FROM people;`, status: Ydb.StatusIds_GENERIC_ERROR, text: "don't match column specification"},
	{name: "no such column", query: `UPSERT INTO people (id, fake) VALUES (1, 2);`, status: Ydb.StatusIds_GENERIC_ERROR, text: "No such column: fake"},
	{name: "plain star with more", query: `SELECT *, 1 AS x FROM people;`, status: Ydb.StatusIds_GENERIC_ERROR, text: "plain '*'"},
	{name: "star twice", query: `SELECT p.*, 'x' AS name FROM people AS p;`, status: Ydb.StatusIds_GENERIC_ERROR, text: "Duplicated member: name"},
	{name: "ambiguous", query: `SELECT city FROM people AS p JOIN people AS q ON p.id = q.id;`, status: Ydb.StatusIds_GENERIC_ERROR, text: "ambiguous"},
	{name: "join on inequality", query: `SELECT p.id FROM people AS p JOIN people AS q ON p.id < q.id;`, status: Ydb.StatusIds_GENERIC_ERROR, text: "conjunction of equality"},
	{name: "join on one side", query: `SELECT p.id FROM people AS p JOIN people AS q ON p.id = q.id AND p.id = 1;`, status: Ydb.StatusIds_GENERIC_ERROR, text: "exactly one JOIN input"},
	{name: "empty list", query: `SELECT COUNT(*) FROM AS_TABLE(AsList());`, want: []string{"0"}},
	{name: "bad source", query: `SELECT * FROM AS_TABLE($x);`, params: params{"x": u64(1)}, status: Ydb.StatusIds_GENERIC_ERROR, text: "Expected list of structs"},
	{name: "limit of a wrong type", query: `SELECT id FROM people LIMIT $n;`, params: params{"n": i64(1)}, status: Ydb.StatusIds_GENERIC_ERROR, text: "Int64!=Uint64"},
	{name: "no limit", query: `SELECT COUNT(*) FROM (SELECT id FROM people LIMIT $n);`, params: params{"n": null(types.Uint64)}, want: []string{"4"}},
	{name: "having", query: `SELECT city FROM people GROUP BY city HAVING COUNT(*) > 1;`, want: []string{"rome"}},
	{name: "aggregates of nothing", query: `SELECT COUNT(*), COUNT_IF(age > 1), SUM(age), MAX(id) FROM people WHERE id > 100;`, want: []string{"0,0,null,null"}},
	{name: "count distinct", query: `SELECT COUNT(DISTINCT city), COUNT(DISTINCT id), SOME(id) > 0 FROM people;`, want: []string{"2,4,true"}},
	{name: "max by", query: `SELECT MAX_BY(name, age), MIN_BY(name, age) FROM people;`, want: []string{"dee,bob"}},
	{name: "not grouped", query: `SELECT name, COUNT(*) FROM people GROUP BY city;`, status: Ydb.StatusIds_GENERIC_ERROR, text: "GROUP BY"},
	{name: "union", query: `SELECT id, name FROM people WHERE id = 1 UNION ALL SELECT age, id FROM people WHERE id = 2;`, want: []string{"1,ann,null | 2,null,25"}},
	{name: "union distinct", query: `SELECT 1 AS a UNION SELECT 1 AS a UNION SELECT 2 AS a;`, want: []string{"1 | 2"}},
	{name: "union order", query: `SELECT id FROM people UNION ALL SELECT 10ul AS id ORDER BY id DESC LIMIT 2;`, want: []string{"10 | 4"}},
	{name: "subselect", query: `SELECT COUNT(*) FROM (SELECT id FROM people LIMIT 3);`, want: []string{"3"}},
	{name: "scalar subselect", query: `SELECT id FROM people WHERE age = (SELECT MAX(age) FROM people);`, want: []string{"4"}},
	{name: "scalar of nothing", query: `SELECT (SELECT age FROM people WHERE id = 99) IS NULL;`, want: []string{"true"}},
	{name: "in select", query: `SELECT id FROM people WHERE city IN (SELECT city FROM people WHERE id = 1) ORDER BY id;`, want: []string{"1 | 3"}},
	{name: "in list", query: `SELECT id FROM people WHERE id IN $ids ORDER BY id;`, params: params{"ids": list(u64(4), u64(2), u64(4), u64(9))}, want: []string{"2 | 4"}},
	{name: "not in with null", query: `SELECT id FROM people WHERE age NOT IN (25u, NULL);`, want: []string{""}},
	{name: "in tuples", query: `SELECT id FROM people WHERE (id, name) IN ((1, 'ann'), (2, 'no'));`, want: []string{"1"}},
	{name: "named scalar", query: `$a = 2; $b = $a * 3; SELECT $b + $a;`, want: []string{"8"}},
	{name: "named select", query: `$r = SELECT id, age FROM people WHERE city = 'rome'; SELECT COUNT(*) FROM $r; SELECT id FROM $r ORDER BY id;`, want: []string{"2", "1 | 3"}},
	{name: "cross join", query: `SELECT a.x, b.y FROM AS_TABLE([<|x: 1|>, <|x: 2|>]) AS a CROSS JOIN AS_TABLE([<|y: 3|>]) AS b ORDER BY a.x;`, want: []string{"1,3 | 2,3"}},
	{name: "hash join", query: `SELECT p.id, q.id FROM people AS p JOIN people AS q ON p.city = q.city WHERE p.id < q.id;`, status: Ydb.StatusIds_GENERIC_ERROR, text: "Duplicated member"},
	{name: "hash join renamed", query: `SELECT p.id AS a, q.id AS b FROM people AS p JOIN people AS q ON p.city = q.city WHERE p.id < q.id;`, want: []string{"1,3"}},
	{name: "left join", query: `SELECT k.id AS id, p.name AS name FROM AS_TABLE([<|id: 1ul|>, <|id: 7ul|>]) AS k LEFT JOIN people AS p ON p.id = k.id;`, want: []string{"1,ann | 7,null"}},
	{name: "left only", query: `SELECT k.id AS id FROM AS_TABLE([<|id: 1ul|>, <|id: 7ul|>]) AS k LEFT ONLY JOIN people AS p ON p.id = k.id;`, want: []string{"7"}},
	{name: "left semi", query: `SELECT p.name AS name FROM people AS p LEFT SEMI JOIN AS_TABLE([<|id: 1ul|>, <|id: 1ul|>, <|id: 7ul|>]) AS k ON p.id = k.id;`, want: []string{"ann"}},
	{name: "using", query: `SELECT name FROM AS_TABLE([<|id: 2ul|>]) AS k JOIN people AS p USING (id);`, want: []string{"bob"}},
	{name: "right join", query: `SELECT p.id FROM people AS p RIGHT JOIN people AS q ON p.id = q.id;`, status: Ydb.StatusIds_UNSUPPORTED, text: "RIGHT JOIN"},

	{name: "insert", query: `INSERT INTO people (id, name) VALUES (9, 'zed'); SELECT * FROM people WHERE id = 9;`, want: []string{"9,zed,null,null"}},
	{name: "insert existing", query: `INSERT INTO people (id) VALUES (1);`, status: Ydb.StatusIds_PRECONDITION_FAILED, code: 2012, text: "Conflict with existing key."},
	{name: "insert twice", query: `INSERT INTO people (id) VALUES (10), (10);`, status: Ydb.StatusIds_PRECONDITION_FAILED, code: 2012},
	{name: "insert or ignore", query: `INSERT OR IGNORE INTO people (id, name) VALUES (1, 'x'), (10, 'y'); SELECT name FROM people WHERE id IN (1, 10);`, want: []string{"ann | y"}},
	{name: "insert or revert", query: `INSERT OR REVERT INTO people (id, name) VALUES (1, 'x'), (10, 'y'); SELECT COUNT(*) FROM people;`, want: []string{"4"}},
	{name: "upsert keeps", query: `UPSERT INTO people (id, age) VALUES (1, 31); SELECT * FROM people WHERE id = 1;`, want: []string{"1,ann,31,rome"}},
	{name: "upsert last wins", query: `UPSERT INTO people (id, age) VALUES (1, 31), (1, 32); SELECT age FROM people WHERE id = 1;`, want: []string{"32"}},
	{name: "replace drops", query: `REPLACE INTO people (id, age) VALUES (1, 31); SELECT * FROM people WHERE id = 1;`, want: []string{"1,null,31,null"}},
	{name: "upsert select", query: `UPSERT INTO people SELECT id + 100 AS id, name FROM people WHERE city = 'rome'; SELECT id, name FROM people WHERE id > 100;`, want: []string{"101,ann | 103,cid"}},
	{name: "upsert returning", query: `UPSERT INTO people (id, age) VALUES (1, 31) RETURNING id, name, age;`, want: []string{"1,ann,31"}},
	{name: "insert returning", query: `INSERT INTO people (id) VALUES (8) RETURNING *;`, want: []string{"8,null,null,null"}},
	{name: "update", query: `UPDATE people SET age = age + 1ut, city = 'x' WHERE id < 3; SELECT age, city FROM people ORDER BY id LIMIT 3;`, want: []string{"31,x | 26,x | null,rome"}},
	{name: "update returning", query: `UPDATE people SET age = 1 WHERE city = 'rome' RETURNING id, age;`, want: []string{"1,1 | 3,1"}},
	{name: "update on", query: `UPDATE people ON SELECT 1ul AS id, 'new'u AS name UNION ALL SELECT 50ul AS id, 'no'u AS name; SELECT id, name FROM people;`, want: []string{"1,new | 2,bob | 3,cid | 4,dee"}},
	{name: "update on returning", query: `UPDATE people ON SELECT 1ul AS id, 'new'u AS name RETURNING *;`, want: []string{"1,new,30,rome"}},
	{name: "update on values", query: `UPDATE people ON (id, age) VALUES (2, 9), (60, 9); SELECT id, age FROM people WHERE age = 9;`, want: []string{"2,9"}},
	{name: "update key", query: `UPDATE people SET id = 2 WHERE id = 1;`, status: Ydb.StatusIds_BAD_REQUEST, text: "Cannot update primary key column: id"},
	{name: "delete where", query: `DELETE FROM people WHERE city = 'rome'; SELECT id FROM people;`, want: []string{"2 | 4"}},
	{name: "delete on", query: `DELETE FROM people ON SELECT id FROM people WHERE id > 2; SELECT id FROM people;`, want: []string{"1 | 2"}},
	{name: "delete returning", query: `DELETE FROM people WHERE id = 1 RETURNING *;`, want: []string{"1,ann,30,rome"}},
	{name: "delete on returning", query: `DELETE FROM people ON (id) VALUES (1), (70) RETURNING id, name;`, want: []string{"1,ann"}},
	{name: "delete all", query: `DELETE FROM people; SELECT COUNT(*) FROM people;`, want: []string{"0"}},
	{
		name: "named select before a write", want: []string{"4", "0"},
		query: `$x = SELECT id FROM people; DELETE FROM people; SELECT COUNT(*) FROM $x; SELECT COUNT(*) FROM people;`,
	},
	{
		name: "named select after a write", want: []string{"0"},
		query: `DELETE FROM people; $x = SELECT id FROM people; SELECT COUNT(*) FROM $x;`,
	},
	{
		name: "pop", setup: []string{`CREATE TABLE done (id Uint64, name Utf8, PRIMARY KEY (id));`}, want: []string{"1,ann | 2,bob", "2", "3 | 4"},
		query: `$c = (SELECT id, name FROM people ORDER BY id LIMIT 2);
			UPSERT INTO done SELECT id, name FROM $c RETURNING id, name;
			DELETE FROM people ON SELECT id FROM $c; SELECT COUNT(*) FROM done; SELECT id FROM people;`,
	},

	{name: "unknown table", query: `SELECT * FROM nothing;`, status: Ydb.StatusIds_SCHEME_ERROR, code: 2003, text: "db.[/local/nothing]"},
	{name: "outside of the database", query: "SELECT * FROM `/other/people`;", status: Ydb.StatusIds_SCHEME_ERROR, code: 2003},
	{name: "absolute path", query: "SELECT COUNT(*) FROM `/local/people`;", want: []string{"4"}},
	{name: "prefix", query: `PRAGMA TablePathPrefix("/local/dir"); SELECT * FROM people;`, status: Ydb.StatusIds_SCHEME_ERROR, text: "/local/dir/people"},
	{name: "unknown column", query: `SELECT fake FROM people;`, status: Ydb.StatusIds_GENERIC_ERROR, code: 1030, text: "Column not found: fake"},
	{name: "unknown returning", query: `DELETE FROM people RETURNING fake;`, status: Ydb.StatusIds_GENERIC_ERROR, code: 1030, text: "Column not found: fake"},
	{name: "unknown name", query: `SELECT $x;`, status: Ydb.StatusIds_GENERIC_ERROR, text: "Unknown name: $x"},
	{name: "unknown function", query: `SELECT Foo(1);`, status: Ydb.StatusIds_GENERIC_ERROR, text: "Foo"},
	{name: "unknown module", query: `SELECT Digest::Md5Hex('a');`, status: Ydb.StatusIds_GENERIC_ERROR, text: "Digest::Md5Hex"},
	{name: "missing param", query: `DECLARE $x AS Uint64; SELECT $x;`, status: Ydb.StatusIds_BAD_REQUEST, text: "$x"},
	{name: "missing optional param", query: `DECLARE $x AS Uint64?; SELECT $x IS NULL;`, want: []string{"true"}},
	{name: "param of another type", query: `DECLARE $x AS Uint64; SELECT $x;`, params: params{"x": u32(1)}, status: Ydb.StatusIds_BAD_REQUEST, text: "$x"},
	{name: "param for optional", query: `DECLARE $x AS Uint64?; SELECT $x;`, params: params{"x": u64(1)}, want: []string{"1"}},
	{name: "extra param", query: `SELECT 1;`, params: params{"y": u64(1)}, want: []string{"1"}},
	{
		name: "struct in another order", query: `DECLARE $r AS List<Struct<b: Utf8, a: Uint64>>; SELECT a, b FROM AS_TABLE($r);`,
		params: params{"r": list(record("a", u64(1), "b", text("x")))}, want: []string{"1,x"},
	},
	{name: "missing key", query: `UPSERT INTO people (name) VALUES ('x');`, status: Ydb.StatusIds_BAD_REQUEST, code: 2032, text: "Missing not null column in input: id"},
	{name: "null key", query: `UPSERT INTO people (id) VALUES (NULL);`, status: Ydb.StatusIds_BAD_REQUEST, code: 2031},
	{name: "optional key", query: `UPSERT INTO people (id) VALUES ($x);`, params: params{"x": just(u64(1))}, status: Ydb.StatusIds_BAD_REQUEST, code: 2031},
	{name: "typed write", query: `UPSERT INTO people (id, age) VALUES (1, $x);`, params: params{"x": u64(1)}, status: Ydb.StatusIds_GENERIC_ERROR, code: 2031, text: "Failed to convert type"},
	{name: "literal out of range", query: `UPSERT INTO people (id, age) VALUES (1, 256);`, status: Ydb.StatusIds_GENERIC_ERROR, code: 2031},
	{name: "wider column", query: `UPSERT INTO people (id) VALUES ($x); SELECT COUNT(*) FROM people;`, params: params{"x": u8(77)}, want: []string{"5"}},
	{name: "unwrap of null", query: `SELECT Unwrap(age) FROM people WHERE id = 3;`, status: Ydb.StatusIds_PRECONDITION_FAILED, text: "unwrap"},
	{name: "ddl with dml", query: `CREATE TABLE x (a Uint64, PRIMARY KEY (a)); SELECT 1;`, status: Ydb.StatusIds_GENERIC_ERROR, code: 2009},
	{name: "position", query: "SELECT\n  fake FROM people;", status: Ydb.StatusIds_GENERIC_ERROR, text: "2:3"},
	{name: "view", query: `SELECT * FROM people VIEW idx;`, status: Ydb.StatusIds_UNSUPPORTED, text: "VIEW"},
	{name: "string as table", query: "\n\t\t\t\tUPSERT INTO \"users\" (id) VALUES (1);\n", status: Ydb.StatusIds_GENERIC_ERROR, text: "2:17: String literal can not be used here"},
	{name: "uuid key", setup: []string{`CREATE TABLE tasks (id Uuid NOT NULL, payload Utf8, ts Timestamp, created Timestamp, PRIMARY KEY (id));`},
		query:  `UPSERT INTO tasks (id, payload, ts, created) VALUES ($id, '', $ts, CurrentUtcTimestamp()); SELECT id, ts, created FROM tasks WHERE id = $id;`,
		params: params{"id": {types.Primitive(types.UUID), uuidValue}, "ts": moment(now)},
		want:   []string{"6e73b41c-4ede-4d08-9cfb-b7462d9e498b,2026-01-02T03:04:05.000678Z,2026-01-02T03:04:05.000678Z"}},
}

var uuidValue, _ = types.Parse(types.UUID, "6e73b41c-4ede-4d08-9cfb-b7462d9e498b")

func TestStatements(t *testing.T) {
	t.Parallel()
	for _, s := range statements {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			d := open(t)
			for _, text := range append([]string{people, crowd}, s.setup...) {
				d.must(text, nil)
			}
			a, err := d.try(s.query, s.params)
			if s.status != 0 {
				require.Error(t, err)
				e := issue.From(err)
				require.Equal(t, s.status, e.Status, err)
				require.True(t, s.code == 0 || e.Has(s.code), err)
				require.ErrorContains(t, err, s.text)
				return
			}
			require.NoError(t, err)
			got := make([]string, len(a.rows))
			for i := range a.rows {
				got[i] = a.set(i)
			}
			require.Equal(t, s.want, got)
		})
	}
}
