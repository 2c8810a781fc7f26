package store

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const tablePath = "/local/fleet/t"

// open returns an empty store in memory that is closed with the test.
func open(t testing.TB, change ...func(*Options)) *Store {
	t.Helper()
	o := Options{TTLInterval: -1}
	for _, f := range change {
		f(&o)
	}
	s, err := Open(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// testTable has the key (p Uint16, k Int64) and the columns v Utf8, n Int64
// with default 7, at Timestamp.
func testTable(path string) Table {
	seven := types.IntValue(types.Int64, 7)
	return Table{
		Path: path,
		Columns: []Column{
			{Name: "p", Type: types.Primitive(types.Uint16), NotNull: true},
			{Name: "k", Type: types.Primitive(types.Int64)},
			{Name: "v", Type: types.Primitive(types.Utf8)},
			{Name: "n", Type: types.Primitive(types.Int64), Default: &seven},
			{Name: "at", Type: types.Primitive(types.Timestamp)},
		},
		Key: []int{0, 1},
	}
}

func makeTable(t testing.TB, s *Store) *Table {
	t.Helper()
	require.NoError(t, s.CreateTable(testTable(tablePath)))
	return table(t, s, tablePath)
}

func table(t testing.TB, s *Store, path string) *Table {
	t.Helper()
	tbl, ok := s.Catalog().Table(path)
	require.True(t, ok)
	return tbl
}

func key(p, k int) []types.Value {
	return []types.Value{types.UintValue(types.Uint16, uint64(p)), types.IntValue(types.Int64, int64(k))}
}

func prefix(p int) []types.Value { return key(p, 0)[:1] }

func text(s string) types.Value { return types.TextValue(types.Utf8, s) }

func row(p, k int, v string) Row {
	return append(key(p, k), text(v), types.IntValue(types.Int64, 1), types.TimestampValue(time.Unix(int64(k), 0)))
}

// setOf marks the columns of testTable that a partial write lists.
func setOf(columns ...int) []bool {
	set := make([]bool, 5)
	for _, c := range columns {
		set[c] = true
	}
	return set
}

func commit(t testing.TB, tx *Tx) {
	t.Helper()
	require.NoError(t, tx.Commit(t.Context()))
}

// put commits rows in a transaction of their own.
func put(t testing.TB, s *Store, tbl *Table, rows ...Row) {
	t.Helper()
	tx := s.Begin(Serializable)
	for _, r := range rows {
		tx.Put(tbl, r, nil)
	}
	commit(t, tx)
}

func get(t testing.TB, tx *Tx, tbl *Table, k []types.Value) (Row, bool) {
	t.Helper()
	r, ok, err := tx.Get(tbl, k, nil, nil)
	require.NoError(t, err)
	return r, ok
}

func drain(t testing.TB, it *Iterator, limit int) (rows []Row) {
	t.Helper()
	defer it.Close()
	for len(rows) < limit {
		r, ok, err := it.Next()
		require.NoError(t, err)
		if !ok {
			break
		}
		rows = append(rows, r)
	}
	return rows
}

func whole(p int) Range {
	b := &Bound{Prefix: prefix(p), Inclusive: true}
	return Range{From: b, To: b}
}

func TestReadsItsOwnWritesOverTheSnapshot(t *testing.T) {
	s := open(t)
	tbl := makeTable(t, s)
	put(t, s, tbl, row(1, 1, "a"), row(1, 2, "b"), row(1, 4, "d"), row(2, 1, "x"))

	tx := s.Begin(Serializable)
	defer tx.Rollback()
	tx.Put(tbl, row(1, 3, "c"), nil)
	tx.Delete(tbl, key(1, 2), nil)
	tx.Merge(tbl, append(key(1, 4), text("D"), types.NullValue, types.NullValue), setOf(2), nil)
	tx.Merge(tbl, append(key(1, 9), text("new"), types.NullValue, types.NullValue), setOf(2), nil)

	var st Access
	rows := drain(t, tx.Scan(tbl, whole(1), false, nil, &st), 99)
	var got []string
	for _, r := range rows {
		got = append(got, r[1].String()+r[2].Text()+r[3].String())
	}
	require.Equal(t, []string{"1a1", "3c1", "4D1", "9new7"}, got)
	require.EqualValues(t, 2, st.ReadRows, "rows 1 and 4; the others need no read")

	backwards := drain(t, tx.Scan(tbl, whole(1), true, nil, nil), 2)
	require.Equal(t, "new", backwards[0][2].Text())
	require.Equal(t, "D", backwards[1][2].Text())

	r, ok := get(t, tx, tbl, key(1, 4))
	require.True(t, ok)
	require.Equal(t, "D", r[2].Text())
	_, ok = get(t, tx, tbl, key(1, 2))
	require.False(t, ok)
}

func TestScanReadsOnlyWhatIsAskedFor(t *testing.T) {
	s := open(t)
	tbl := makeTable(t, s)
	for k := range 100 {
		put(t, s, tbl, row(1, k, "some text"))
	}
	tx := s.Begin(SnapshotReadOnly)
	defer tx.Rollback()
	for _, reverse := range []bool{false, true} {
		var all, keys Access
		require.Len(t, drain(t, tx.Scan(tbl, whole(1), reverse, nil, &all), 3), 3)
		require.EqualValues(t, 3, all.ReadRows)
		got := drain(t, tx.Scan(tbl, whole(1), reverse, setOf(1), &keys), 3)
		require.Less(t, keys.ReadBytes, all.ReadBytes)
		require.True(t, got[0][2].IsNull(), "columns that are not needed are not read")
	}
}

func TestRangeBounds(t *testing.T) {
	s := open(t)
	tbl := makeTable(t, s)
	for p := range 4 {
		for k := range 3 {
			put(t, s, tbl, row(p, k, ""))
		}
	}
	tx := s.Begin(Serializable)
	defer tx.Rollback()
	count := func(r Range) int { return len(drain(t, tx.Scan(tbl, r, false, nil, nil), 99)) }
	require.Equal(t, 12, count(Range{}))
	require.Equal(t, 3, count(whole(1)))
	require.Equal(t, 6, count(Range{From: &Bound{Prefix: prefix(1)}}))
	require.Equal(t, 9, count(Range{From: &Bound{Prefix: prefix(1), Inclusive: true}}))
	require.Equal(t, 3, count(Range{To: &Bound{Prefix: prefix(1)}}))
	require.Equal(t, 6, count(Range{To: &Bound{Prefix: prefix(1), Inclusive: true}}))
	require.Equal(t, 2, count(Range{From: &Bound{Prefix: key(1, 0)}, To: &Bound{Prefix: prefix(1), Inclusive: true}}))
	require.Equal(t, 1, count(Range{From: &Bound{Prefix: key(1, 0)}, To: &Bound{Prefix: key(1, 2)}}))
	require.Zero(t, count(Range{From: &Bound{Prefix: prefix(3)}, To: &Bound{Prefix: prefix(1)}}))
}

func TestValuesOfAnotherKindAreRefused(t *testing.T) {
	s := open(t)
	tbl := makeTable(t, s)
	tx := s.Begin(Serializable)
	_, _, err := tx.Get(tbl, []types.Value{types.IntValue(types.Int32, 1), types.NullValue}, nil, nil)
	require.ErrorContains(t, err, "column p of table /local/fleet/t wants Uint16, got Int32")
	_, _, err = tx.Get(tbl, prefix(1), nil, nil)
	require.Error(t, err)
	tx.Put(tbl, append(key(1, 1), text("a"), text("no number"), types.NullValue), nil)
	require.ErrorContains(t, tx.Commit(t.Context()), "column n of table /local/fleet/t wants Int64, got Utf8")
}

func TestReadOnlyTransactionRefusesWrites(t *testing.T) {
	s := open(t)
	tbl := makeTable(t, s)
	tx := s.Begin(SnapshotReadOnly)
	tx.Put(tbl, row(1, 1, "a"), nil)
	require.ErrorIs(t, tx.Commit(t.Context()), ErrReadOnly)
}

func TestEndedTransactionRefusesWork(t *testing.T) {
	s := open(t)
	tbl := makeTable(t, s)
	put(t, s, tbl, row(1, 1, "a"), row(1, 2, "b"))
	tx := s.Begin(Serializable)
	it := tx.Scan(tbl, Range{}, false, nil, nil)
	_, ok, err := it.Next()
	require.NoError(t, err)
	require.True(t, ok)
	commit(t, tx)
	_, _, err = it.Next()
	require.ErrorIs(t, err, ErrTxDone)
	_, _, err = tx.Get(tbl, key(1, 1), nil, nil)
	require.ErrorIs(t, err, ErrTxDone)
	require.ErrorIs(t, tx.Commit(t.Context()), ErrTxDone)
	tx.Rollback()
}

func TestWritesAreCounted(t *testing.T) {
	s := open(t)
	tbl := makeTable(t, s)
	tx := s.Begin(Serializable)
	var st Access
	tx.Put(tbl, row(1, 1, "0123456789"), &st)
	require.EqualValues(t, 1, st.UpdateRows)
	require.Greater(t, st.UpdateBytes, uint64(20))
	before := st.UpdateBytes
	tx.Merge(tbl, append(key(1, 2), text("a"), types.NullValue, types.NullValue), setOf(2), &st)
	require.EqualValues(t, 2, st.UpdateRows)
	require.Less(t, st.UpdateBytes, 2*before)
	tx.Delete(tbl, key(1, 3), &st)
	require.EqualValues(t, 1, st.DeleteRows)
	require.Zero(t, st.ReadRows)
	commit(t, tx)
}
