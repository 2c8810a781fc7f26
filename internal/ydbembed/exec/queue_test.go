package exec_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
)

// The statements of a task queue, with the number of rows that each may read.

const queueTables = `
CREATE TABLE coordinated_tasks (
	partition_id Uint16 NOT NULL, rank Uint8 NOT NULL, id Utf8 NOT NULL, payload String, status Utf8,
	attempt Uint32 NOT NULL, lock_value Utf8, lock_epoch Uint64, locked_until Timestamp, timeout_ms Uint32,
	PRIMARY KEY (partition_id, rank, id)) WITH (AUTO_PARTITIONING_BY_LOAD = ENABLED);
CREATE TABLE delayed_tasks (
	partition_id Uint16 NOT NULL, scheduled_at Timestamp NOT NULL, id Utf8 NOT NULL, rank Uint8, payload String, attempt Uint32,
	PRIMARY KEY (partition_id, scheduled_at, id));
CREATE TABLE completed_tasks (
	partition_id Uint16 NOT NULL, id Utf8 NOT NULL, payload String, done_at Timestamp,
	PRIMARY KEY (partition_id, id)) WITH (TTL = Interval("PT24H") ON done_at);
CREATE TABLE partitions (partition_id Uint16 NOT NULL, epoch Uint64 NOT NULL, owner Utf8, PRIMARY KEY (partition_id));
CREATE TABLE enqueue_batches (batch_id Utf8 NOT NULL, created_at Timestamp NOT NULL, PRIMARY KEY (batch_id));
CREATE TABLE task_ids (id Utf8 NOT NULL, PRIMARY KEY (id));`

// queue makes partitions of n pending tasks each, ranks 0 to 9 in turn.
func queue(t testing.TB, partitions, n int) *db {
	d := open(t)
	d.must(queueTables, nil)
	var tasks, parts []param
	for p := range partitions {
		parts = append(parts, record("partition_id", u16(uint64(p)), "epoch", u64(7)))
		for i := range n {
			tasks = append(tasks, record("partition_id", u16(uint64(p)), "rank", u8(uint64(i%10)),
				"id", text(fmt.Sprintf("t%03d", i)), "attempt", u32(0), "timeout_ms", u32(1000)))
		}
	}
	d.must(`UPSERT INTO partitions SELECT * FROM AS_TABLE($p);`, params{"p": list(parts...)})
	if len(tasks) > 0 {
		d.must(`UPSERT INTO coordinated_tasks SELECT t.*, 'pending' AS status FROM AS_TABLE($t) AS t;`, params{"t": list(tasks...)})
	}
	return d
}

func TestCandidatesReadOnlyWhatTheyReturn(t *testing.T) {
	t.Parallel()
	d := queue(t, 40, 50)
	var q, all strings.Builder
	p := params{"k": u64(3)}
	for i := range 32 {
		fmt.Fprintf(&q, `$c%[1]d = SELECT partition_id, rank, id FROM coordinated_tasks
			WHERE partition_id = $p%[1]d AND (rank > $r%[1]d OR (rank = $r%[1]d AND id > $i%[1]d))
			AND (status = 'pending' OR lock_epoch < $e%[1]d OR locked_until < CurrentUtcTimestamp())
			ORDER BY partition_id, rank, id LIMIT $k;
			`, i)
		if i > 0 {
			all.WriteString(" UNION ALL ")
		}
		fmt.Fprintf(&all, "SELECT * FROM $c%d", i)
		p[fmt.Sprintf("p%d", i)] = u16(uint64(i))
		p[fmt.Sprintf("r%d", i)] = u8(4)
		p[fmt.Sprintf("i%d", i)] = text("t024")
		p[fmt.Sprintf("e%d", i)] = u64(7)
	}
	query := q.String() + all.String() + ";"
	a := d.must(query, p)
	require.Len(t, a.rows[0], 32*3)
	require.Equal(t, "0,4,t034", show(a.rows[0][0]))
	require.Equal(t, "31,5,t005", show(a.rows[0][95]))
	require.EqualValues(t, 32*3, a.read("coordinated_tasks"))
	for _, name := range d.operators(query, p) {
		require.Contains(t, []string{"Limit", "Filter", "TableRangeScan", "UnionAll"}, name)
	}
}

const claim = `
$mine = SELECT e.partition_id AS partition_id, e.epoch AS epoch
	FROM AS_TABLE($owned) AS e JOIN partitions AS p ON p.partition_id = e.partition_id WHERE p.epoch = e.epoch;
$claimed = SELECT t.partition_id AS partition_id, t.rank AS rank, t.id AS id, t.payload AS payload, 'locked' AS status,
		k.lock_value AS lock_value, m.epoch AS lock_epoch, t.attempt + 1u AS attempt,
		CurrentUtcTimestamp() + DateTime::IntervalFromMilliseconds(CAST(t.timeout_ms AS Int64)) AS locked_until
	FROM AS_TABLE($keys) AS k
	JOIN $mine AS m ON m.partition_id = k.partition_id
	JOIN coordinated_tasks AS t ON t.partition_id = k.partition_id AND t.rank = k.rank AND t.id = k.id
	WHERE t.status = 'pending' OR t.lock_epoch < m.epoch OR t.locked_until < CurrentUtcTimestamp();
SELECT partition_id, id, attempt FROM $claimed;
UPSERT INTO coordinated_tasks
	SELECT partition_id, rank, id, status, lock_value, lock_epoch, attempt, locked_until FROM $claimed;`

func claimParams(keys int) params {
	owned := []param{record("partition_id", u16(0), "epoch", u64(7)), record("partition_id", u16(1), "epoch", u64(6))}
	var list1 []param
	for i := range keys {
		list1 = append(list1, record("partition_id", u16(uint64(i%2)), "rank", u8(uint64(i%10)), "id", text(fmt.Sprintf("t%03d", i)), "lock_value", text(fmt.Sprintf("l%d", i))))
	}
	return params{"owned": list(owned...), "keys": list(list1...)}
}

func TestClaimReadsEachTaskOnce(t *testing.T) {
	t.Parallel()
	d := queue(t, 2, 50)
	p := claimParams(40)
	a := d.must(claim, p)
	require.Len(t, a.rows[0], 20, "partition 1 has another epoch")
	require.Equal(t, "0,t000,1", show(a.rows[0][0]))
	require.EqualValues(t, 20, a.read("coordinated_tasks"))
	require.EqualValues(t, 2, a.read("partitions"))
	require.EqualValues(t, 20, a.stats.Tables["/local/coordinated_tasks"].UpdateRows)
	require.Equal(t, "locked,l2,7,1,2026-01-02T03:04:06.000678Z",
		d.must(`SELECT status, lock_value, lock_epoch, attempt, locked_until FROM coordinated_tasks WHERE partition_id = 0 AND rank = 2 AND id = 't002';`, nil).set(0))
	require.Empty(t, d.must(claim, p).rows[0], "all are locked now")
	require.ElementsMatch(t, []string{"Upsert", "Filter", "TableLookupJoin", "InnerJoin (MapJoin)", "Iterator", "Filter", "TableLookupJoin", "Iterator", "Iterator", "Iterator"},
		d.operators(claim, p))
}

const finish = `
$held = SELECT t.partition_id AS partition_id, t.rank AS rank, t.id AS id, t.payload AS payload, t.attempt AS attempt,
		f.outcome AS outcome, f.delay AS delay, f.lock_value AS lock_value
	FROM AS_TABLE($results) AS f
	JOIN coordinated_tasks AS t ON t.partition_id = f.partition_id AND t.rank = f.rank AND t.id = f.id
	WHERE t.lock_value = f.lock_value;
UPSERT INTO completed_tasks SELECT partition_id, id, payload, CurrentUtcTimestamp() AS done_at FROM $held WHERE outcome = 1ut;
UPSERT INTO delayed_tasks SELECT partition_id, Unwrap(CurrentUtcTimestamp() + delay) AS scheduled_at, id, rank, payload, attempt FROM $held WHERE outcome = 2ut;
DELETE FROM coordinated_tasks ON SELECT partition_id, rank, id FROM $held WHERE outcome IN (1ut, 2ut);
SELECT id, lock_value FROM $held;`

func TestFinishIsFencedByLockValue(t *testing.T) {
	t.Parallel()
	d := queue(t, 2, 50)
	d.must(claim, claimParams(40))
	var results []param
	for i := 0; i < 6; i += 2 {
		results = append(results, record("partition_id", u16(0), "rank", u8(uint64(i)), "id", text(fmt.Sprintf("t%03d", i)),
			"lock_value", text(fmt.Sprintf("l%d", i%4)), "outcome", u8(uint64(1+i/2)), "delay", interval(time.Minute)))
	}
	p := params{"results": list(results...)}
	a := d.must(finish, p)
	require.Equal(t, "t000,l0 | t002,l2", a.set(0), "t004 has another lock value")
	require.EqualValues(t, 3, a.read("coordinated_tasks"))
	require.EqualValues(t, 2, a.stats.Tables["/local/coordinated_tasks"].DeleteRows)
	require.Equal(t, "0,t000,2026-01-02T03:04:05.000678Z", d.must(`SELECT partition_id, id, done_at FROM completed_tasks;`, nil).set(0))
	require.Equal(t, "0,2026-01-02T03:05:05.000678Z,t002,1", d.must(`SELECT partition_id, scheduled_at, id, attempt FROM delayed_tasks;`, nil).set(0))
	require.Equal(t, "98", d.must(`SELECT COUNT(*) FROM coordinated_tasks;`, nil).set(0))
}

const enqueue = `
INSERT INTO enqueue_batches (batch_id, created_at) VALUES ($batch, CurrentUtcTimestamp());
$rows = SELECT r.partition_id AS partition_id, r.rank AS rank, r.id AS id, r.payload AS payload,
		COALESCE(r.run_at, CurrentUtcTimestamp() + r.delay, CurrentUtcTimestamp()) AS scheduled_at
	FROM AS_TABLE($records) AS r LEFT ONLY JOIN task_ids AS k ON r.id = k.id;
UPSERT INTO coordinated_tasks SELECT partition_id, rank, id, payload, 'pending' AS status, 0u AS attempt
	FROM $rows WHERE scheduled_at <= CurrentUtcTimestamp();
UPSERT INTO delayed_tasks SELECT partition_id, scheduled_at, id, rank, payload, 0u AS attempt
	FROM $rows WHERE scheduled_at > CurrentUtcTimestamp();
SELECT COUNT(*) AS n FROM $rows;`

func enqueueParams() params {
	rec := func(id string, runAt, delay param) param {
		return record("delay", delay, "id", text(id), "partition_id", u16(3), "payload", param{types.Primitive(types.String), types.TextValue(types.String, "{}")},
			"rank", u8(9), "run_at", runAt)
	}
	return params{"batch": text("b1"), "records": list(
		rec("now", null(types.Timestamp), null(types.Interval)),
		rec("later", null(types.Timestamp), just(interval(time.Hour))),
		rec("at", just(moment(now.Add(time.Second))), null(types.Interval)),
		rec("known", null(types.Timestamp), null(types.Interval)),
	)}
}

func TestEnqueueIsExact(t *testing.T) {
	t.Parallel()
	d := queue(t, 1, 0)
	d.must(`UPSERT INTO task_ids (id) VALUES ('known');`, nil)
	a := d.must(enqueue, enqueueParams())
	require.Equal(t, "3", a.set(0))
	require.Equal(t, "n Uint64", a.header(0))
	require.Equal(t, "now,pending,0", d.must(`SELECT id, status, attempt FROM coordinated_tasks;`, nil).set(0))
	require.Equal(t, "at | later", d.must(`SELECT id FROM delayed_tasks;`, nil).set(0))
	require.EqualValues(t, 1, a.read("task_ids"))
	require.EqualValues(t, 0, a.read("coordinated_tasks")+a.read("delayed_tasks"), "an upsert is blind")
	_, err := d.try(enqueue, enqueueParams())
	require.ErrorContains(t, err, "Conflict with existing key.")
}

const promote = `
$due = SELECT partition_id, scheduled_at, id, rank, payload, attempt FROM delayed_tasks
	WHERE partition_id = $p AND scheduled_at <= CurrentUtcTimestamp() ORDER BY partition_id, scheduled_at, id LIMIT $n;
UPSERT INTO coordinated_tasks
	SELECT partition_id, COALESCE(rank, 255ut) AS rank, id, payload, 'pending' AS status, COALESCE(attempt, 0u) AS attempt FROM $due;
DELETE FROM delayed_tasks ON SELECT partition_id, scheduled_at, id FROM $due;
SELECT COUNT(*) FROM $due;
SELECT MIN(scheduled_at) AS next FROM (SELECT scheduled_at FROM delayed_tasks WHERE partition_id = $p ORDER BY scheduled_at LIMIT 1);
SELECT MIN(scheduled_at) AS next FROM delayed_tasks WHERE partition_id = $p;`

func TestPromoteReadsDueRowsOnly(t *testing.T) {
	t.Parallel()
	d := queue(t, 1, 0)
	var rows []param
	for i := range 500 {
		rows = append(rows, record("partition_id", u16(3), "id", text(fmt.Sprintf("d%03d", i)), "rank", u8(1), "attempt", u32(0),
			"scheduled_at", moment(now.Add(time.Duration(i-10)*time.Minute))))
	}
	d.must(`UPSERT INTO delayed_tasks SELECT * FROM AS_TABLE($r);`, params{"r": list(rows...)})
	a := d.must(promote, params{"p": u16(3), "n": u64(4)})
	require.Equal(t, "4", a.set(0))
	require.Equal(t, "2026-01-02T02:58:05.000678Z", a.set(1))
	require.Equal(t, a.set(1), a.set(2))
	require.EqualValues(t, 4+1+1, a.read("delayed_tasks"))
	require.Equal(t, "4", d.must(`SELECT COUNT(*) FROM coordinated_tasks;`, nil).set(0))
	require.Equal(t, "7", d.must(promote, params{"p": u16(3), "n": u64(100)}).set(0))
}

func BenchmarkCompileClaim(b *testing.B) {
	d := queue(b, 2, 0)
	p := claimParams(40)
	for b.Loop() {
		d.cache = planCache()
		_, _, err := d.compile(claim, p)
		require.NoError(b, err)
	}
}

func BenchmarkRunClaim(b *testing.B) {
	d := queue(b, 2, 200)
	p := claimParams(200)
	for b.Loop() {
		tx := d.store.Begin(0)
		_, err := d.in(tx, claim, p)
		require.NoError(b, err)
		tx.Rollback()
	}
}

func BenchmarkCandidates(b *testing.B) {
	d := queue(b, 2, 500)
	q := `SELECT partition_id, rank, id FROM coordinated_tasks WHERE partition_id = $p AND (rank > $r OR (rank = $r AND id > $i))
		AND (status = 'pending' OR lock_epoch < $e) ORDER BY partition_id, rank, id LIMIT $k;`
	p := params{"p": u16(1), "r": u8(3), "i": text("t1"), "e": u64(7), "k": u64(100)}
	for b.Loop() {
		tx := d.store.Begin(1)
		_, err := d.in(tx, q, p)
		require.NoError(b, err)
		tx.Rollback()
	}
}
