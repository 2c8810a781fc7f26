package store

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
)

// machine runs the store and the model side by side.
type machine struct {
	store *Store
	table *Table
	model *model
	open  []pair
}

type pair struct {
	real  *Tx
	model *modelTx
}

// TestStoreIsLikeTheModel runs random interleavings of transactions: every
// read must return what the model says, every commit must conflict exactly
// when the model says, and reads must take exactly the rows they need.
func TestStoreIsLikeTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, err := Open(Options{TTLInterval: -1})
		require.NoError(t, err)
		defer func() { require.NoError(t, s.Close()) }()
		require.NoError(t, s.CreateTable(testTable(tablePath)))
		tbl, _ := s.Catalog().Table(tablePath)
		m := &machine{store: s, table: tbl, model: newModel()}
		actions := map[string]func(*rapid.T){
			"begin":    m.begin,
			"get":      m.get,
			"scan":     m.scan,
			"put":      m.put,
			"merge":    m.merge,
			"delete":   m.delete,
			"commit":   m.commit,
			"rollback": m.rollback,
		}
		for range 4 { // long enough for histories of several commits
			t.Repeat(actions)
		}
		for len(m.open) > 0 {
			m.commit(t)
		}
		m.begin(t)
		m.compareScan(t, m.open[0], Range{}, false, 1<<20)
	})
}

func (m *machine) begin(t *rapid.T) {
	if len(m.open) == 5 {
		return
	}
	mode := rapid.SampledFrom([]Mode{Serializable, Serializable, SnapshotReadOnly, SnapshotReadWrite}).Draw(t, "mode")
	m.open = append(m.open, pair{m.store.Begin(mode), m.model.begin(m.table, mode)})
}

// pick draws an open transaction, one that may write when write is true.
func (m *machine) pick(t *rapid.T, write bool) (int, pair) {
	if len(m.open) == 0 {
		m.begin(t)
	}
	i := rapid.IntRange(0, len(m.open)-1).Draw(t, "tx")
	if write && m.open[i].model.mode == SnapshotReadOnly {
		t.Skip("read-only")
	}
	return i, m.open[i]
}

func drawKey(t *rapid.T) []types.Value {
	p := types.UintValue(types.Uint16, rapid.Uint64Range(0, 2).Draw(t, "p"))
	if rapid.IntRange(0, 5).Draw(t, "null key") == 0 {
		return []types.Value{p, types.NullValue}
	}
	return []types.Value{p, types.IntValue(types.Int64, rapid.Int64Range(0, 4).Draw(t, "k"))}
}

func drawRow(t *rapid.T) Row {
	r := append(drawKey(t), text(rapid.StringN(0, 3, -1).Draw(t, "v")), types.NullValue, types.NullValue)
	if rapid.Bool().Draw(t, "has n") {
		r[3] = types.IntValue(types.Int64, rapid.Int64().Draw(t, "n"))
	}
	return r
}

func (m *machine) get(t *rapid.T) {
	_, tx := m.pick(t, false)
	key := drawKey(t)
	want := tx.model.get(modelKey(key))
	got, ok, err := tx.real.Get(m.table, key, nil, nil)
	require.NoError(t, err)
	require.Equal(t, want != nil, ok)
	if ok {
		requireSameRow(t, want, got)
	}
}

func drawBound(t *rapid.T, label string) *Bound {
	n := rapid.IntRange(0, 2).Draw(t, label)
	if n == 0 {
		return nil
	}
	return &Bound{Prefix: drawKey(t)[:n], Inclusive: rapid.Bool().Draw(t, "inclusive")}
}

func (m *machine) scan(t *rapid.T) {
	_, tx := m.pick(t, false)
	r := Range{From: drawBound(t, "from"), To: drawBound(t, "to")}
	m.compareScan(t, tx, r, rapid.Bool().Draw(t, "reverse"), rapid.IntRange(1, 20).Draw(t, "limit"))
}

func (m *machine) compareScan(t *rapid.T, tx pair, r Range, reverse bool, limit int) {
	var st Access
	it := tx.real.Scan(m.table, r, reverse, nil, &st)
	defer it.Close()
	want, taken := tx.model.scan(insideOf(r), reverse, limit)
	if tx.model.mode != SnapshotReadOnly && rapid.Bool().Draw(t, "write below the iterator") {
		m.putInto(t, tx) // which the iterator must not see
	}
	for _, w := range want {
		got, ok, err := it.Next()
		require.NoError(t, err)
		require.True(t, ok)
		requireSameRow(t, w, got)
	}
	if len(want) < limit {
		_, ok, err := it.Next()
		require.NoError(t, err)
		require.False(t, ok)
	}
	require.EqualValues(t, taken, st.ReadRows)
}

func (m *machine) put(t *rapid.T) {
	_, tx := m.pick(t, true)
	m.putInto(t, tx)
}

func (m *machine) putInto(t *rapid.T, tx pair) {
	r := drawRow(t)
	tx.real.Put(m.table, r, nil)
	tx.model.ops = append(tx.model.ops, modelOp{key: modelKey(r), kind: putWrite, row: r})
}

func (m *machine) merge(t *rapid.T) {
	_, tx := m.pick(t, true)
	r := drawRow(t)
	set := make([]bool, len(r))
	for i := 2; i < len(set); i++ {
		set[i] = rapid.Bool().Draw(t, "listed")
	}
	tx.real.Merge(m.table, r, set, nil)
	tx.model.ops = append(tx.model.ops, modelOp{key: modelKey(r), kind: mergeWrite, row: r, set: set})
}

func (m *machine) delete(t *rapid.T) {
	_, tx := m.pick(t, true)
	key := drawKey(t)
	tx.real.Delete(m.table, key, nil)
	tx.model.ops = append(tx.model.ops, modelOp{key: modelKey(key), kind: deleteWrite})
}

func (m *machine) commit(t *rapid.T) {
	i, tx := m.pick(t, false)
	m.open = append(m.open[:i], m.open[i+1:]...)
	want := tx.model.commit()
	err := tx.real.Commit(context.Background())
	if want {
		require.True(t, isConflict(err), "must conflict, got %v", err)
		return
	}
	require.NoError(t, err)
}

func (m *machine) rollback(t *rapid.T) {
	i, tx := m.pick(t, false)
	m.open = append(m.open[:i], m.open[i+1:]...)
	tx.real.Rollback()
}

func requireSameRow(t require.TestingT, want, got Row) {
	require.Equal(t, fmt.Sprint(want), fmt.Sprint(got))
}
