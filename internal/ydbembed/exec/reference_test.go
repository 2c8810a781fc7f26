package exec_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/internal/ydbembed/issue"
	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
)

// The statements of programs that exist: another task queue on YDB, goose, and
// the SDK's own tests.

const otherQueue = `
CREATE TABLE coordinated_tasks (
	id Utf8 NOT NULL, hash Int64 NOT NULL, partition_id Uint16 NOT NULL, priority Uint8 NOT NULL,
	status Utf8 NOT NULL, payload Utf8 NOT NULL, lock_value Utf8, locked_until Timestamp, scheduled_at Timestamp,
	created_at Timestamp NOT NULL, done_at Timestamp, PRIMARY KEY (partition_id, priority, id));
CREATE TABLE stats (user_id UUID NOT NULL, a Int64, b Int64, PRIMARY KEY (user_id));
CREATE TABLE tasks (id UUID NOT NULL, payload String NOT NULL, created_at Timestamp NOT NULL, done_at Timestamp, PRIMARY KEY (id));
`

func TestStatementsOfAnotherQueue(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.must(otherQueue, nil)
	d.must(`ALTER TABLE coordinated_tasks SET (AUTO_PARTITIONING_BY_LOAD = ENABLED);`, nil)

	task := func(id string, priority uint64, at param) param {
		return record("created_at", moment(now), "hash", i64(1), "id", text(id), "partition_id", u16(5),
			"payload", text("{}"), "priority", u8(priority), "scheduled_at", at)
	}
	records := params{"records": list(
		task("low", 1, null(types.Timestamp)), task("high", 9, null(types.Timestamp)),
		task("future", 200, just(moment(now.Add(time.Hour)))),
	)}
	d.must(`UPSERT INTO coordinated_tasks
		SELECT id, hash, partition_id, priority, "pending"u AS status, payload, scheduled_at, created_at FROM AS_TABLE($records);`, records)

	candidate := `DECLARE $partition_id AS Uint16;
		SELECT id, priority, payload FROM coordinated_tasks
		WHERE partition_id = $partition_id
			AND (status = 'pending' OR (status = 'locked' AND locked_until < CurrentUtcTimestamp()))
			AND (scheduled_at IS NULL OR scheduled_at <= CurrentUtcTimestamp())
		ORDER BY priority DESC LIMIT 1`
	p := params{"partition_id": u16(5)}
	a := d.must(candidate, p)
	require.Equal(t, "high,9,{}", a.set(0))
	require.Equal(t, "id Utf8, priority Uint8, payload Utf8", a.header(0))
	require.EqualValues(t, 2, a.read("coordinated_tasks"), "from the top down to the first that fits")
	require.Equal(t, []string{"Limit", "Filter", "TableRangeScan reverse"}, d.operators(candidate, p))

	point := `DECLARE $id AS Utf8; DECLARE $priority AS Uint8; DECLARE $partition_id AS Uint16; DECLARE $until AS Timestamp; DECLARE $lock AS Utf8;`
	key := ` WHERE partition_id = $partition_id AND priority = $priority AND id = $id`
	p = params{"id": text("high"), "priority": u8(9), "partition_id": u16(5), "until": moment(now.Add(time.Minute)), "lock": text("w1")}
	a = d.must(point+`SELECT status, locked_until FROM coordinated_tasks`+key, p)
	require.Equal(t, "pending,null", a.set(0))
	require.Equal(t, "status Utf8, locked_until Timestamp?", a.header(0))
	a = d.must(point+`UPDATE coordinated_tasks SET status = 'locked', lock_value = $lock, locked_until = $until`+key, p)
	require.Empty(t, a.rows)
	require.EqualValues(t, 1, a.stats.Tables["/local/coordinated_tasks"].UpdateRows)
	require.Equal(t, []string{"Update", "TablePointLookup"}, d.operators(point+`UPDATE coordinated_tasks SET status = 'locked', lock_value = $lock, locked_until = $until`+key, p))
	require.Equal(t, "low,1,{}", d.must(candidate, params{"partition_id": u16(5)}).set(0))
}

func TestCountersByLookupJoin(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.must(otherQueue, nil)
	upsert := `UPSERT INTO stats SELECT r.user_id AS user_id, COALESCE(t.a, 0) + r.a AS a, COALESCE(t.b, 0) + r.b AS b
		FROM AS_TABLE($records) AS r LEFT JOIN stats AS t ON r.user_id = t.user_id;`
	p := params{"records": list(record("a", i64(1), "b", i64(2), "user_id", param{types.Primitive(types.UUID), uuidValue}))}
	d.must(upsert, p)
	a := d.must(upsert, p)
	require.EqualValues(t, 1, a.read("stats"))
	require.Equal(t, "2,4", d.must(`SELECT a, b FROM stats;`, nil).set(0))
	require.Equal(t, []string{"Upsert", "TableLookupJoin", "Iterator"}, d.operators(upsert, p))

	a = d.must(`UPSERT INTO tasks (id, payload, created_at, done_at) VALUES ($id, '', $ts, CurrentUtcTimestamp());`,
		params{"id": {types.Primitive(types.UUID), uuidValue}, "ts": moment(now)})
	require.EqualValues(t, 0, a.read("tasks"))
}

func TestStatementsOfGoose(t *testing.T) {
	t.Parallel()
	d := open(t)
	declares := "-- bind declares\nDECLARE $p0 AS Int64;\n\n-- origin query with numeric args replacement\n"
	version := params{"p0": i64(3)}
	current := declares + "SELECT tstamp, is_applied FROM goose_db_version WHERE version_id = $p0 ORDER BY tstamp DESC LIMIT 1"
	_, err := d.try(current, version)
	require.True(t, issue.From(err).Has(2003), err)

	d.must("CREATE TABLE `goose_db_version` (version_id Uint64, is_applied Bool, tstamp Timestamp, PRIMARY KEY(version_id))", nil)
	require.Equal(t, "null", d.must("SELECT MAX(version_id) FROM goose_db_version", nil).set(0))
	insert := "-- bind declares\nDECLARE $p0 AS Int64;\nDECLARE $p1 AS Bool;\n\n-- origin query with numeric args replacement\n" +
		"INSERT INTO goose_db_version (version_id, is_applied, tstamp) VALUES (CAST($p0 AS Uint64), $p1, CurrentUtcTimestamp())"
	applied := params{"p0": i64(3), "p1": {types.Primitive(types.Bool), types.BoolValue(true)}}
	d.must(insert, applied)
	require.Equal(t, "2026-01-02T03:04:05.000678Z,true", d.must(current, version).set(0))
	a := d.must("SELECT version_id, is_applied, tstamp AS __discard_column_tstamp FROM goose_db_version ORDER BY __discard_column_tstamp DESC", nil)
	require.Equal(t, "version_id Uint64?, is_applied Bool?, __discard_column_tstamp Timestamp?", a.header(0))
	require.Len(t, a.rows[0], 1)
	a = d.must("SELECT MAX(version_id) FROM goose_db_version", nil)
	require.Equal(t, "column0 Uint64?", a.header(0))
	require.Equal(t, "3", a.set(0))
	down := declares + "DELETE FROM goose_db_version WHERE version_id = $p0"
	require.EqualValues(t, 1, d.must(down, version).stats.Tables["/local/goose_db_version"].DeleteRows)
	require.EqualValues(t, 0, d.must(down, params{"p0": i64(-3)}).read("goose_db_version"))
}

func TestUnusedDeclarationIsAWarning(t *testing.T) {
	t.Parallel()
	d := open(t)
	a := d.must("DECLARE $x as String;\nSELECT 42;\nSELECT 43;", nil)
	require.Equal(t, []issue.Issue{{Code: 4527, Message: "Symbol $x is not used", Severity: issue.Warning, Line: 1, Col: 1}}, a.warnings)
	require.Equal(t, "42", a.set(0))
	require.Empty(t, d.must("SELECT 42; SELECT 43;", nil).warnings)
}

func TestStringAsTableName(t *testing.T) {
	t.Parallel()
	_, err := open(t).try("\n\t\t\t\tUPSERT INTO \"users\" (id) VALUES (1);\n\t\t\t", nil)
	require.Equal(t, &issue.Error{Status: 400080, Issues: []issue.Issue{
		{Message: "String literal can not be used here", Severity: issue.Err, Line: 2, Col: 17},
	}}, err)
}
