package exec_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/taskfleet/taskfleet/internal/ydbembed/store"
	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
)

// The model: rows in memory, conditions as functions, three-valued logic by
// hand. Whatever access path the planner chooses must give the same rows.

type truth int8

const (
	no truth = iota
	unknown
	yes
)

// condition is a WHERE term as text and as the model computes it.
type condition struct {
	text string
	eval func(row []types.Value) truth
}

var gridColumns = []string{"a", "b", "c", "v"}

const grid = `CREATE TABLE grid (a Uint8 NOT NULL, b Int32, c Utf8 NOT NULL, v Int64, PRIMARY KEY (a, b, c));`

// operand is a constant for a column: its text and value.
func operand(t *rapid.T, column int) (string, types.Value) {
	switch column {
	case 0: // beyond the range of Uint8 now and then
		n := rapid.Int64Range(-1, 5).Draw(t, "a")
		if n == 5 {
			n = 300
		}
		return fmt.Sprintf("(%d)", n), types.IntValue(types.Int64, n)
	case 2:
		s := rapid.SampledFrom([]string{"", "a", "b", "ba", "c"}).Draw(t, "c")
		return fmt.Sprintf("%q", s), types.TextValue(types.Utf8, s)
	}
	n := rapid.Int64Range(-2, 3).Draw(t, "n")
	if rapid.IntRange(0, 9).Draw(t, "null") == 0 {
		return "NULL", types.NullValue
	}
	return fmt.Sprintf("(%d)", n), types.IntValue(types.Int64, n)
}

func truthOf(b bool) truth {
	if b {
		return yes
	}
	return no
}

func compareModel(op string, x, y types.Value) truth {
	if x.IsNull() || y.IsNull() {
		return unknown
	}
	c := types.Compare(x, y)
	switch op {
	case "=":
		return truthOf(c == 0)
	case "!=":
		return truthOf(c != 0)
	case "<":
		return truthOf(c < 0)
	case "<=":
		return truthOf(c <= 0)
	case ">":
		return truthOf(c > 0)
	}
	return truthOf(c >= 0)
}

func and(x, y truth) truth { return min(x, y) }
func or(x, y truth) truth  { return max(x, y) }

func drawCondition(t *rapid.T, depth int) condition {
	column := rapid.IntRange(0, 3).Draw(t, "column")
	name := gridColumns[column]
	kind := rapid.IntRange(0, 8).Draw(t, "kind")
	if depth == 0 {
		kind = min(kind, 5)
	}
	switch kind {
	case 0:
		not := rapid.Bool().Draw(t, "not")
		text := name + " IS NULL"
		if not {
			text = name + " IS NOT NULL"
		}
		return condition{text, func(row []types.Value) truth { return truthOf(row[column].IsNull() != not) }}
	case 1:
		var texts []string
		var values []types.Value
		for range rapid.IntRange(1, 3).Draw(t, "items") {
			s, v := operand(t, column)
			texts, values = append(texts, s), append(values, v)
		}
		return condition{name + " IN (" + strings.Join(texts, ", ") + ")", func(row []types.Value) truth {
			out := no
			for _, v := range values {
				out = or(out, compareModel("=", row[column], v))
			}
			return out
		}}
	case 2:
		lo, lv := operand(t, column)
		hi, hv := operand(t, column)
		return condition{name + " BETWEEN " + lo + " AND " + hi, func(row []types.Value) truth {
			return and(compareModel(">=", row[column], lv), compareModel("<=", row[column], hv))
		}}
	case 6:
		return drawTuple(t)
	case 7:
		x, y := drawCondition(t, depth-1), drawCondition(t, depth-1)
		return condition{"(" + x.text + " OR " + y.text + ")", func(row []types.Value) truth { return or(x.eval(row), y.eval(row)) }}
	case 8:
		x := drawCondition(t, depth-1)
		return condition{"NOT (" + x.text + ")", func(row []types.Value) truth { return yes - x.eval(row) }}
	}
	op := rapid.SampledFrom([]string{"=", "=", "!=", "<", "<=", ">", ">="}).Draw(t, "op")
	s, v := operand(t, column)
	if rapid.Bool().Draw(t, "mirrored") {
		return condition{s + " " + op + " " + name, func(row []types.Value) truth { return compareModel(op, v, row[column]) }}
	}
	return condition{name + " " + op + " " + s, func(row []types.Value) truth { return compareModel(op, row[column], v) }}
}

// drawTuple makes a tuple comparison of key columns, as a tuple or written out.
func drawTuple(t *rapid.T) condition {
	start := rapid.IntRange(0, 1).Draw(t, "start")
	n := rapid.IntRange(2, 3-start).Draw(t, "width")
	op := rapid.SampledFrom([]string{"<", "<=", ">", ">="}).Draw(t, "op")
	var names, texts []string
	var values []types.Value
	for i := range n {
		s, v := operand(t, start+i)
		names, texts, values = append(names, gridColumns[start+i]), append(texts, s), append(values, v)
	}
	text := fmt.Sprintf("(%s) %s (%s)", strings.Join(names, ", "), op, strings.Join(texts, ", "))
	if rapid.Bool().Draw(t, "written out") {
		text = names[n-1] + " " + op + " " + texts[n-1]
		for i := n - 2; i >= 0; i-- {
			text = fmt.Sprintf("(%[1]s %[2]s %[3]s OR (%[1]s = %[3]s AND %[4]s))", names[i], op[:1], texts[i], text)
		}
	}
	return condition{text, func(row []types.Value) truth {
		out := compareModel(op, row[start+n-1], values[n-1])
		for i := n - 2; i >= 0; i-- {
			out = or(compareModel(op[:1], row[start+i], values[i]), and(compareModel("=", row[start+i], values[i]), out))
		}
		return out
	}}
}

func drawRows(t *rapid.T) [][]types.Value {
	seen := map[string]bool{}
	var rows [][]types.Value
	for range rapid.IntRange(0, 40).Draw(t, "rows") {
		b := types.IntValue(types.Int32, rapid.Int64Range(-2, 3).Draw(t, "b"))
		if rapid.IntRange(0, 4).Draw(t, "null") == 0 {
			b = types.NullValue
		}
		row := []types.Value{
			types.UintValue(types.Uint8, rapid.Uint64Range(0, 4).Draw(t, "a")), b,
			types.TextValue(types.Utf8, rapid.SampledFrom([]string{"", "a", "b", "ba", "c"}).Draw(t, "c")),
			types.IntValue(types.Int64, rapid.Int64Range(-2, 3).Draw(t, "v")),
		}
		if key := show(row[:3]); !seen[key] {
			seen[key] = true
			rows = append(rows, row)
		}
	}
	return rows
}

func TestEveryAccessPathGivesTheSameRows(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.must(grid, nil)
	table, _ := d.store.Catalog().Table("/local/grid")
	rapid.Check(t, func(rt *rapid.T) {
		tx := d.store.Begin(store.Serializable)
		defer tx.Rollback()
		rows := drawRows(rt)
		for _, row := range rows {
			tx.Put(table, row, &store.Access{})
		}
		var conds []condition
		for range rapid.IntRange(0, 4).Draw(rt, "terms") {
			conds = append(conds, drawCondition(rt, 2))
		}
		where := ""
		for i, c := range conds {
			where += []string{" WHERE ", " AND "}[min(i, 1)] + c.text
		}
		var want [][]types.Value
		for _, row := range rows {
			ok := yes
			for _, c := range conds {
				ok = and(ok, c.eval(row))
			}
			if ok == yes {
				want = append(want, row)
			}
		}
		order, less := drawOrder(rt)
		slices.SortFunc(want, less)
		text := "SELECT a, b, c, v FROM grid" + where + order
		if rapid.Bool().Draw(rt, "limited") {
			limit := rapid.IntRange(0, 5).Draw(rt, "limit")
			offset := rapid.IntRange(0, 3).Draw(rt, "offset")
			text += fmt.Sprintf(" LIMIT %d OFFSET %d", limit, offset)
			want = want[min(offset, len(want)):]
			want = want[:min(limit, len(want))]
		}
		a, err := d.in(tx, text+";", nil)
		require.NoError(rt, err, text)
		require.Equal(rt, showAll(want), a.set(0), text)

		if !strings.Contains(text, "LIMIT") {
			a, err = d.in(tx, "SELECT MIN(b), MAX(b), COUNT(*) FROM grid"+where+"; DELETE FROM grid"+where+"; SELECT COUNT(*) FROM grid;", nil)
			require.NoError(rt, err, text)
			lo, hi := extremes(want, 1)
			require.Equal(rt, fmt.Sprintf("%s,%s,%d", lo, hi, len(want)), a.set(0), text)
			require.Equal(rt, fmt.Sprint(len(rows)-len(want)), a.set(1), text)
		}
	})
}

// drawOrder makes an ORDER BY of all key columns, so that there are no ties.
func drawOrder(t *rapid.T) (string, func(a, b []types.Value) int) {
	columns := rapid.Permutation([]int{0, 1, 2}).Draw(t, "order")
	if rapid.Bool().Draw(t, "key order") {
		columns = []int{0, 1, 2}
	}
	same := rapid.IntRange(0, 2).Draw(t, "direction")
	var parts []string
	desc := make([]bool, 3)
	for i, c := range columns {
		desc[i] = same == 1 || same == 2 && rapid.Bool().Draw(t, "desc")
		part := gridColumns[c]
		if desc[i] {
			part += " DESC"
		}
		parts = append(parts, part)
	}
	return " ORDER BY " + strings.Join(parts, ", "), func(a, b []types.Value) int {
		for i, c := range columns {
			if r := types.Compare(a[c], b[c]); r != 0 {
				if desc[i] {
					return -r
				}
				return r
			}
		}
		return 0
	}
}

func showAll(rows [][]types.Value) string {
	var out []string
	for _, row := range rows {
		out = append(out, show(row))
	}
	return strings.Join(out, " | ")
}

func extremes(rows [][]types.Value, column int) (lo, hi string) {
	var known []types.Value
	for _, row := range rows {
		if !row[column].IsNull() {
			known = append(known, row[column])
		}
	}
	if len(known) == 0 {
		return "null", "null"
	}
	return slices.MinFunc(known, types.Compare).String(), slices.MaxFunc(known, types.Compare).String()
}
