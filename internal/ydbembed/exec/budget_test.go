package exec_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"

	"github.com/taskfleet/taskfleet/internal/ydbembed/exec"
	"github.com/taskfleet/taskfleet/internal/ydbembed/issue"
	"github.com/taskfleet/taskfleet/internal/ydbembed/limits"
	"github.com/taskfleet/taskfleet/internal/ydbembed/store"
	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
)

// discard is a sink that counts what it is given.
type discard struct{ rows int }

func (d *discard) Columns(int, []exec.Column) error { return nil }
func (d *discard) Row(int, []types.Value) error     { d.rows++; return nil }

// doubled is a text of selects, each of which is the one before twice.
func doubled(n int, last string) string {
	var b strings.Builder
	b.WriteString("$a0 = (SELECT 1 AS x UNION ALL SELECT 2 AS x);\n")
	for i := range n {
		fmt.Fprintf(&b, "$a%d = (SELECT * FROM $a%d UNION ALL SELECT * FROM $a%d);\n", i+1, i, i)
	}
	return b.String() + fmt.Sprintf(last, n)
}

// repeated joins n copies of a text that holds its number.
func repeated(n int, format, sep string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = strings.ReplaceAll(format, "#", fmt.Sprint(i))
	}
	return strings.Join(parts, sep)
}

// crowded is a FROM that makes a million rows of a list of a hundred.
const crowded = ` FROM AS_TABLE($l) AS a CROSS JOIN (SELECT x AS y FROM AS_TABLE($l)) AS b CROSS JOIN (SELECT x AS z FROM AS_TABLE($l)) AS c`

// greedy are texts and what they must be refused with. They would take
// gigabytes, or more than there is, of any machine.
var greedy = []struct {
	name, text, err string
}{
	{"selects that double", doubled(34, "SELECT * FROM $a%d;"), "memory limit"},
	{"selects that double, counted", doubled(34, "SELECT COUNT(*) FROM $a%d;"), "memory limit"},
	{"sort", "SELECT x" + crowded + " ORDER BY x + y;", "memory limit"},
	{"sort with a large limit", "SELECT x" + crowded + " ORDER BY x + y LIMIT 1000000;", "memory limit"},
	{"groups", "SELECT k, COUNT(*) AS n" + crowded + " GROUP BY x + y * 100 + z * 10000 AS k;", "memory limit"},
	{"distinct rows", "SELECT DISTINCT x + y * 100 + z * 10000 AS k" + crowded + ";", "memory limit"},
	{"union", "SELECT x + y * 100 + z * 10000 AS k" + crowded + " UNION SELECT 1ul AS k;", "memory limit"},
	{"distinct aggregate", "SELECT COUNT(DISTINCT x + y * 100 + z * 10000) AS n" + crowded + ";", "memory limit"},
	{"list aggregate", "SELECT AGGREGATE_LIST(x) AS n" + crowded + ";", "memory limit"},
	{"largest texts of groups", "SELECT k, MAX($s || CAST(x AS Utf8)) AS m" + crowded + " GROUP BY z AS k;", "memory limit"},
	{"right side of a join", "SELECT a.x FROM AS_TABLE($l) AS a JOIN (SELECT x AS k" + crowded + ") AS b ON a.x = b.k;", "memory limit"},
	{"right side of all pairs", "SELECT a.x FROM AS_TABLE($l) AS a CROSS JOIN (SELECT x AS k" + crowded + ") AS b;", "memory limit"},
	{"set of a select", "SELECT x FROM AS_TABLE($l) WHERE x IN (SELECT x + y * 100 + z * 10000 AS k" + crowded + ");", "memory limit"},
	{"keys of a select", "SELECT v FROM t WHERE k IN (SELECT x + y * 100 + z * 10000 AS k" + crowded + ");", "memory limit"},
	{"rows to write", "UPSERT INTO t (k, v) SELECT x + y * 100 + z * 10000 AS k, 'v'u AS v" + crowded + ";", "memory limit"},
	{"keys to delete", "DELETE FROM t ON SELECT x + y * 100 + z * 10000 AS k" + crowded + ";", "memory limit"},
	{"rows to change", "UPDATE t SET v = $s;", "memory limit"},
	{"rows of a lookup", "SELECT COUNT(*) AS n FROM AS_TABLE($l) AS a JOIN t AS b ON b.k = a.x WHERE b.v != '';", "memory limit"},
	{"text that doubles", "$a = $s;" + strings.Repeat("$a = $a || $a;", 60) + "SELECT LENGTH($a);", "memory limit"},
	{"texts in a tuple", "SELECT AsTuple(" + repeated(100, "$s || '#'", ",") + ");", "memory limit"},
	{"texts beside selects", "SELECT AsTuple(" + repeated(100, "$s || '#', (SELECT # AS x)", ",") + ");", "memory limit"},
	{"texts with names", repeated(100, "$a# = $s || '#';", "") + "SELECT " + repeated(100, "LENGTH($a#)", "+") + ";", "memory limit"},
	{"texts of selects", "SELECT " + repeated(100, "LENGTH((SELECT $s || '#' AS x))", "+") + ";", "memory limit"},
	{"texts that are sorted", "SELECT x FROM AS_TABLE($l) ORDER BY $s || CAST(x AS Utf8);", "memory limit"},
	{"items that double", "$a = (1, 2);" + strings.Repeat("$a = [$a, $a];", 60) + "SELECT ListLength($a);", "memory limit"},
	{"types that double", "$a = (1, 2);" + strings.Repeat("$a = ($a, $a);", 60) + "SELECT $a;", "parts"},
	{"large types in many columns", "$a = (1, 2);" + strings.Repeat("$a = ($a, $a);", 11) + "SELECT " + repeated(300, "$a AS c#", ",") + ";", "Too many nodes"},
	{"wide tables side by side", "SELECT 1 FROM w AS a" + repeated(450, " CROSS JOIN w AS a#", "") + ";", "Too many nodes"},
	{"wide tables one after another", repeated(380, "SELECT * FROM w", " UNION ALL ") + ";", "Too many nodes"},
	{"wide tables in statements", repeated(500, "SELECT * FROM w", ";"), "Too many nodes"},
}

// greedyParams are what the texts use: a list of a hundred numbers and a text of
// 200 KB.
func greedyParams() params {
	items := make([]param, 100)
	for i := range items {
		items[i] = record("x", u64(uint64(i)))
	}
	return params{"l": list(items...), "s": text(strings.Repeat("s", 200_000))}
}

// Whatever a text asks for, what is allocated for it stays in proportion to its
// budget, and the next query runs.
func TestGreedyQueriesEndAtTheirBudget(t *testing.T) {
	const budget = 8 << 20
	d := open(t)
	d.must("CREATE TABLE t (k Uint64 NOT NULL, v Utf8, PRIMARY KEY (k));", nil)
	d.must("CREATE TABLE w (k Uint64 NOT NULL, "+repeated(500, "c# Int8", ", ")+", PRIMARY KEY (k));", nil)
	p := greedyParams()
	d.must("UPSERT INTO t (k, v) SELECT x AS k, $s AS v FROM AS_TABLE($l);", p)
	shared := limits.NewPool(budget, 4*budget)
	for _, c := range greedy {
		t.Run(c.name, func(t *testing.T) {
			require.Less(t, len(c.text), limits.Text)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			st, err := d.greedy(c.text, p, shared)
			runtime.ReadMemStats(&after)
			require.ErrorContains(t, err, c.err)
			require.Contains(t, []Ydb.StatusIds_StatusCode{Ydb.StatusIds_PRECONDITION_FAILED, Ydb.StatusIds_GENERIC_ERROR}, issue.From(err).Status)
			require.Less(t, st.PeakMemory, int64(2*budget))
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(16*budget))
			require.Zero(t, shared.Used(), "what it held was given back")
			require.Equal(t, "1", d.must("SELECT 1;", nil).set(0))
		})
	}
}

// greedy runs a text with a budget, without keeping its rows.
func (d *db) greedy(text string, p params, pool *limits.Pool) (exec.Stats, error) {
	var st exec.Stats
	q, values, err := d.compile(text, p)
	if err != nil {
		return st, err
	}
	tx := exec.NewTx(d.store.Begin(store.Serializable), pool)
	defer tx.Rollback()
	return st, exec.Run(context.Background(), q, values, tx, now, &discard{}, &st)
}

// Rows that only pass through are not held: what is read and sent may be many
// times the budget.
func TestRowsThatPassThroughCostNothing(t *testing.T) {
	t.Parallel()
	d := open(t)
	for _, text := range []string{
		"SELECT x" + crowded + " WHERE CAST(x AS Utf8) || 'x' != 'y' LIMIT 100000;",
		"SELECT COUNT(*) AS n, MAX($s || CAST(x AS Utf8)) AS m FROM AS_TABLE($l);",
		"SELECT x FROM (SELECT x, z" + crowded + " LIMIT 100000) ORDER BY z DESC, x LIMIT 10;",
		repeated(60, "SELECT x, y FROM AS_TABLE($l) AS a CROSS JOIN (SELECT x AS y FROM AS_TABLE($l)) AS b ORDER BY x, y;", ""),
	} {
		_, err := d.greedy(text, greedyParams(), limits.NewPool(8<<20, 8<<20))
		require.NoError(t, err, text)
	}
}

// A query that finds the memory of the server taken is refused for now, and
// small ones run.
func TestQueriesShareTheMemoryOfTheServer(t *testing.T) {
	t.Parallel()
	d := open(t)
	shared := limits.NewPool(64<<20, 16<<20)
	other := limits.NewBudget(shared)
	require.NoError(t, other.Hold(15<<20))
	large := "SELECT x FROM AS_TABLE($l) ORDER BY $s || CAST(x AS Utf8);"
	_, err := d.greedy(large, greedyParams(), shared)
	require.Equal(t, Ydb.StatusIds_OVERLOADED, issue.From(err).Status, "%v", err)
	_, err = d.greedy("SELECT x FROM AS_TABLE($l) ORDER BY x;", greedyParams(), shared)
	require.NoError(t, err)
	other.Close()
	shared = limits.NewPool(64<<20, 32<<20)
	_, err = d.greedy(large, greedyParams(), shared)
	require.NoError(t, err)
	require.Zero(t, shared.Used())
}
