package exec_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

const events = `CREATE TABLE events (p Uint16 NOT NULL, r Uint8 NOT NULL, id Utf8 NOT NULL, v Uint64, PRIMARY KEY (p, r, id));`

// How tables are read, by what EXPLAIN says and by the rows that were read. The
// table has 4 partitions of 5 ranks of 10 rows.
var paths = []struct {
	where string // the text after FROM events
	ops   []string
	reads uint64
	rows  int
}{
	{"", []string{"TableFullScan"}, 200, 200},
	{"LIMIT 3", []string{"Limit", "TableFullScan limited"}, 3, 3},
	{"WHERE v = 1", []string{"Filter", "TableFullScan"}, 200, 4},
	{"WHERE p = 1", []string{"TableRangeScan"}, 50, 50},
	{"WHERE 1 = p", []string{"TableRangeScan"}, 50, 50},
	{"WHERE p = 1 AND r = 2", []string{"TableRangeScan"}, 10, 10},
	{"WHERE p = 1 AND r = 2 AND id = 'e3'", []string{"TablePointLookup"}, 1, 1},
	{"WHERE (p, r, id) = (1, 2, 'e3')", []string{"TablePointLookup"}, 1, 1},
	{"WHERE p = 1 AND r = 2 AND id IN ('e3', 'e4', 'no', 'e3')", []string{"TablePointLookup"}, 2, 2},
	{"WHERE (p, r, id) IN ((1, 2, 'e3'), (2, 2, 'e3'), (9, 9, 'x'))", []string{"TablePointLookup"}, 2, 2},
	{"WHERE p IN (1, 3) AND r = 2 AND id > 'e7'", []string{"TableRangeScan"}, 4, 4},
	{"WHERE p IN $ps AND r BETWEEN 1 AND 2", []string{"TableRangeScan"}, 40, 40},
	{"WHERE p IN (SELECT 2us) AND r < 1", []string{"TableRangeScan"}, 10, 10},
	{"WHERE p > 2", []string{"TableRangeScan"}, 50, 50},
	{"WHERE p >= 2 AND p < 3", []string{"TableRangeScan"}, 50, 50},
	{"WHERE p = 1 AND r >= 3 AND v = 33", []string{"Filter", "TableRangeScan"}, 20, 1},
	{"WHERE p = 1 AND (r, id) > (3, 'e7')", []string{"TableRangeScan"}, 12, 12},
	{"WHERE (p, r, id) > (3, 4, 'e7')", []string{"TableRangeScan"}, 2, 2},
	{"WHERE p = 3 AND (p, r, id) > (3, 4, 'e7')", []string{"TableRangeScan"}, 2, 2},
	{"WHERE p = 1 AND (r > 3 OR (r = 3 AND id > 'e7'))", []string{"TableRangeScan"}, 12, 12},
	{"WHERE p > 3 OR (p = 3 AND (r > 4 OR (r = 4 AND id >= 'e7')))", []string{"TableRangeScan"}, 3, 3},
	{"WHERE p > 3 OR p = 3 AND r > 4 OR p = 3 AND r = 4 AND id >= 'e7'", []string{"TableRangeScan"}, 3, 3},
	{"WHERE p = 1 AND (r < 1 OR (r = 1 AND id <= 'e1'))", []string{"TableRangeScan"}, 12, 12},
	{"WHERE p = 1 OR r = 2", []string{"Filter", "TableFullScan"}, 200, 80},
	{"WHERE p = 1 AND r > 300", []string{"TableRangeScan"}, 0, 0},
	{"WHERE p = -1", []string{"TableRangeScan"}, 0, 0},
	{"WHERE p = 1 AND r > NULL", []string{"TableRangeScan"}, 0, 0},
	{"WHERE p > 1 AND p < 1", []string{"TableRangeScan"}, 0, 0},

	{"WHERE p = 1 ORDER BY p, r, id LIMIT 2", []string{"Limit", "TableRangeScan limited"}, 2, 2},
	{"WHERE p = 1 ORDER BY r, id LIMIT 2", []string{"Limit", "TableRangeScan limited"}, 2, 2},
	{"WHERE p = 1 AND r = 2 ORDER BY id LIMIT 2", []string{"Limit", "TableRangeScan limited"}, 2, 2},
	{"WHERE p = 1 ORDER BY r DESC, id DESC LIMIT 2", []string{"Limit", "TableRangeScan limited reverse"}, 2, 2},
	{"WHERE p = 1 ORDER BY p, r DESC LIMIT 2", []string{"Limit", "TableRangeScan limited reverse"}, 2, 2},
	{"WHERE p = 1 ORDER BY r DESC, id LIMIT 2", []string{"Limit", "TopSort", "TableRangeScan"}, 50, 2},
	{"WHERE p = 1 ORDER BY id LIMIT 2", []string{"Limit", "TopSort", "TableRangeScan"}, 50, 2},
	{"WHERE p = 1 ORDER BY id", []string{"Sort", "TableRangeScan"}, 50, 50},
	{"WHERE p IN (1, 2) ORDER BY p, r, id LIMIT 60", []string{"Limit", "TableRangeScan limited"}, 60, 60},
	{"WHERE p IN (1, 2) ORDER BY r LIMIT 2", []string{"Limit", "TopSort", "TableRangeScan"}, 100, 2},
	{"WHERE p = 1 AND v = 3 ORDER BY r LIMIT 1", []string{"Limit", "Filter", "TableRangeScan"}, 4, 1},
	{"WHERE p = 1 ORDER BY r, id LIMIT 2 OFFSET 3", []string{"Limit", "TableRangeScan limited"}, 5, 2},
	{"ORDER BY p DESC, r DESC, id DESC LIMIT 1", []string{"Limit", "TableFullScan limited reverse"}, 1, 1},
}

func TestAccessPaths(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.must(events, nil)
	var rows []param
	for i := range 200 {
		rows = append(rows, record("id", text(fmt.Sprintf("e%d", i%10)), "p", u16(uint64(i/50)), "r", u8(uint64(i/10%5)), "v", u64(uint64(i%50))))
	}
	d.must(`UPSERT INTO events SELECT * FROM AS_TABLE($rows);`, params{"rows": list(rows...)})
	p := params{"ps": list(u16(3), u16(1))}
	for _, c := range paths {
		t.Run(c.where, func(t *testing.T) {
			query := "SELECT p, r, id FROM events " + c.where + ";"
			require.Equal(t, c.ops, d.operators(query, p))
			a := d.must(query, p)
			require.Len(t, a.rows[0], c.rows)
			require.Equal(t, c.reads, a.read("events"))
		})
	}
}

// Joins read the keys that they need, each once.
func TestJoinPaths(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.must(events, nil)
	d.must(`UPSERT INTO events (p, r, id, v) VALUES (1, 1, 'a', 1), (1, 1, 'b', 2), (1, 2, 'a', 3), (2, 1, 'a', 4);`, nil)
	keys := params{"k": list(
		record("id", text("a"), "p", u16(1), "r", u8(1)), record("id", text("a"), "p", u16(1), "r", u8(1)),
		record("id", text("z"), "p", u16(1), "r", u8(2)), record("id", text("a"), "p", u16(2), "r", u8(1)),
	)}
	full := "e.p = k.p AND e.r = k.r AND e.id = k.id"
	for _, c := range []struct {
		query string
		want  string
		reads uint64
		op    string
	}{
		{"SELECT e.v AS v FROM AS_TABLE($k) AS k JOIN events AS e ON " + full, "1 | 1 | 4", 2, "TableLookupJoin"},
		{"SELECT e.v AS v FROM events AS e JOIN AS_TABLE($k) AS k ON " + full, "1 | 1 | 4", 2, "TableLookupJoin"},
		{"SELECT e.v AS v FROM events AS e LEFT SEMI JOIN AS_TABLE($k) AS k ON " + full, "1 | 4", 2, "TableLookupJoin"},
		{"SELECT e.v AS v FROM AS_TABLE($k) AS k LEFT JOIN events AS e ON " + full, "1 | 1 | null | 4", 2, "TableLookupJoin"},
		{"SELECT k.id AS id FROM AS_TABLE($k) AS k LEFT ONLY JOIN events AS e ON " + full, "z", 2, "TableLookupJoin"},
		{"SELECT k.id AS id FROM AS_TABLE($k) AS k LEFT SEMI JOIN events AS e ON " + full, "a | a | a", 2, "TableLookupJoin"},
		{"SELECT e.v AS v FROM AS_TABLE($k) AS k JOIN events AS e ON e.p = k.p AND e.id = k.id", "1 | 3 | 1 | 3 | 4", 4, "TableLookupJoin"},
		{"SELECT e.v AS v FROM AS_TABLE($k) AS k JOIN events AS e ON e.r = k.r WHERE e.p = 2", "4 | 4 | 4", 1, "TableLookupJoin"},
		{"SELECT e.v AS v FROM (SELECT 1us AS p) AS k JOIN events AS e ON e.p = k.p WHERE e.v > 1", "2 | 3", 3, "TableLookupJoin"},
		{"SELECT e.v AS v FROM AS_TABLE($k) AS k JOIN events AS e ON e.id = k.id WHERE e.p = 2", "4 | 4 | 4", 1, "TableRangeScan"},
		{"SELECT e.v AS v FROM AS_TABLE($k) AS k LEFT JOIN events AS e ON e.id = k.id AND e.r = k.r WHERE e.p = 2", "4 | 4 | 4", 4, "TableFullScan"},
		{"SELECT e.v AS v FROM events AS e LEFT ONLY JOIN AS_TABLE($k) AS k ON " + full + " WHERE e.p = 1", "2 | 3", 3, "TableRangeScan"},
	} {
		a := d.must(c.query+";", keys)
		require.Equal(t, c.want, a.set(0), c.query)
		require.Equal(t, c.reads, a.read("events"), c.query)
		require.Contains(t, d.operators(c.query+";", keys), c.op, c.query)
	}
}

// A named select that several statements use is read once, before the first write.
func TestNamedSelectIsReadOnce(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.must(events+`CREATE TABLE other (id Utf8 NOT NULL, PRIMARY KEY (id));`, nil)
	d.must(`UPSERT INTO events (p, r, id, v) VALUES (1, 1, 'a', 1), (1, 1, 'b', 2);`, nil)
	a := d.must(`$x = SELECT p, r, id FROM events WHERE p = 1;
		$n = (SELECT COUNT(*) FROM $x);
		UPSERT INTO other SELECT id FROM $x;
		DELETE FROM events ON SELECT p, r, id FROM $x;
		SELECT COUNT(*), $n FROM $x;
		SELECT COUNT(*) FROM events WHERE p = 1;`, nil)
	require.Equal(t, "2,2", a.set(0))
	require.Equal(t, "0", a.set(1))
	require.EqualValues(t, 2, a.read("events"))
	require.Equal(t, []string{"/local/events", "/local/other"}, a.stats.Order)
}
