package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"

	"github.com/taskfleet/taskfleet/internal/ydbembed/issue"
	"github.com/taskfleet/taskfleet/internal/ydbembed/limits"
	"github.com/taskfleet/taskfleet/internal/ydbembed/store"
	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
)

func testEnv(t *testing.T) Env {
	t.Helper()
	s, err := store.Open(store.Options{TTLInterval: -1})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return Env{Catalog: s.Catalog(), Database: "/local"}
}

// longest is a text of the largest size, or n bytes more.
func longest(head string, n int) string {
	return head + strings.Repeat(" ", limits.Text-len(head)+n)
}

func TestSizeOfATextIsBounded(t *testing.T) {
	t.Parallel()
	cache, env := NewCache(0), testEnv(t)
	_, _, err := cache.Compile(longest("SELECT 1", 0), env)
	require.NoError(t, err)
	_, _, err = cache.Compile(longest("SELECT 1", 1), env)
	require.EqualError(t, err, "BAD_REQUEST: Query text size exceeds limit (10241b > 10240b)")
	_, err = Parse(longest("SELECT 1", 1))
	require.ErrorContains(t, err, "(10241b > 10240b)")
}

func TestSizeOfAPlanIsBounded(t *testing.T) {
	t.Parallel()
	c := &compiler{q: &Query{}}
	require.NoError(t, c.grow(limits.Plan))
	err := c.grow(1)
	require.ErrorContains(t, err, "Too many nodes: the plan of the query takes more than 16777216 bytes")
	require.Equal(t, Ydb.StatusIds_GENERIC_ERROR, issue.From(err).Status)
}

func TestTypeOfAParameterIsBounded(t *testing.T) {
	t.Parallel()
	env := testEnv(t)
	tuple := func(parts int) map[string]*types.Type { // itself is one part
		elems := slices.Repeat([]*types.Type{types.Primitive(types.Bool)}, parts-1)
		return map[string]*types.Type{"p": types.TupleOf(elems...)}
	}
	env.Params = tuple(maxTypeParts)
	_, _, err := NewCache(0).Compile("SELECT 1", env)
	require.NoError(t, err)
	env.Params = tuple(maxTypeParts + 1)
	_, _, err = NewCache(0).Compile("SELECT 1", env)
	require.ErrorContains(t, err, "Type of a parameter has more than 10000 parts")
}

// Texts that are all different, as with literals in place of parameters, push
// each other out, plans and trees each by their bytes.
func TestCacheIsBoundedInBytes(t *testing.T) {
	t.Parallel()
	cache, env := NewCache(1<<20), testEnv(t)
	for i := range 2 * limits.Plans / limits.Text / treeBytes {
		_, hit, err := cache.Compile(longest(fmt.Sprintf("SELECT %d", i), 0), env)
		require.NoError(t, err)
		require.False(t, hit)
		require.LessOrEqual(t, cache.Bytes(), limits.Plans)
	}
	require.LessOrEqual(t, cache.texts.bytes, limits.Plans/2)
	require.Greater(t, cache.texts.bytes, limits.Plans/2-limits.Text*treeBytes, "no more is dropped than need be")
}

func TestLeastRecentlyUsedGoes(t *testing.T) {
	t.Parallel()
	var l lru[int]
	l.init(3, 100)
	l.put("a", 1, 50)
	l.put("b", 2, 50)
	_, ok := l.get("a")
	require.True(t, ok, "both are kept at the limit")
	l.put("c", 3, 1)
	_, ok = l.get("b")
	require.False(t, ok)
	require.Equal(t, 51, l.bytes)
	l.put("c", 4, 50)
	require.Equal(t, 100, l.bytes, "a value takes the place of another")
	l.put("huge", 5, 101)
	require.Zero(t, l.bytes)
	for _, key := range []string{"d", "e", "f", "g"} {
		l.put(key, 6, 1)
	}
	_, ok = l.get("d")
	require.False(t, ok, "more entries than the limit")
	require.Equal(t, 3, l.bytes)
}
