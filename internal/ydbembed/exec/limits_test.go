package exec_test

import (
	"slices"
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

const mib = 1 << 20

// in these texts $l is a list of n numbers, and $s a text of so many bytes.
type sized struct {
	text string
	n, s int
}

func (c sized) params() params {
	items := make([]param, c.n)
	for i := range items {
		items[i] = record("x", u64(uint64(i)))
	}
	return params{"l": list(items...), "s": text(strings.Repeat("s", c.s))}
}

// Each limit of YDB's on what a query makes lets pass what has just that size,
// and refuses one byte more with YDB's status.
func TestSizesAreBounded(t *testing.T) {
	t.Parallel()
	const (
		result  = "SELECT $s AS s FROM AS_TABLE($l);"                              // 8 bytes a row beside the text
		written = "UPSERT INTO t (k, v) SELECT x AS k, $s AS v FROM AS_TABLE($l);" // 18 bytes a row
		chosen  = "SELECT 1 WHERE $s IN (SELECT $s FROM AS_TABLE($l));"            // 8 bytes a row
		one     = "UPSERT INTO t (k, v) VALUES (0, $s);"
		keyed   = "UPSERT INTO u (k) VALUES ($s);"
	)
	for _, c := range []struct {
		name      string
		at, above sized
		status    Ydb.StatusIds_StatusCode
		err       string
	}{
		{"result", sized{result, 48, mib - 8}, sized{result, 48, mib - 7},
			Ydb.StatusIds_PRECONDITION_FAILED, "Query result size limit exceeded. (50331696 > 50331648)"},
		{"results together", sized{result + result, 24, mib - 8}, sized{result + result, 24, mib - 7},
			Ydb.StatusIds_PRECONDITION_FAILED, "Query result size limit exceeded"},
		{"intermediate", sized{written, 48, mib - 18}, sized{written, 48, mib - 17},
			Ydb.StatusIds_PRECONDITION_FAILED, "Intermediate data materialization exceeded size limit (50331696 > 50331648)"},
		{"intermediate of IN", sized{chosen, 48, mib - 8}, sized{chosen, 48, mib - 7},
			Ydb.StatusIds_PRECONDITION_FAILED, "Intermediate data materialization exceeded size limit (50331696 > 50331648)"},
		{"row", sized{one, 1, limits.Row - 8}, sized{one, 1, limits.Row - 7},
			Ydb.StatusIds_BAD_REQUEST, "Row size of 8388609 bytes is larger than the allowed threshold 8388608"},
		{"cell", sized{one, 1, limits.Row - 8}, sized{one, 1, limits.Cell + 1},
			Ydb.StatusIds_BAD_REQUEST, "Row cell size of 8388609 bytes is larger than the allowed threshold 8388608"},
		{"key", sized{keyed, 1, limits.Key}, sized{keyed, 1, limits.Key + 1},
			Ydb.StatusIds_BAD_REQUEST, "Row key size of 1049601 bytes is larger than the allowed threshold 1049600"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := open(t)
			d.must("CREATE TABLE t (k Uint64 NOT NULL, v Utf8, PRIMARY KEY (k));", nil)
			d.must("CREATE TABLE u (k Utf8 NOT NULL, PRIMARY KEY (k));", nil)
			_, err := d.greedy(c.at.text, c.at.params(), pool())
			require.NoError(t, err)
			_, err = d.greedy(c.above.text, c.above.params(), pool())
			require.ErrorContains(t, err, c.err)
			require.Equal(t, c.status, issue.From(err).Status)
		})
	}
}

// What an expression makes has no more parts than the limit, itself included.
func TestPartsOfAValueAreBounded(t *testing.T) {
	t.Parallel()
	const limit, items = 1_000_000, 1000
	d := open(t)
	lists := func(n, last int) params {
		all := make([]types.Value, items)
		inner := func(n int) types.Value {
			return types.ItemsValue(types.List, slices.Repeat([]types.Value{types.UintValue(types.Uint8, 1)}, n))
		}
		for i := range all {
			all[i] = inner(n)
		}
		all[items-1] = inner(last)
		return params{"l": {types.ListOf(types.ListOf(types.Primitive(types.Uint8))), types.ItemsValue(types.List, all)}}
	}
	const full = limit/items - 1 // with its list a thousand parts
	_, err := d.greedy("SELECT ListLength([$l]);", lists(full, full-1), pool())
	require.NoError(t, err)
	_, err = d.greedy("SELECT ListLength([$l]);", lists(full, full), pool())
	require.ErrorContains(t, err, "Value has more than 1000000 parts")
	require.Equal(t, Ydb.StatusIds_PRECONDITION_FAILED, issue.From(err).Status)
}

// A transaction writes less than the limit, however many statements do it.
func TestWritesOfATransactionAreBounded(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.must("CREATE TABLE t (k Uint64 NOT NULL, v Utf8, PRIMARY KEY (k));", nil)
	const row = 8 + 64 // bytes beside the text
	write := func(tx *exec.Tx, key uint64, size int) error {
		q, values, err := d.compile("UPSERT INTO t (k, v) VALUES ($k, $s);", params{"k": u64(key), "s": text(strings.Repeat("s", size-row))})
		require.NoError(t, err)
		return exec.Run(t.Context(), q, values, tx, now, &discard{}, nil)
	}
	tx := exec.NewTx(d.store.Begin(store.Serializable), pool())
	defer tx.Rollback()
	for k := range uint64(15) {
		require.NoError(t, write(tx, k, 4*mib))
	}
	require.NoError(t, write(tx, 15, 4*mib-row))
	err := write(tx, 16, row)
	require.ErrorContains(t, err, "Out of buffer memory. Used 67108864 bytes of 67108864 bytes.")
	require.Equal(t, Ydb.StatusIds_PRECONDITION_FAILED, issue.From(err).Status)
}
