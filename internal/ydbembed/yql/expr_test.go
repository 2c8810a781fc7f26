package yql

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// parseExpr parses one expression.
func parseExpr(t *testing.T, text string) Expr {
	t.Helper()
	q, err := Parse("$x = " + text)
	require.NoError(t, err, text)
	require.Len(t, q.Statements, 1)
	a := q.Statements[0].(*Assign)
	if a.Select != nil {
		return &SubSelect{Select: a.Select}
	}
	return a.Expr
}

func TestPrecedence(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"a OR b AND c", "[a OR [b AND c]]"},
		{"a AND b OR c AND d", "[[a AND b] OR [c AND d]]"},
		{"a XOR b AND c", "[[a XOR b] AND c]"},
		{"(a OR b) AND c", "[[a OR b] AND c]"},
		{"NOT a AND b", "[[NOT a] AND b]"},
		{"NOT a = b", "[[NOT a] = b]"},
		{"NOT (a = b)", "[NOT [a = b]]"},
		{"a = b AND c != d", "[[a = b] AND [c != d]]"},
		{"a == b", "[a = b]"},
		{"a <> b", "[a != b]"},
		{"a < b = c > d", "[[a < b] = [c > d]]"},
		{"a + b < c - d", "[[a + b] < [c - d]]"},
		{"a - b - c", "[[a - b] - c]"},
		{"a + b * c % d", "[a + [[b * c] % d]]"},
		{"a || b * c", "[[a || b] * c]"},
		{"-a * b", "[[- a] * b]"},
		{"a * -b", "[a * [- b]]"},
		{"a ?? b ?? c", "[a ?? [b ?? c]]"},
		{"a ?? b + c", "[a ?? [b + c]]"},
		{"a ?? b < c", "[[a ?? b] < c]"},
		{"a IS NULL OR b IS NOT NULL", "[[a isnull not=false] OR [b isnull not=true]]"},
		{"a + 1 IS NULL", "[[a + 1':Int32] isnull not=false]"},
		{"a BETWEEN b AND c AND d", "[[a between b c not=false] AND d]"},
		{"a NOT BETWEEN b + c AND d OR e", "[[a between [b + c] d not=true] OR e]"},
		{"a IN (b, c) AND d", "[[a in tuple(b,c) not=false] AND d]"},
		{"a NOT IN (b)", "[a in tuple(b) not=true]"},
		{"a IN ((b))", "[a in tuple(b) not=false]"},
		{"a IN $l", "[a in $l not=false]"},
		{"a IN ($l)", "[a in tuple($l) not=false]"},
		{"a IN ($s).l", "[a in $s->l not=false]"},
		{"a IN COMPACT [b]", "[a in list(b) not=false]"},
		{"a IN (SELECT 1)", "[a in select(1 arms) not=false]"},
		{"(a, b) IN ((c, d), (e, f))", "[tuple(a,b) in tuple(tuple(c,d),tuple(e,f)) not=false]"},
		{"(a, b) > ($a, $b)", "[tuple(a,b) > tuple($a,$b)]"},
		{"a IS DISTINCT FROM b AND c IS NOT DISTINCT FROM d", "[[a IS DISTINCT FROM b] AND [c IS NOT DISTINCT FROM d]]"},
		{"a LIKE b || c", "[a LIKE [b || c]]"},
		{"a NOT LIKE b AND c", "[[a NOT LIKE b] AND c]"},
		{"CASE WHEN a = b THEN c ELSE d + e END + f", "[case(- [a = b]=>c else [d + e]) + f]"},
		{"CASE a WHEN b THEN c END", "case(a b=>c else -)"},
		{"t.a.b", "t.a->b"},
		{"$s.a.`b c`", "$s->a->b c"},
		{"$t.0.1", "$t->0->1"},
		{"f(a).b", "f(a)->b"},
		{"DateTime::FromSeconds(a)", "DateTime::FromSeconds(a)"},
		{"COUNT(*) + count(DISTINCT a)", "[COUNT(*) + count(distinct a)]"},
		{"CAST(a + b AS Utf8?)", "cast([a + b] as Utf8?)"},
		{"Nothing(List<Struct<b:Int32,a:Utf8?>>?)", "Nothing(type List<Struct<'a':Utf8?,'b':Int32>>?)"},
		{"(1)", "1':Int32"},
		{"(1,)", "tuple(1':Int32)"},
		{"()", "tuple()"},
		{"(,)", "tuple()"},
		{"(a AS x, b AS y)", "struct(x:a,y:b)"},
		{"AsStruct(a AS x)", "struct(x:a)"},
		{"<|x: a, 'y z': b|>", "struct(x:a,y z:b)"},
		{"AsList(a, b)", "list(a,b)"},
		{"AsTuple(a)", "tuple(a)"},
		{"((SELECT 1) UNION ALL (SELECT 2))", "select(2 arms)"},
		{"((SELECT 1)) + 1", "[select(1 arms) + 1':Int32]"},
		{"key + value + end + date", "[[[key + value] + end] + date]"},
	} {
		require.Equal(t, tt.want, dump(parseExpr(t, tt.text)), tt.text)
	}
}

func TestLiterals(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"0", "0':Int32"},
		{"2147483647", "2147483647':Int32"},
		{"2147483648", "2147483648':Int64"},
		{"9223372036854775807", "9223372036854775807':Int64"},
		{"9223372036854775808", "9223372036854775808':Uint64"},
		{"18446744073709551615", "18446744073709551615':Uint64"},
		{"-2147483648", "-2147483648':Int32"},
		{"-2147483649", "-2147483649':Int64"},
		{"-9223372036854775808", "-9223372036854775808':Int64"},
		{"-9223372036854775809", "[- 9223372036854775809':Uint64]"},
		{"-5", "-5':Int32"},
		{"- 5", "-5':Int32"},
		{"-5u", "[- 5:Uint32]"},
		{"-128t", "-128:Int8"},
		{"1 -5", "[1':Int32 - 5':Int32]"},
		{"7u", "7:Uint32"},
		{"7L", "7:Int64"},
		{"7ul", "7:Uint64"},
		{"7s", "7:Int16"},
		{"7us", "7:Uint16"},
		{"7t", "7:Int8"},
		{"255ut", "255:Uint8"},
		{"0xFF", "255':Int32"},
		{"0b101u", "5:Uint32"},
		{"0o17l", "15:Int64"},
		{"1.5", "1.5:Double"},
		{"1.", "1:Double"},
		{"1e3", "1000:Double"},
		{"1.5f", "1.5:Float"},
		{"TRUE", "true:Bool"},
		{"false", "false:Bool"},
		{"NULL", "NULL:Null"},
		{`"a"`, "a':String"},
		{`'a'u`, "a:Utf8"},
		{`"a"s`, "a:String"},
		{`@@{"a":1}@@j`, `{"a":1}:Json`},
		{`"it's \"x\" \x41\101\u0416\t"u`, "it's \"x\" AA\u0416\t:Utf8"},
		{`'say "x"'`, `say "x"':String`},
		{"@@a\n\\n@@@@b@@@", "a\n\\n@@b@':String"},
		{"@@@@", "':String"},
		{`Timestamp("2024-01-01T00:00:00Z")`, "2024-01-01T00:00:00Z:Timestamp"},
		{`Interval('PT5M')`, "PT5M:Interval"},
		{`uint8("1")`, "1:Uint8"},
		{`Uuid("6e73b41c-4ede-4d08-9cfb-b7462d9e498b")`, "6e73b41c-4ede-4d08-9cfb-b7462d9e498b:Uuid"},
	} {
		require.Equal(t, tt.want, dump(parseExpr(t, tt.text)), tt.text)
	}
}

func TestDepthIsBounded(t *testing.T) {
	nest := func(open, inner, closing string, n int) error {
		_, err := Parse("SELECT " + strings.Repeat(open, n) + inner + strings.Repeat(closing, n))
		return err
	}
	require.NoError(t, nest("(", "1", ")", maxDepth-2)) // the select and the number are levels too
	require.ErrorContains(t, nest("(", "1", ")", maxDepth-1), "nested too deep, the limit is 128 levels")
	for _, pair := range [][2]string{
		{"(", ")"}, {"[", "]"}, {"f(", ")"}, {"(SELECT ", ")"}, {"CASE WHEN ", " THEN 1 END"},
		{"CAST(", " AS Int32)"}, {"<|a:", "|>"}, {"1 IN (", ")"}, {"NOT (", ")"}, {"1 + (", ")"},
	} {
		require.ErrorContains(t, nest(pair[0], "1", pair[1], 2*maxDepth), "nested too deep", pair[0])
	}
	for _, text := range []string{
		"DECLARE $a AS " + strings.Repeat("List<", 2*maxDepth),
		strings.Repeat("(", 2*maxDepth),
		"SELECT 1 FROM " + strings.Repeat("(", 2*maxDepth),
		"SELECT 1 UNION ALL " + strings.Repeat("(", 2*maxDepth),
	} {
		_, err := Parse(text)
		require.ErrorContains(t, err, "nested too deep")
	}
}

func TestChainsAreBounded(t *testing.T) {
	for _, link := range []string{" OR a", " = a", " + a", "?? a", ".a"} {
		head := "SELECT a"
		_, err := Parse(head + strings.Repeat(link, maxChain-1))
		require.NoError(t, err, link)
		_, err = Parse(head + strings.Repeat(link, maxChain+2)) // the first .a belongs to the column
		require.ErrorContains(t, err, "Too many operators in a row", link)
	}
}
