package exec_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"pgregory.net/rapid"

	"github.com/taskfleet/taskfleet/internal/ydbembed/exec"
	"github.com/taskfleet/taskfleet/internal/ydbembed/issue"
	"github.com/taskfleet/taskfleet/internal/ydbembed/store"
)

var leaves = []string{
	"1", "-1", "0", "NULL", "true", "2.5", "'a'", "'1'", "'x'u", "3ul", "200ut", "$u8", "$u16", "$u64", "$i64", "$opt", "$none", "$text", "$otext",
	"$ts", "$iv", "Interval('P1D')", "Date('2024-01-02')", "CurrentUtcDatetime()", "$ids", "$oids", "(1, 2)", "<|a: $opt|>", "(SELECT 1)", "(SELECT $opt)",
}

// shapes are expressions with holes.
var shapes = []string{
	"(_ + _)", "(_ - _)", "(_ * _)", "(_ / _)", "(_ % _)", "(_ = _)", "(_ != _)", "(_ < _)", "(_ >= _)", "(_ AND _)", "(_ OR _)", "(NOT _)", "(-_)",
	"(_ || _)", "(_ ?? _)", "COALESCE(_, _, _)", "IF(_, _, _)", "IF(_, _)", "(CASE WHEN _ THEN _ ELSE _ END)", "(CASE _ WHEN _ THEN _ END)",
	"(_ IN (_, _))", "(_ NOT IN _)", "(_ BETWEEN _ AND _)", "(_ IS NULL)", "(_ IS NOT DISTINCT FROM _)", "(_ LIKE _)", "(_, _)", "AsList(_, _)",
	"CAST(_ AS Uint8)", "CAST(_ AS Int64?)", "CAST(_ AS Utf8)", "CAST(_ AS String)", "CAST(_ AS Timestamp)", "CAST(_ AS Date)", "CAST(_ AS Interval)",
	"CAST(_ AS Double)", "CAST(_ AS Bool)", "Just(_)", "Unwrap(_)", "Ensure(_, _)", "Length(_)", "SubString(_, _, _)", "MAX_OF(_, _)", "MIN_OF(_, _)",
	"Abs(_)", "ListLength(_)", "ListHas(_, _)", "DateTime::ToSeconds(_)", "DateTime::FromMilliseconds(_)", "DateTime::IntervalFromMilliseconds(_)",
	"DateTime::MakeDate(_)", "_.a", "StartsWith(_, _)", "(_ XOR _)",
}

func drawExpression(t *rapid.T, depth int) string {
	if depth == 0 || rapid.IntRange(0, 4).Draw(t, "leaf") == 0 {
		return rapid.SampledFrom(leaves).Draw(t, "leaf")
	}
	shape := rapid.SampledFrom(shapes).Draw(t, "shape")
	var b strings.Builder
	for i, part := range strings.Split(shape, "_") {
		if i > 0 && !(strings.HasSuffix(b.String(), "MAX") || strings.HasSuffix(b.String(), "MIN")) {
			b.WriteString(drawExpression(t, depth-1))
		} else if i > 0 {
			b.WriteByte('_')
		}
		b.WriteString(part)
	}
	return b.String()
}

// An expression that compiles gives values of the type that it was given, as a
// result, as a key of GROUP BY, ORDER BY and UNION ALL, or fails cleanly.
func TestExpressionsKeepTheirTypes(t *testing.T) {
	t.Parallel()
	d := open(t)
	compiled := 0
	rapid.Check(t, func(rt *rapid.T) {
		for range 20 {
			e := drawExpression(rt, 3)
			form := rapid.SampledFrom([]string{
				"SELECT %[1]s AS x;", "SELECT x, COUNT(*), MAX(x), MIN(x) FROM (SELECT %[1]s AS x) GROUP BY x ORDER BY x;",
				"SELECT %[1]s AS x UNION ALL SELECT %[1]s AS x UNION ALL SELECT 1 AS y;", "$x = %[1]s; SELECT $x AS a, [$x] AS b WHERE $x IS NOT NULL;",
				"SELECT SUM(x), AVG(x) FROM (SELECT %[1]s AS x);",
			}).Draw(rt, "form")
			q, values, err := d.compile(fmt.Sprintf(form, e), typed)
			if err != nil {
				require.NotEqual(rt, Ydb.StatusIds_INTERNAL_ERROR, issue.From(err).Status, "%s: %v", e, err)
				continue
			}
			compiled++
			tx := d.store.Begin(store.SnapshotReadOnly)
			err = exec.Run(context.Background(), q, values, exec.NewTx(tx, pool()), now, &answer{}, nil)
			tx.Rollback()
			if err != nil {
				require.Equal(rt, Ydb.StatusIds_PRECONDITION_FAILED, issue.From(err).Status, "%s: %v", fmt.Sprintf(form, e), err)
			}
		}
	})
	require.Greater(t, compiled, 100)
}
