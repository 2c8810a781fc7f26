package store

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
)

func requireConflict(t testing.TB, err error) {
	t.Helper()
	var conflict *ConflictError
	require.ErrorAs(t, err, &conflict)
	require.Equal(t, tablePath, conflict.Table)
}

func isConflict(err error) bool {
	var conflict *ConflictError
	return errors.As(err, &conflict)
}

func TestTwoClientsConflictOnAPoint(t *testing.T) {
	s := open(t)
	tbl := makeTable(t, s)
	put(t, s, tbl, row(1, 1, "a"))
	a, b := s.Begin(Serializable), s.Begin(Serializable)
	get(t, a, tbl, key(1, 1))
	get(t, b, tbl, key(1, 1))
	a.Put(tbl, row(1, 1, "by a"), nil)
	b.Put(tbl, row(1, 1, "by b"), nil)
	commit(t, b)
	requireConflict(t, a.Commit(t.Context()))
	r, _ := get(t, s.Begin(SnapshotReadOnly), tbl, key(1, 1))
	require.Equal(t, "by b", r[2].Text(), "the first committer wins")
}

func TestTwoClientsConflictOnAMissingPoint(t *testing.T) {
	s := open(t)
	tbl := makeTable(t, s)
	a := s.Begin(Serializable)
	_, ok := get(t, a, tbl, key(1, 1))
	require.False(t, ok)
	put(t, s, tbl, row(1, 1, "other"))
	a.Put(tbl, row(1, 1, "mine"), nil)
	requireConflict(t, a.Commit(t.Context()))
}

func TestTwoClientsConflictOnARange(t *testing.T) {
	s := open(t)
	tbl := makeTable(t, s)
	put(t, s, tbl, row(1, 1, "a"), row(1, 5, "e"), row(2, 1, "x"))
	for name, change := range map[string]func(tx *Tx){
		"update": func(tx *Tx) { tx.Put(tbl, row(1, 5, "E"), nil) },
		"merge": func(tx *Tx) {
			tx.Merge(tbl, append(key(1, 5), text("E"), types.NullValue, types.NullValue), setOf(2), nil)
		},
		"delete": func(tx *Tx) { tx.Delete(tbl, key(1, 5), nil) },
	} {
		t.Run(name, func(t *testing.T) {
			a := s.Begin(Serializable)
			drain(t, a.Scan(tbl, whole(1), false, nil, nil), 1)
			b := s.Begin(Serializable)
			change(b)
			commit(t, b)
			a.Put(tbl, row(7, 7, ""), nil)
			requireConflict(t, a.Commit(t.Context()))
		})
	}
}

func TestTwoClientsConflictOnAPhantom(t *testing.T) {
	s := open(t)
	tbl := makeTable(t, s)
	a := s.Begin(Serializable)
	require.Empty(t, drain(t, a.Scan(tbl, whole(1), false, nil, nil), 9), "an empty range is locked as well")
	put(t, s, tbl, row(1, 3, "phantom"))
	a.Put(tbl, row(2, 1, "there was none"), nil)
	requireConflict(t, a.Commit(t.Context()))
}

func TestNeighboursOfARangeDoNotConflict(t *testing.T) {
	s := open(t)
	tbl := makeTable(t, s)
	a := s.Begin(Serializable)
	drain(t, a.Scan(tbl, whole(1), false, nil, nil), 9)
	drain(t, a.Scan(tbl, Range{From: &Bound{Prefix: key(3, 1)}, To: &Bound{Prefix: key(3, 4)}}, false, nil, nil), 9)
	put(t, s, tbl, row(0, 9, ""), row(2, 0, ""), row(3, 1, ""), row(3, 4, ""))
	a.Put(tbl, row(1, 1, ""), nil)
	commit(t, a)
}

func TestBlindWritersDoNotConflict(t *testing.T) {
	s := open(t)
	tbl := makeTable(t, s)
	put(t, s, tbl, row(1, 1, "a"))
	a, b := s.Begin(Serializable), s.Begin(Serializable)
	a.Put(tbl, row(1, 1, "by a"), nil)
	b.Merge(tbl, append(key(1, 1), types.NullValue, types.IntValue(types.Int64, 5), types.NullValue), setOf(3), nil)
	b.Delete(tbl, key(1, 2), nil)
	commit(t, a)
	commit(t, b)
	r, _ := get(t, s.Begin(SnapshotReadOnly), tbl, key(1, 1))
	require.Equal(t, "by a", r[2].Text(), "the columns that were not listed are those of the commit before")
	require.EqualValues(t, 5, r[3].Int())
}

func TestBlindWriteBreaksTheLocksOfOthers(t *testing.T) {
	s := open(t)
	tbl := makeTable(t, s)
	reader := s.Begin(Serializable)
	get(t, reader, tbl, key(1, 1))
	blind := s.Begin(Serializable)
	blind.Put(tbl, row(1, 1, ""), nil)
	commit(t, blind)
	reader.Put(tbl, row(3, 3, ""), nil)
	requireConflict(t, reader.Commit(t.Context()))
}

func TestReadOnlyCommitNeverFails(t *testing.T) {
	s := open(t)
	tbl := makeTable(t, s)
	put(t, s, tbl, row(1, 1, "a"))
	for _, mode := range []Mode{Serializable, SnapshotReadOnly, SnapshotReadWrite} {
		tx := s.Begin(mode)
		get(t, tx, tbl, key(1, 1))
		drain(t, tx.Scan(tbl, Range{}, false, nil, nil), 9)
		put(t, s, tbl, row(1, 1, "changed"), row(1, 2, ""))
		commit(t, tx)
	}
}

func TestSnapshotDoesNotMove(t *testing.T) {
	s := open(t)
	tbl := makeTable(t, s)
	put(t, s, tbl, row(1, 1, "a"))
	tx := s.Begin(SnapshotReadOnly)
	put(t, s, tbl, row(1, 1, "b"))
	r, _ := get(t, tx, tbl, key(1, 1))
	require.Equal(t, "b", r[2].Text(), "the snapshot is taken at the first read")
	put(t, s, tbl, row(1, 1, "c"), row(1, 2, ""))
	r, _ = get(t, tx, tbl, key(1, 1))
	require.Equal(t, "b", r[2].Text())
	require.Len(t, drain(t, tx.Scan(tbl, Range{}, false, nil, nil), 9), 1)
	commit(t, tx)
}

func TestSnapshotReadWriteChecksOnlyWrites(t *testing.T) {
	s := open(t)
	tbl := makeTable(t, s)
	put(t, s, tbl, row(1, 1, "a"), row(1, 2, "b"))

	skew := s.Begin(SnapshotReadWrite)
	get(t, skew, tbl, key(1, 1))
	put(t, s, tbl, row(1, 1, "changed"))
	skew.Put(tbl, row(1, 2, "from an old read"), nil)
	commit(t, skew)

	lost := s.Begin(SnapshotReadWrite)
	get(t, lost, tbl, key(1, 1))
	put(t, s, tbl, row(1, 2, "changed"))
	lost.Put(tbl, row(1, 2, "mine"), nil) // never read, still a write-write conflict
	requireConflict(t, lost.Commit(t.Context()))
}

func TestSchemeChangeUnderOpenWrites(t *testing.T) {
	s := open(t)
	tbl := makeTable(t, s)
	alter := func() {
		require.NoError(t, s.AlterTable(tablePath, func(d Table) (Table, error) { return d, nil }))
	}
	t.Run("blind write", func(t *testing.T) {
		tx := s.Begin(Serializable)
		tx.Put(tbl, row(1, 1, ""), nil)
		alter()
		require.ErrorIs(t, tx.Commit(t.Context()), ErrSchemeChanged)
	})
	t.Run("read with the old shape after the change", func(t *testing.T) {
		tx := s.Begin(Serializable)
		defer tx.Rollback()
		_, _, err := tx.Get(tbl, key(1, 1), nil, nil)
		require.ErrorIs(t, err, ErrSchemeChanged)
	})
	t.Run("both shapes in one transaction", func(t *testing.T) {
		before := table(t, s, tablePath)
		tx := s.Begin(Serializable)
		tx.Put(before, row(1, 1, ""), nil)
		alter()
		_, _, err := tx.Get(table(t, s, tablePath), key(1, 1), nil, nil)
		require.ErrorIs(t, err, ErrSchemeChanged)
		require.ErrorIs(t, tx.Commit(t.Context()), ErrSchemeChanged)
	})
	t.Run("reads only", func(t *testing.T) {
		tx := s.Begin(Serializable)
		get(t, tx, table(t, s, tablePath), key(1, 1))
		alter()
		commit(t, tx)
	})
}

func TestTransactionThatOutlivesItsHistoryConflicts(t *testing.T) {
	s := open(t)
	tbl := makeTable(t, s)
	tx := s.Begin(Serializable)
	get(t, tx, tbl, key(1, 1))
	put(t, s, tbl, row(2, 2, ""))
	s.mu.Lock()
	s.history.dropOldest()
	s.mu.Unlock()
	tx.Put(tbl, row(1, 1, ""), nil)
	requireConflict(t, tx.Commit(t.Context()))
}

// An older transaction keeps history that a younger one's snapshot includes.
func TestOnlyLaterCommitsConflict(t *testing.T) {
	s := open(t)
	tbl := makeTable(t, s)
	older := s.Begin(Serializable)
	get(t, older, tbl, key(9, 9))
	put(t, s, tbl, row(1, 1, ""), row(1, 2, ""))

	point, scan := s.Begin(Serializable), s.Begin(Serializable)
	get(t, point, tbl, key(1, 1))
	drain(t, scan.Scan(tbl, whole(1), false, nil, nil), 9)
	put(t, s, tbl, row(5, 5, "elsewhere"))
	point.Put(tbl, row(2, 1, ""), nil)
	commit(t, point)

	put(t, s, tbl, row(1, 2, "behind an older change in the range"))
	scan.Put(tbl, row(2, 2, ""), nil)
	requireConflict(t, scan.Commit(t.Context()))
	older.Put(tbl, row(9, 9, ""), nil)
	commit(t, older)
}

func TestHistoryIsForgottenWhenNobodyNeedsIt(t *testing.T) {
	s := open(t)
	tbl := makeTable(t, s)
	put(t, s, tbl, row(1, 1, ""))
	require.Zero(t, s.history.last.Len())
	old, young := s.Begin(Serializable), s.Begin(SnapshotReadWrite)
	get(t, old, tbl, key(1, 1))
	put(t, s, tbl, row(1, 2, ""))
	get(t, young, tbl, key(1, 1))
	put(t, s, tbl, row(1, 3, ""), row(1, 2, "again"))
	require.Equal(t, 2, s.history.last.Len())
	old.Rollback()
	require.Equal(t, 2, s.history.keys, "only what came after the snapshot of the other is kept")
	young.Rollback()
	require.Zero(t, s.history.last.Len())
	require.Empty(t, s.history.commits)
}
