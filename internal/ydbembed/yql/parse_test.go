package yql

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// accepted are texts that must parse: the statements of the product, of goose
// and of the SDK's tests, and each form of the grammar at least once.
var accepted = []string{
	``,
	`;;  -- nothing`,
	`select 1`,
	`SELECT 1 AS one, "a"u AS two, NULL, true; SELECT 2;`,
	"DECLARE $p AS Uint16; SELECT id,priority,payload FROM coordinated_tasks WHERE partition_id=$p AND (status='pending' OR (status='locked' AND locked_until < CurrentUtcTimestamp())) AND (scheduled_at IS NULL OR scheduled_at <= CurrentUtcTimestamp()) ORDER BY priority DESC LIMIT 1",
	`UPDATE t SET status='locked', lock_value=$w WHERE partition_id=$p AND priority=$r AND id=$id`,
	`UPSERT INTO t SELECT id, partition_id, "pending"u AS status, scheduled_at FROM AS_TABLE($records)`,
	`UPSERT INTO stats SELECT r.user_id AS user_id, COALESCE(t.a,0)+r.a AS a FROM AS_TABLE($records) AS r LEFT JOIN stats AS t ON r.user_id=t.user_id`,
	`UPSERT INTO tasks(id, payload, created_at, done_at) VALUES ($id,'',$ts,CurrentUtcTimestamp())`,
	"SELECT tstamp, is_applied FROM goose_db_version WHERE version_id = $p0 ORDER BY tstamp DESC LIMIT 1",
	"CREATE TABLE `goose_db_version` (version_id Uint64, is_applied Bool, tstamp Timestamp, PRIMARY KEY(version_id))",
	"-- bind declares\nDECLARE $p0 AS Int64;\nDECLARE $p1 AS Bool;\n\n-- origin query with numeric args replacement\nINSERT INTO goose_db_version (version_id,is_applied,tstamp) VALUES (CAST($p0 AS Uint64), $p1, CurrentUtcTimestamp())",
	"SELECT version_id, is_applied, tstamp AS __discard_column_tstamp FROM goose_db_version ORDER BY __discard_column_tstamp DESC",
	"SELECT MAX(version_id) FROM goose_db_version",
	"DELETE FROM goose_db_version WHERE version_id = $p0",
	`CREATE TABLE coordinated_tasks (
	    id          Utf8            NOT NULL,
	    hash        Int64           NOT NULL,
	    partition_id Uint16         NOT NULL,
	    payload     Utf8            NULL,
	    lock_value  Utf8 DEFAULT "x"u NOT NULL,
	    n Int32 DEFAULT -5,
	    id2 UUID,
	    PRIMARY KEY (partition_id, id),
	) WITH (
	    AUTO_PARTITIONING_BY_LOAD = ENABLED,
	    AUTO_PARTITIONING_MIN_PARTITIONS_COUNT = 4,
	    UNIFORM_PARTITIONS = 4,
	    PARTITION_AT_KEYS = (10, 20, (30, "a")),
	    TTL = Interval("PT1H") ON done_at AS SECONDS,
	    READ_REPLICAS_SETTINGS = "PER_AZ:1",
	    KEY_BLOOM_FILTER = DISABLED,
	)`,
	`CREATE TABLE IF NOT EXISTS t (k Uint64 NOT NULL, v Utf8, PRIMARY KEY (k)) WITH (TTL = Interval("P1D") ON v)`,
	`ALTER TABLE t SET (AUTO_PARTITIONING_BY_LOAD = DISABLED), ADD COLUMN a Int32, ADD b Utf8 NOT NULL DEFAULT "x", DROP COLUMN c, DROP d, ALTER COLUMN e DROP NOT NULL, RESET (TTL)`,
	`ALTER TABLE t SET TTL Interval("PT5M") ON ts`,
	`DROP TABLE IF EXISTS t; DROP TABLE a;`,
	`PRAGMA TablePathPrefix("/local/dir"); PRAGMA ydb.X = "true"; PRAGMA AnsiInForEmptyOrNullableItemsCollections; SELECT 1`,
	`DECLARE $x AS List<Struct<a:Utf8?,b:Uint8>>; DECLARE $y AS Optional<Int32>; DECLARE $z AS Tuple<Int32,Utf8?>; DECLARE $w AS List<List<Int32>>; DECLARE $e AS Struct<>; DECLARE $f AS Struct<'a b':Bool,>;`,
	`$a = SELECT 1 AS x; $b = (SELECT x FROM $a); $c = 1 + 2; $d = (SELECT 1) UNION ALL (SELECT 2); $e = ((SELECT 1) UNION ALL (SELECT 2)); SELECT * FROM $b AS b CROSS JOIN $d`,
	`SELECT DISTINCT t.*, t.a + 1 AS b, FROM t AS t WHERE a IN (1, 2, 3) AND b NOT IN $list AND c IN COMPACT $d AND e IN AsList(1) GROUP BY a, b AS c HAVING COUNT(*) > 1 ORDER BY a ASC, b DESC, c LIMIT 10 OFFSET $o`,
	`SELECT * FROM (SELECT 1 AS a UNION ALL SELECT 2 AS a) AS s JOIN b USING (a) LEFT ONLY JOIN c ON s.a = c.a LEFT SEMI JOIN d USING a RIGHT JOIN e ON true RIGHT ONLY JOIN f ON true RIGHT SEMI JOIN g ON true FULL OUTER JOIN h ON true EXCLUSION JOIN i ON true LEFT OUTER JOIN j ON true INNER JOIN k ON true`,
	`SELECT key, value, rank, kind, name, owner, status, epoch, index, data, type, end, on, date, timestamp, list FROM t ORDER BY key`,
	`(SELECT a FROM t ORDER BY a LIMIT 1) UNION ALL (SELECT a FROM u ORDER BY a DESC LIMIT 2) UNION ALL SELECT 3 AS a ORDER BY a LIMIT 4`,
	`INSERT OR ABORT INTO t (a) VALUES (1), (2),; INSERT OR REVERT INTO t (a) SELECT 1 AS a; INSERT OR IGNORE INTO t SELECT 1 AS a; REPLACE INTO t (a, b,) VALUES (1, 2,) RETURNING *`,
	`UPDATE t ON SELECT * FROM $c RETURNING id, rank; UPDATE t ON (a, b) VALUES (1, 2); DELETE FROM t ON SELECT k FROM $c RETURNING *; DELETE FROM t; DELETE FROM t WHERE a`,
	`SELECT CASE WHEN a THEN 1 ELSE 2 END, CASE a WHEN 1 THEN 2 WHEN 3 THEN 4 END, IF(a, b, c), COALESCE(a, b), a ?? b ?? c, CAST(a AS Utf8), CAST(a AS Uint64?)`,
	`SELECT a BETWEEN 1 AND 2 AND b NOT BETWEEN 3 AND 4, a IS NULL, a IS NOT NULL, a NOT NULL, a ISNULL, a NOTNULL, a IS DISTINCT FROM b, a IS NOT DISTINCT FROM b, a LIKE "x%", a NOT LIKE "y"`,
	`SELECT Timestamp("2024-01-01T00:00:00Z"), Interval("PT5M"), Uint8("1"), Date("2024-01-01"), Uuid("00000000-0000-0000-0000-000000000001"), Json(@@{"a":1}@@), Bool("true"), Utf8("x"), Double("1.5")`,
	`SELECT Nothing(Utf8?), Nothing(Optional<List<Int32>>), Just(1), (1, 2), (1,), (), [1, 2,], [], <|a: 1, b: "x",|>, AsStruct(1 AS a, 2 AS b), AsList(1, 2), AsTuple(1, "x"), (1 AS a, 2 AS b)`,
	`SELECT $s.a, $s.a.b, $t.0, $t.0.1, AsStruct(1 AS x).x, DateTime::FromSeconds(1u), DateTime::ToMicroseconds(CurrentUtcTimestamp()), COUNT(DISTINCT a), COUNT(*)`,
	"SELECT @@multi\nline@@, @@a@@@@b@@, 'it\\'s', \"\\x41\\101\\u0041\\n\", `a\\`b`, `c``d`, 'x'u, 'y's",
	`SELECT 1u, 1l, 1ul, 1s, 1us, 1t, 1ut, 1.5, 1.5f, 1e3, 0x1F, 0b11, 0o17, 18446744073709551615, -9223372036854775808, -2147483648, -128t, -1.5`,
	"/* block\n comment */ SELECT /* in */ 1 -- end",
}

func TestParseAccepts(t *testing.T) {
	for _, text := range accepted {
		_, err := Parse(text)
		require.NoError(t, err, text)
	}
}
