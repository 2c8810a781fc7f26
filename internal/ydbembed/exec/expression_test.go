package exec_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
)

var typed = params{
	"u8": u8(200), "u16": u16(7), "u32": u32(7), "u64": u64(1 << 63), "i64": i64(-5),
	"opt": just(u32(3)), "none": {null32.t, null32.v}, "text": text("añb"), "ts": moment(now), "iv": interval(90 * time.Second),
	"otext": just(text("x")), "ids": list(u64(1), u64(2)), "oids": list(just(u64(1)), param{just(u64(0)).t, null32.v}),
}

var null32 = null(types.Uint32)

// Each expression with its type and value, or a part of its error.
var expressions = []struct{ expr, typ, value, err string }{
	// numbers
	{"1 + 2", "Int32", "3", ""},
	{"7 / 2", "Int32?", "3", ""},
	{"7 / 0", "Int32?", "null", ""},
	{"-7 % 3", "Int32?", "-1", ""},
	{"$u8 + $u8", "Uint8", "144", ""},
	{"$u8 + 100", "Int32", "300", ""},
	{"$u8 + $u16", "Uint16", "207", ""},
	{"$i64 + $u64", "Uint64", "9223372036854775803", ""},
	{"$i64 < $u64", "Bool", "true", ""},
	{"$opt + 1u", "Uint32?", "4", ""},
	{"$none + 1u", "Uint32?", "null", ""},
	{"1.5 * 2", "Double", "3", ""},
	{"2147483647 + 1", "Int32", "-2147483648", ""},
	{"3000000000", "Int64", "3000000000", ""},
	{"-$i64", "Int64", "5", ""},
	{"Abs(-3)", "Int32", "3", ""},
	{"MAX_OF(1, $i64, 3u)", "Int64", "3", ""},
	{"MIN_OF(1u, $opt)", "Uint32?", "1", ""},
	{"1 + 'x'", "", "", "Cannot add type"},
	// logic
	{"NULL OR true", "Bool?", "true", ""},
	{"NULL AND true", "Bool?", "null", ""},
	{"NOT (1 = 2)", "Bool", "true", ""},
	{"true XOR false", "Bool", "true", ""},
	{"1 = NULL", "Bool?", "null", ""},
	{"1 AND true", "", "", "Expected Bool"},
	{"$none IS NULL", "Bool", "true", ""},
	{"$opt IS NOT NULL", "Bool", "true", ""},
	{"$none IS DISTINCT FROM 3", "Bool", "true", ""},
	{"$opt IS NOT DISTINCT FROM 3", "Bool", "true", ""},
	{"3 BETWEEN 1 AND 5", "Bool", "true", ""},
	{"3 NOT BETWEEN 1 AND $none", "Bool?", "null", ""},
	{"(1, 2) < (1, 3)", "Bool", "true", ""},
	{"(1, $none) < (2, 3)", "Bool?", "true", ""},
	{"(1, $none) < (1, 3)", "Bool?", "null", ""},
	{"(1, $none) = (2, 3)", "Bool?", "false", ""},
	{"'a' < $text", "Bool", "true", ""},
	{"'a' < 1", "", "", "Can't compare"},
	{"Date('2024-01-02') > Timestamp('2024-01-01T00:00:00Z')", "Bool", "true", ""},
	// IN
	{"2 IN (1, 2u, 3l)", "Bool", "true", ""},
	{"2 IN (1, NULL)", "Bool?", "null", ""},
	{"1 IN $ids", "Bool", "true", ""},
	{"5 IN ($ids)", "Bool", "false", ""},
	{"5 NOT IN $oids", "Bool?", "null", ""},
	{"5 IN ()", "Bool", "false", ""},
	{"ListHas($ids, 2)", "Bool", "true", ""},
	{"ListLength($ids)", "Uint64", "2", ""},
	{"ListLength(AsList(1, 2, 3))", "Uint64", "3", ""},
	{"'ab' LIKE 'a%'", "Bool", "true", ""},
	{"'ab' NOT LIKE '_'", "Bool", "true", ""},
	// choice
	{"COALESCE($none, 5)", "Uint32", "5", ""},
	{"$none ?? $opt", "Uint32?", "3", ""},
	{"COALESCE($none, $u64)", "Uint64", "9223372036854775808", ""},
	{"COALESCE('a', 1)", "", "", "Uncompatible types"},
	{"IF(1 > 2, 'a'u)", "Utf8?", "null", ""},
	{"IF(NULL, 1, 2u)", "Uint32", "2", ""},
	{"CASE 2 WHEN 1 THEN 'a'u WHEN 2 THEN 'b'u ELSE 'c'u END", "Utf8", "b", ""},
	{"CASE WHEN $opt > 5 THEN 1 END", "Int32?", "null", ""},
	{"CASE WHEN true THEN $text ELSE 'lit' END", "Utf8", "añb", ""},
	{"Just(1)", "Int32?", "1", ""},
	{"Nothing(Utf8?)", "Utf8?", "null", ""},
	{"Unwrap($opt)", "Uint32", "3", ""},
	{"Unwrap($none)", "", "", "Failed to unwrap empty optional"},
	{"Unwrap($none, 'why')", "", "", "why"},
	{"Unwrap(1)", "", "", "Expected optional type"},
	{"Ensure(1, true)", "Int32", "1", ""},
	{"Ensure(1, 1 > 2, 'no')", "", "", "no"},
	// text
	{"Length($text)", "Uint32", "3", ""},
	{"Length('añb')", "Uint32", "4", ""},
	{"$text || 'c'u", "Utf8", "añbc", ""},
	{"'a' || 'b'", "String", "ab", ""},
	{"SubString('abcdef', 1, 3)", "String", "bcd", ""},
	{"SubString('abcdef', 4)", "String", "ef", ""},
	{"SubString($text, 0, 2)", "Utf8", "a", ""},
	{"StartsWith($text, 'a')", "Bool", "true", ""},
	// casts
	{"CAST('17' AS Uint8)", "Uint8?", "17", ""},
	{"CAST('300' AS Uint8)", "Uint8?", "null", ""},
	{"CAST($i64 AS Uint64)", "Uint64?", "null", ""},
	{"CAST($u8 AS Uint64)", "Uint64", "200", ""},
	{"CAST($u64 AS String)", "String", "9223372036854775808", ""},
	{"CAST($opt AS Utf8)", "Utf8?", "3", ""},
	{"CAST('6e73b41c-4ede-4d08-9cfb-b7462d9e498b' AS Uuid)", "Uuid?", "6e73b41c-4ede-4d08-9cfb-b7462d9e498b", ""},
	{"CAST(Uuid('6e73b41c-4ede-4d08-9cfb-b7462d9e498b') AS Utf8)", "Utf8", "6e73b41c-4ede-4d08-9cfb-b7462d9e498b", ""},
	{"CAST('2024-01-01T00:00:00Z' AS Timestamp)", "Timestamp?", "2024-01-01T00:00:00Z", ""},
	{"CAST($ts AS Date)", "Date", "2026-01-02", ""},
	{"CAST(1.9 AS Int32)", "Int32?", "1", ""},
	{"CAST(1 AS Bool)", "Bool", "true", ""},
	{"CAST($none AS Uint64)", "Uint64?", "null", ""},
	{"CAST(NULL AS Utf8)", "Utf8?", "null", ""},
	{"CAST($ids AS Uint64)", "", "", "Cannot cast"},
	// time
	{"CurrentUtcTimestamp()", "Timestamp", "2026-01-02T03:04:05.000678Z", ""},
	{"CurrentUtcTimestamp(1, $text) = CurrentUtcTimestamp()", "Bool", "true", ""},
	{"CurrentUtcDatetime()", "Datetime", "2026-01-02T03:04:05Z", ""},
	{"CurrentUtcDate()", "Date", "2026-01-02", ""},
	{"$ts + $iv", "Timestamp?", "2026-01-02T03:05:35.000678Z", ""},
	{"$ts - Interval('P1D')", "Timestamp?", "2026-01-01T03:04:05.000678Z", ""},
	{"$ts - $ts", "Interval", "PT0S", ""},
	{"Timestamp('1970-01-01T00:00:00Z') - $iv", "Timestamp?", "null", ""},
	{"$iv * 2", "Interval?", "PT3M", ""},
	{"$iv / 3", "Interval?", "PT30S", ""},
	{"DateTime::ToSeconds($ts)", "Uint32", "1767323045", ""},
	{"DateTime::ToMilliseconds($ts)", "Uint64", "1767323045000", ""},
	{"DateTime::ToMicroseconds($ts)", "Uint64", "1767323045000678", ""},
	{"DateTime::ToSeconds($iv)", "Int64", "90", ""},
	{"DateTime::FromSeconds(60)", "Timestamp", "1970-01-01T00:01:00Z", ""},
	{"DateTime::FromMicroseconds(1500000ul)", "Timestamp", "1970-01-01T00:00:01.5Z", ""},
	{"DateTime::FromMilliseconds($u64)", "", "", "out of range"},
	{"DateTime::IntervalFromSeconds(90) = $iv", "Bool", "true", ""},
	{"DateTime::IntervalFromMilliseconds(CAST($opt AS Int64))", "Interval?", "PT0.003S", ""},
	{"DateTime::IntervalFromSeconds($u64)", "", "", "Mismatch type argument"},
	{"DateTime::IntervalFromMinutes(2)", "Interval", "PT2M", ""},
	{"DateTime::IntervalFromHours(2)", "Interval", "PT2H", ""},
	{"DateTime::IntervalFromDays(2)", "Interval", "P2D", ""},
	{"$ts < Timestamp('2026-01-02T03:04:06Z')", "Bool", "true", ""},
	// chance
	{"RandomUuid(1) = RandomUuid(1)", "Bool", "false", ""},
	// structs
	{"<|a: 1, b: 'x'|>.b", "String", "x", ""},
	{"AsStruct(1 AS a).a", "Int32", "1", ""},
	{"AsStruct(1 AS a).c", "", "", "Member not found"},
}

func TestExpressions(t *testing.T) {
	t.Parallel()
	d := open(t)
	for _, e := range expressions {
		t.Run(e.expr, func(t *testing.T) {
			a, err := d.try("SELECT "+e.expr+" AS x;", typed)
			if e.typ == "" {
				require.ErrorContains(t, err, e.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, "x "+e.typ, a.header(0))
			require.Equal(t, e.value, a.set(0))
		})
	}
}

func TestRandomValuesAreDrawnPerRowOnlyWhenAskedPerRow(t *testing.T) {
	t.Parallel()
	d := open(t)
	a := d.must(`SELECT COUNT(DISTINCT same) AS s, COUNT(DISTINCT each) AS e FROM
		(SELECT RandomUuid(1) AS same, RandomUuid(x) AS each FROM AS_TABLE([<|x: 1|>, <|x: 2|>, <|x: 3|>]));`, nil)
	require.Equal(t, "1,3", a.set(0))
}

// A few lines can ask for values, types and plans without end.
func TestGreedyTextsAreRefused(t *testing.T) {
	t.Parallel()
	d := open(t)
	double := func(start, step string, n int) string {
		out := "$a = " + start + ";\n"
		for range n {
			out += "$a = " + step + ";\n"
		}
		return out + "SELECT $a = $a;"
	}
	for _, c := range []struct{ text, err string }{
		{double("'x'", "$a || $a", 60), "memory limit exceeded"},
		{double("(1, 2)", "($a, $a)", 60), "parts"},
		{double("[1, 2]", "[$a, $a]", 60), "parts"},
	} {
		_, err := d.try(c.text, nil)
		require.ErrorContains(t, err, c.err)
	}
	require.Equal(t, "true", d.must(double("1", "$a + $a", 700), nil).set(0))
}
