package store

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
)

const segmentRows = 12

// segments makes a store with a table and several logs that are not flushed.
func segments(t *testing.T) (*Store, *vfs.MemFS) {
	mem := vfs.NewCrashableMem()
	s, err := Open(Options{Dir: "data", TTLInterval: -1, fs: mem, memTableBytes: 1 << 20, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	tbl := makeTable(t, s)
	put(t, s, tbl, row(2, 0, "in a table"))
	require.NoError(t, s.db.Flush())
	for k := 1; k < segmentRows; k++ {
		put(t, s, tbl, row(2, k, strings.Repeat("x", 100_000)))
	}
	return s, mem
}

// killed is what the end of the process leaves, without that of the machine.
func killed(mem *vfs.MemFS) *vfs.MemFS {
	return mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 2))})
}

func readFile(t *testing.T, fs vfs.FS, path string) []byte {
	t.Helper()
	info, err := fs.Stat(path)
	require.NoError(t, err)
	b := make([]byte, info.Size())
	if len(b) == 0 {
		return b
	}
	f, err := fs.Open(path)
	require.NoError(t, err)
	_, err = f.ReadAt(b, 0)
	require.NoError(t, errors.Join(err, f.Close()))
	return b
}

func writeFile(t *testing.T, fs vfs.FS, path string, b []byte) {
	t.Helper()
	f, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	require.NoError(t, err)
	_, err = f.Write(b)
	require.NoError(t, errors.Join(err, f.Sync(), f.Close()))
}

// TestMissingOrDamagedFileIsNoticed spoils each file of a data folder in turn.
// Either everything is there all the same, or the file is named: what is left
// is never taken for all.
func TestMissingOrDamagedFileIsNoticed(t *testing.T) {
	s, mem := segments(t)
	folders := map[string]*vfs.MemFS{"after a kill": killed(mem)}
	require.NoError(t, s.Close())
	folders["after a stop"] = killed(mem)
	spoil := map[string]func(b []byte) []byte{
		"removed":      nil,
		"emptied":      func(b []byte) []byte { return nil },
		"cut":          func(b []byte) []byte { return b[:len(b)*2/3] },
		"cut by one":   func(b []byte) []byte { return b[:len(b)-1] },
		"first byte":   func(b []byte) []byte { b[0] ^= 1; return b },
		"middle byte":  func(b []byte) []byte { b[len(b)/2] ^= 0x10; return b },
		"a later byte": func(b []byte) []byte { b[len(b)*9/10] ^= 0x80; return b },
	}
	for folder, mem := range folders {
		names, err := mem.List("data")
		require.NoError(t, err)
		require.GreaterOrEqual(t, countLogs(names), 3)
		for _, name := range names {
			for how, change := range spoil {
				t.Run(fmt.Sprint(folder, "/", name, "/", how), func(t *testing.T) {
					fs := killed(mem)
					path := "data/" + name
					if change == nil {
						require.NoError(t, fs.Remove(path))
					} else if b := readFile(t, fs, path); len(b) > 0 {
						writeFile(t, fs, path, change(b))
					}
					noticed := requireAllOrNamed(t, fs, name)
					if change == nil && mustBeThere(name) {
						require.True(t, noticed)
					}
				})
			}
		}
	}
}

func countLogs(names []string) (n int) {
	for _, name := range names {
		if logFile.MatchString(name) {
			n++
		}
	}
	return n
}

// mustBeThere reports whether a file is always needed; a table may be one that
// the engine was about to delete.
func mustBeThere(name string) bool {
	return logFile.MatchString(name) || manifestFile.MatchString(name) || strings.HasPrefix(name, "marker.")
}

// requireAllOrNamed reports whether the file was found to be wrong.
func requireAllOrNamed(t *testing.T, fs vfs.FS, name string) (noticed bool) {
	t.Helper()
	s, err := Open(Options{Dir: "data", TTLInterval: -1, fs: fs, Logger: slog.New(slog.DiscardHandler)})
	if err == nil {
		defer func() { require.NoError(t, s.Close()) }()
		tx := s.Begin(SnapshotReadOnly)
		defer tx.Rollback()
		it := tx.Scan(table(t, s, tablePath), whole(2), false, nil, nil)
		rows, ok := 0, true
		for ok {
			if _, ok, err = it.Next(); ok {
				rows++
			}
		}
		if err == nil {
			require.Equal(t, segmentRows, rows, "served around what is missing")
			return false
		}
	}
	require.ErrorIs(t, err, ErrCorrupt)
	require.NotContains(t, err.Error(), "\n")
	if name != ledgerFile { // one that is cut asks for files that are rightly gone
		require.ErrorContains(t, err, regexp.MustCompile(`[.-]\d+.*`).ReplaceAllString(name, ""))
	}
	return true
}

// The engine takes a manifest that lost its last entry for one that was never
// written, and reads on in logs that are gone.
func TestCutManifestIsNoticed(t *testing.T) {
	s, mem := segments(t)
	require.NoError(t, s.db.Flush())
	put(t, s, table(t, s, tablePath), row(2, segmentRows, "the latest that is synced"))
	folder := killed(mem)
	require.NoError(t, s.Close())
	names, err := folder.List("data")
	require.NoError(t, err)
	manifest := names[slices.IndexFunc(names, manifestFile.MatchString)]
	b := readFile(t, folder, "data/"+manifest)
	writeFile(t, folder, "data/"+manifest, b[:len(b)-1])
	require.True(t, requireAllOrNamed(t, folder, manifest))
}

// A commit that was cut off by a kill leaves a torn record behind the synced ones.
func TestTornTailIsAccepted(t *testing.T) {
	s, mem := segments(t)
	folder := killed(mem)
	require.NoError(t, s.Close())
	names, err := folder.List("data")
	require.NoError(t, err)
	last := ""
	for _, name := range names {
		if logFile.MatchString(name) {
			last = max(last, name)
		}
	}
	for _, tail := range []string{"\x00", "garbage", strings.Repeat("\x00", 100_000), strings.Repeat("torn", 10_000)} {
		fs := killed(folder)
		writeFile(t, fs, "data/"+last, append(readFile(t, fs, "data/"+last), tail...))
		require.False(t, requireAllOrNamed(t, fs, last))
	}
}

// A folder of the first release has no ledger, and gets one.
func TestFolderOfTheFirstRelease(t *testing.T) {
	s, mem := segments(t)
	require.NoError(t, s.db.Set(schemeKey(""), []byte(`{"format":1,"version":2,"next_table":2}`), pebble.Sync))
	require.NoError(t, s.Close())
	for _, own := range []string{ledgerFile, syncedFile} {
		require.NoError(t, mem.Remove("data/"+own))
	}
	require.False(t, requireAllOrNamed(t, mem, ""))
	s, _ = openOn(t, mem)
	header, _, err := s.loadHeader()
	require.NoError(t, err)
	require.Equal(t, formatVersion, header.Format, "an older program must not write here any more")
	require.Contains(t, s.db.ledger.entries, opened)
	require.NoError(t, s.Close())
}

func TestLedgerIsWrittenAnew(t *testing.T) {
	fs := vfs.NewMem()
	require.NoError(t, fs.MkdirAll("data", folderMode))
	l, err := openLedger(fs, "data")
	require.NoError(t, err)
	writeFile(t, fs, "data/000001.log", []byte("abc"))
	for i := range 3 * ledgerLines {
		require.NoError(t, l.note("000001.log", content{size: int64(i % 3)}))
	}
	require.NoError(t, l.note("000001.log", content{}))
	require.NoError(t, l.close())
	require.Less(t, len(readFile(t, fs, "data/"+ledgerFile)), 40*ledgerLines)
	l, err = openLedger(fs, "data")
	require.NoError(t, err)
	require.Equal(t, map[string]content{"000001.log": {}}, l.entries)
	require.NoError(t, l.close())
}

func FuzzParseLedger(f *testing.F) {
	f.Add([]byte(ledgerLine("000004.log", content{size: 12, sum: 7}) + ledgerLine(opened, content{})))
	f.Add([]byte(ledgerLine("000004.log", content{size: -1}) + "torn"))
	f.Fuzz(func(t *testing.T, b []byte) {
		entries, err := parseLedger(b)
		if err != nil {
			return
		}
		var again strings.Builder
		for name, c := range entries {
			again.WriteString(ledgerLine(name, c))
		}
		same, err := parseLedger([]byte(again.String()))
		require.NoError(t, err)
		require.Equal(t, entries, same)
	})
}

func requirePrivate(t *testing.T, dir string) {
	t.Helper()
	files := 0
	require.NoError(t, filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		require.NoError(t, err)
		info, err := e.Info()
		if errors.Is(err, os.ErrNotExist) { // the engine removes tables that it has compacted
			return nil
		}
		require.NoError(t, err)
		require.Zero(t, info.Mode().Perm()&0o077, "%s has mode %s", path, info.Mode())
		files++
		return nil
	}))
	require.Greater(t, files, 6)
}

// Nobody but its user may read what is stored, whatever the umask is.
func TestDataFolderIsPrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "data")
	log := &lines{}
	o := Options{Dir: dir, TTLInterval: -1, Logger: slog.New(slog.NewTextHandler(log, nil))}
	for run := range 2 {
		s, err := Open(o)
		require.NoError(t, err)
		if run == 0 {
			makeTable(t, s)
		}
		tbl := table(t, s, tablePath)
		for k := range 3 {
			put(t, s, tbl, row(run, k, strings.Repeat("x", 300_000)))
			require.NoError(t, s.db.Flush())
		}
		require.NoError(t, s.db.Compact(t.Context(), []byte{0}, []byte{255}, false))
		requirePrivate(t, filepath.Dir(dir))
		require.NoError(t, s.Close())
	}
	require.Zero(t, log.count("\n"), "%s", &log.text)

	// As the first release left it.
	require.NoError(t, filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			return os.Chmod(path, 0o755)
		}
		return errors.Join(err, os.Chmod(path, 0o644))
	}))
	s, err := Open(o)
	require.NoError(t, err)
	requirePrivate(t, dir)
	require.NoError(t, s.Close())
	require.Equal(t, 1, log.count("\n"), "%s", &log.text)
	require.Equal(t, 1, log.count("was open to other users"))
}

// A folder that holds something else as well is not the store's to close.
func TestFolderOfOthersIsLeftOpen(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "notes.txt"), nil, 0o644))
	log := &lines{}
	s, err := Open(Options{Dir: dir, TTLInterval: -1, Logger: slog.New(slog.NewTextHandler(log, nil))})
	require.NoError(t, err)
	require.NoError(t, s.Close())
	for name, want := range map[string]os.FileMode{"": 0o755, "notes.txt": 0o644, ledgerFile: fileMode} {
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Equal(t, want, info.Mode().Perm(), name)
	}
	require.Equal(t, 1, log.count("is open to other users"))
}
