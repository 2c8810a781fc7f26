package store

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/require"
)

const testMemTable = 128 << 10

// disk is a file system in memory that is full for some operations on demand.
type disk struct {
	vfs.FS
	mem  *vfs.MemFS
	free atomic.Uint64 // what it says of itself
	full atomic.Bool
	hits atomic.Int64 // operations that were refused
}

func newDisk(mem *vfs.MemFS, match func(errorfs.Op) bool) *disk {
	d := &disk{mem: mem}
	d.free.Store(1 << 30)
	d.FS = errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if d.full.Load() && match(op) {
			d.hits.Add(1)
			return syscall.ENOSPC
		}
		return nil
	}))
	return d
}

func (d *disk) GetDiskUsage(string) (vfs.DiskUsage, error) {
	return vfs.DiskUsage{AvailBytes: d.free.Load(), TotalBytes: 2 << 30}, nil
}

// lines is a log.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) count(what string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), what)
}

func openOn(t *testing.T, fs vfs.FS) (*Store, *lines) {
	t.Helper()
	log := &lines{}
	s, err := Open(Options{Dir: "data", TTLInterval: -1, fs: fs, memTableBytes: testMemTable, Logger: slog.New(slog.NewTextHandler(log, nil))})
	require.NoError(t, err)
	return s, log
}

// reopen opens a copy of what a crash would leave.
func reopen(t *testing.T, mem *vfs.MemFS) *Store {
	t.Helper()
	s, _ := openOn(t, mem.CrashClone(vfs.CrashCloneCfg{}))
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// at matches operations on files by the end or the beginning of their names.
func at(part string, kinds ...errorfs.OpKind) func(errorfs.Op) bool {
	return func(op errorfs.Op) bool {
		name := op.Path[strings.LastIndexByte(op.Path, '/')+1:]
		for _, k := range kinds {
			if k == op.Kind && (strings.HasSuffix(name, part) || strings.HasPrefix(name, part)) {
				return true
			}
		}
		return false
	}
}

// places are where the disk can be found full.
var places = map[string]struct {
	match     func(errorfs.Op) bool
	unsettled bool // what is visible may not be on disk yet
}{
	"log written":      {match: at(".log", errorfs.OpFileWrite), unsettled: true},
	"log made":         {match: at(".log", errorfs.OpCreate, errorfs.OpReuseForWrite)},
	"table made":       {match: at(".sst", errorfs.OpCreate)},
	"table written":    {match: at(".sst", errorfs.OpFileWrite)},
	"table synced":     {match: at(".sst", errorfs.OpFileSync, errorfs.OpFileSyncData)},
	"manifest written": {match: at("MANIFEST", errorfs.OpFileWrite)},
	"ledger written":   {match: at("LEDGER", errorfs.OpFileWrite)},
	"all written": {unsettled: true, match: func(op errorfs.Op) bool {
		return op.Kind == errorfs.OpFileWrite || op.Kind == errorfs.OpCreate
	}},
}

// fill commits until the engine flushes and finds the disk full, and returns how many rows were acknowledged.
func fill(t *testing.T, s *Store, tbl *Table) (acknowledged int) {
	t.Helper()
	for k := 0; ; k++ {
		tx := s.Begin(Serializable)
		tx.Put(tbl, row(2, k, strings.Repeat("x", 10_000)), nil)
		if err := tx.Commit(context.Background()); err != nil {
			require.ErrorIs(t, err, ErrNoSpace)
			return k
		}
		require.Less(t, k, 10_000, "the full disk was never noticed")
	}
}

func requireRows(t *testing.T, s *Store, least int) {
	t.Helper()
	tx := s.Begin(SnapshotReadOnly)
	defer tx.Rollback()
	rows := drain(t, tx.Scan(table(t, s, tablePath), whole(2), false, nil, nil), 1<<30)
	require.GreaterOrEqual(t, len(rows), least, "an acknowledged commit is lost")
}

func TestFullDisk(t *testing.T) {
	for name, place := range places {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := newDisk(vfs.NewCrashableMem(), place.match)
				s, log := openOn(t, d)
				tbl := makeTable(t, s)
				put(t, s, tbl, row(1, 1, "before"))
				d.full.Store(true)
				acknowledged := fill(t, s, tbl)

				reader := s.Begin(SnapshotReadOnly)
				_, found := get(t, reader, tbl, key(1, 1))
				require.True(t, found)
				if err := reader.Commit(t.Context()); !place.unsettled {
					require.NoError(t, err, "reads go on")
				} else if err != nil {
					require.ErrorIs(t, err, ErrNoSpace)
				}
				require.ErrorIs(t, s.MetaPut("a", nil), ErrNoSpace)
				require.ErrorIs(t, s.DropTable(tablePath), ErrNoSpace)
				requireRows(t, reopen(t, d.mem), acknowledged) // as after a kill at this moment

				hits, minute := d.hits.Load(), time.Minute
				time.Sleep(minute)
				require.LessOrEqual(t, d.hits.Load()-hits, 2*int64(minute/roomInterval), "tried without a pause")
				require.Equal(t, 1, log.count("the disk is full"))
				require.Equal(t, 1, log.count("level=ERROR"), "%s", &log.text)

				d.full.Store(false)
				time.Sleep(maxPause + roomCalm + 2*roomInterval)
				require.NoError(t, s.MetaPut("a", nil), "writes are taken again")
				require.Equal(t, 1, log.count("there is room on the disk again"))
				requireRows(t, s, acknowledged)
				put(t, s, tbl, row(1, 2, "after"))
				require.NoError(t, s.Close())
				requireRows(t, reopen(t, d.mem), acknowledged)
			})
		})
	}
}

// What waits for room does not hold up the end.
func TestFullDiskStops(t *testing.T) {
	for name, place := range places {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := newDisk(vfs.NewCrashableMem(), place.match)
				s, log := openOn(t, d)
				tbl := makeTable(t, s)
				d.full.Store(true)
				acknowledged := fill(t, s, tbl)
				began := time.Now()
				err := s.Close()           // of what the engine could not write at last
				if name == "log written" { // elsewhere a commit may be inside the engine, which then stays open
					require.NotErrorIs(t, err, ErrNoSpace)
				}
				require.LessOrEqual(t, time.Since(began), 2*stuckGrace)
				require.LessOrEqual(t, log.count("level=ERROR"), 1, "%s", &log.text)
				requireRows(t, reopen(t, d.mem), acknowledged)
				d.full.Store(false)
				time.Sleep(maxPause + 2*roomInterval) // what was left behind ends
			})
		})
	}
}

func TestLowDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk(vfs.NewMem(), func(errorfs.Op) bool { return false })
		s, log := openOn(t, d)
		tbl := makeTable(t, s)
		put(t, s, tbl, row(1, 1, "fine"))
		d.free.Store(maxReserveBytes - 1)
		for range 3 {
			require.ErrorIs(t, s.MetaPut("a", nil), ErrNoSpace)
		}
		tx := s.Begin(Serializable)
		_, found := get(t, tx, tbl, key(1, 1))
		require.True(t, found)
		require.NoError(t, tx.Commit(t.Context()))
		require.Equal(t, 1, log.count("the disk is full"))

		for range 10 { // as a compaction makes and takes it
			d.free.Store(2 * maxReserveBytes)
			time.Sleep(roomCalm - 2*roomInterval)
			require.ErrorIs(t, s.MetaPut("a", nil), ErrNoSpace)
			d.free.Store(maxReserveBytes)
			time.Sleep(2 * roomInterval)
		}
		require.Zero(t, log.count("there is room on the disk again"))
		d.free.Store(maxReserveBytes + maxReserveBytes/2)
		time.Sleep(roomCalm + 2*roomInterval)
		require.NoError(t, s.MetaPut("a", nil))
		require.Equal(t, 1, log.count("there is room on the disk again"))
		require.ErrorIs(t, s.MetaPut("a", make([]byte, maxReserveBytes/2)), ErrNoSpace, "more than there is room for")
		require.NoError(t, s.MetaPut("a", nil), "others go on")
		require.Equal(t, 1, log.count("the disk is full"))
		require.NoError(t, s.Close())
	})
}

func TestFullDiskAtTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := vfs.NewCrashableMem()
		s, _ := openOn(t, mem)
		put(t, s, makeTable(t, s), row(2, 1, "in the log"))
		d := newDisk(mem.CrashClone(vfs.CrashCloneCfg{}), at(".sst", errorfs.OpCreate))
		require.NoError(t, s.Close())
		d.full.Store(true)
		_, err := Open(Options{Dir: "data", TTLInterval: -1, fs: d, Logger: slog.New(slog.DiscardHandler)})
		require.ErrorIs(t, err, ErrNoSpace)
		d.full.Store(false)
		time.Sleep(2 * roomInterval) // until then the engine holds the folder
		s, _ = openOn(t, d)
		requireRows(t, s, 1)
		require.NoError(t, s.Close())
	})
}

// A log whose sync fails may have lost what it was to hold: nothing is written
// any more, reads go on, and the next start finds what was acknowledged.
func TestFailedLogSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk(vfs.NewCrashableMem(), at(".log", errorfs.OpFileSync, errorfs.OpFileSyncData))
		s, _ := openOn(t, d)
		tbl := makeTable(t, s)
		put(t, s, tbl, row(2, 1, "fine"))
		early := s.Begin(SnapshotReadOnly)
		_, found := get(t, early, tbl, key(2, 1))
		require.True(t, found)
		d.full.Store(true)
		tx := s.Begin(Serializable)
		tx.Put(tbl, row(2, 2, "lost"), nil)
		require.ErrorIs(t, tx.Commit(t.Context()), ErrUndetermined)
		require.ErrorIs(t, s.MetaPut("a", nil), ErrFailed)
		require.NoError(t, early.Commit(t.Context()))
		require.ErrorIs(t, s.Close(), syscall.ENOSPC)
		requireRows(t, reopen(t, d.mem), 1)
	})
}

// The engine begins anew whatever failed in the background: that must not keep
// a processor and the log busy.
func TestFailedBackgroundWorkIsRepeatedSlowly(t *testing.T) {
	for name, broken := range map[string]func(errorfs.Op) bool{
		"flush":      at(".sst", errorfs.OpCreate),
		"compaction": at(".sst", errorfs.OpFileReadAt),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var on atomic.Bool
				var hits atomic.Int64
				fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
					if on.Load() && broken(op) {
						hits.Add(1)
						return errors.New("disk on fire")
					}
					return nil
				}))
				s, log := openOn(t, fs)
				tbl := makeTable(t, s)
				on.Store(true)
				for k := 0; hits.Load() == 0; k++ {
					put(t, s, tbl, row(2, k%20, strings.Repeat("x", 10_000)))
					synctest.Wait()
					require.Less(t, k, 1000, "nothing failed")
				}
				time.Sleep(10 * time.Minute)
				require.LessOrEqual(t, hits.Load(), int64(50))
				require.LessOrEqual(t, log.count("background work failed"), 20)
				on.Store(false)
				time.Sleep(2 * maxPause)
				require.False(t, s.db.pace.failing())
				put(t, s, tbl, row(1, 1, "after"))
				require.NoError(t, s.Close())
			})
		})
	}
}

// What the engine cannot write holds up neither commits, which fail, nor reads,
// nor the end.
func TestFailingFlushIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var broken atomic.Bool
		fails := at(".sst", errorfs.OpCreate)
		s, log := openOn(t, errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
			if broken.Load() && fails(op) {
				return errors.New("disk on fire")
			}
			return nil
		})))
		tbl := makeTable(t, s)
		put(t, s, tbl, row(1, 1, "before"))
		broken.Store(true)
		commit := func(k int) error {
			tx := s.Begin(Serializable)
			tx.Put(tbl, row(2, k, strings.Repeat("x", 10_000)), nil)
			return tx.Commit(t.Context())
		}
		var err error
		for k := 0; err == nil; k++ {
			err = commit(k)
			require.Less(t, k, 1000, "nothing failed")
		}
		require.ErrorIs(t, err, ErrStalled)
		time.Sleep(2 * maxPause)
		require.ErrorIs(t, commit(0), ErrStalled)
		reader := s.Begin(SnapshotReadOnly)
		_, found := get(t, reader, tbl, key(1, 1))
		require.True(t, found)
		reader.Rollback()
		began := time.Now()
		require.ErrorIs(t, s.Close(), ErrStalled)
		require.LessOrEqual(t, time.Since(began), 2*stuckGrace)
		require.Zero(t, log.count("the disk is full"))
		broken.Store(false)
		time.Sleep(2 * maxPause) // what was left behind ends
	})
}

// A commit that the engine has taken is in every later snapshot, also when it
// was not recorded yet: the snapshot's reader does so.
func TestSnapshotKnowsItsNumber(t *testing.T) {
	s := open(t)
	tbl := makeTable(t, s)
	put(t, s, tbl, row(1, 1, "before"))
	st := &step{seq: s.seq + 1, keys: []string{"written"}}
	s.next = st
	batch := s.db.NewBatch()
	require.NoError(t, writeSeq(batch, st.seq))
	require.NoError(t, s.db.Apply(batch, pebble.Sync))
	tx := s.Begin(Serializable)
	defer tx.Rollback()
	get(t, tx, tbl, key(1, 1))
	require.Equal(t, st.seq, tx.seq)
	require.Equal(t, st.seq, s.seq)
	require.Nil(t, s.next)
}
