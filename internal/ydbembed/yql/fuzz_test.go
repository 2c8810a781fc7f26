package yql

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzParse holds that any text either parses into a tree whose nodes have
// places inside the text, or is refused with a place inside the text.
func FuzzParse(f *testing.F) {
	for _, text := range accepted {
		f.Add(text)
	}
	for _, text := range []string{
		"SELECT \"\\", "@@@@@", "`\\", "SELECT '\\8'", "SELECT 0x", "SELECT 1.e", "$", "$t.0.1.",
		"DECLARE $x AS List<Struct<", "SELECT 1 ? ? 2", "SELECT a NOT", "SELECT a NOT IN", "((((SELECT",
		"CREATE TABLE t (index", "ALTER TABLE t ADD INDEX", "PRAGMA a.b = -", "VALUES (1),", "--!ansi_lexer",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		q, err := Parse(text)
		if err == nil {
			require.LessOrEqual(t, nodes(reflect.ValueOf(q.Statements)), 3*len(text)+1)
			return
		}
		var e *Error
		require.True(t, errors.As(err, &e), "%T", err)
		require.NotEmpty(t, e.Message)
		lines := strings.Split(text, "\n")
		require.True(t, e.Pos.Line >= 1 && e.Pos.Line <= len(lines), "%v", e)
		require.True(t, e.Pos.Col >= 1 && e.Pos.Col <= len(lines[e.Pos.Line-1])+1, "%v", e)
	})
}
