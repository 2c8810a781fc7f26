package store

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
)

func TestDamagedRowIsAnError(t *testing.T) {
	s := open(t)
	tbl := makeTable(t, s)
	k, err := rowKey(tbl, key(1, 1), true)
	require.NoError(t, err)
	require.NoError(t, s.db.Set(k, []byte{3, 200, 1}, pebble.Sync)) // longer than it is
	require.NoError(t, s.db.Set(append(tablePrefix(tbl), 9, 9), nil, pebble.Sync))

	tx := s.Begin(Serializable)
	_, _, err = tx.Get(tbl, key(1, 1), nil, nil)
	require.ErrorIs(t, err, ErrCorrupt)
	require.ErrorContains(t, err, tablePath)
	for _, reverse := range []bool{false, true} {
		it := tx.Scan(tbl, Range{}, reverse, nil, nil)
		_, ok, err := it.Next()
		require.ErrorIs(t, err, ErrCorrupt)
		require.False(t, ok)
		_, _, err = it.Next()
		require.ErrorIs(t, err, ErrCorrupt, "and it stays so")
	}
	tx.Merge(tbl, append(key(1, 1), text("x"), types.NullValue, types.NullValue), setOf(2), nil)
	require.ErrorIs(t, tx.Commit(t.Context()), ErrCorrupt)
}

func TestDamagedCatalogIsAnError(t *testing.T) {
	for name, spoil := range map[string]func(*pebble.DB) error{
		"header": func(db *pebble.DB) error { return db.Set(schemeKey(""), []byte("{"), pebble.Sync) },
		"entry":  func(db *pebble.DB) error { return db.Set(schemeKey(tablePath), []byte("nonsense"), pebble.Sync) },
		"table without columns": func(db *pebble.DB) error {
			return db.Set(schemeKey(tablePath), []byte(`{"kind":1}`), pebble.Sync)
		},
		"key out of range": func(db *pebble.DB) error {
			return db.Set(schemeKey(tablePath), []byte(`{"kind":1,"table":{"key":[7]}}`), pebble.Sync)
		},
		"default cut off": func(db *pebble.DB) error {
			return db.Set(schemeKey(tablePath), []byte(`{"kind":1,"table":{"columns":[{"type":"Utf8","default":"CQ=="}]}}`), pebble.Sync)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s, err := Open(Options{Dir: dir, TTLInterval: -1})
			require.NoError(t, err)
			require.NoError(t, spoil(s.db.DB))
			require.NoError(t, s.Close())
			_, err = Open(Options{Dir: dir, TTLInterval: -1})
			require.ErrorIs(t, err, ErrCorrupt)
		})
	}
}

func TestOpenTellsWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(Options{Dir: dir, TTLInterval: -1})
	require.NoError(t, err)
	_, err = Open(Options{Dir: dir, TTLInterval: -1})
	require.ErrorContains(t, err, "is another server using it?")
	require.NoError(t, s.db.Set(schemeKey(""), []byte(`{"format":99}`), pebble.Sync))
	require.NoError(t, s.Close())
	_, err = Open(Options{Dir: dir, TTLInterval: -1})
	require.ErrorContains(t, err, "data folder has format 99, this program reads 2")
	_, err = Open(Options{Database: "local"})
	require.ErrorIs(t, err, ErrBadScheme)
}

// A commit whose sync failed is not acknowledged, and nothing is after it.
func TestFailedSync(t *testing.T) {
	var broken atomic.Bool
	fault := errorfs.InjectorFunc(func(op errorfs.Op) error {
		switch op.Kind {
		case errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo:
			if broken.Load() && strings.HasSuffix(op.Path, ".log") {
				return errors.New("disk on fire")
			}
		}
		return nil
	})
	s, err := Open(Options{Dir: "data", TTLInterval: -1, fs: errorfs.Wrap(vfs.NewMem(), fault)})
	require.NoError(t, err)
	tbl := makeTable(t, s)
	put(t, s, tbl, row(1, 1, "fine"))
	broken.Store(true)

	tx := s.Begin(Serializable)
	tx.Put(tbl, row(1, 2, "lost"), nil)
	err = tx.Commit(context.Background())
	require.ErrorIs(t, err, ErrUndetermined)
	require.ErrorContains(t, err, "disk on fire")

	reader := s.Begin(SnapshotReadOnly)
	get(t, reader, tbl, key(1, 2))
	require.ErrorIs(t, reader.Commit(context.Background()), ErrFailed, "it saw what is not on disk")
	tx = s.Begin(Serializable)
	tx.Put(tbl, row(1, 3, ""), nil)
	err = tx.Commit(context.Background())
	require.ErrorIs(t, err, ErrFailed)
	require.NotErrorIs(t, err, ErrUndetermined, "it never began")
	require.ErrorIs(t, s.MetaPut("a", nil), ErrFailed)
	require.ErrorIs(t, s.DropTable(tablePath), ErrFailed)
	broken.Store(false)
	_ = s.Close() // what it reports of a broken disk is the engine's affair
}

func FuzzDecodeRow(f *testing.F) {
	def := testTable(tablePath)
	seven := types.IntValue(types.Int64, 7)
	for i := range def.Columns {
		def.Columns[i].ID = uint32(2*i + 1) // as after some columns were dropped
	}
	def.Columns[4].Initial = &seven
	def.ID, def.NextColumnID = 1, 20
	k, err := rowKey(&def, key(1, 2), true)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(k, appendRow(nil, &def, row(1, 2, "text"), nil), uint8(0))
	f.Add(k, []byte{4, 0, 5, 3, 'a', 'b'}, uint8(7))
	f.Fuzz(func(t *testing.T, key, value []byte, mask uint8) {
		var need []bool
		if mask != 0 {
			need = make([]bool, len(def.Columns))
			for i := range need {
				need[i] = mask>>i&1 == 1
			}
		}
		row, _, err := decodeRow(&def, key, value, need)
		if err == nil && len(row) != len(def.Columns) {
			t.Fatalf("row of %d values", len(row))
		}
		if err != nil && !errors.Is(err, ErrCorrupt) {
			t.Fatal(err)
		}
	})
}
