package store

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// ledger is the store's own record of the logs and manifests that must lie in
// the data folder, and of how they begin. The engine takes a log that is gone,
// and a manifest that is cut short, for one that was never there, and goes on
// with what is left. Tables need no entry: the manifest names them with their
// size, and each block carries a checksum.
//
// On disk it is a file of lines that is only appended to while the store is
// open, each with a checksum of its own; the latest line of a name is valid.
type ledger struct {
	fs   vfs.FS
	path string

	tail vfs.File // SYNCED: how far the log in use is synced

	mu      sync.Mutex
	file    vfs.File
	lines   int // in the file
	entries map[string]content
}

// content is what a file is known to begin with. A file of size 0 must only be
// there.
type content struct {
	size int64
	sum  uint32 // CRC-32C of the first size bytes
}

// opened is the entry that a store gets once it has been open: from then on its
// folder is never taken for one that is still to be made.
const opened = "opened"

// ledgerLines is after how many lines the ledger is written anew.
const ledgerLines = 1000

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// openLedger reads the ledger of a data folder and checks the folder against
// it. A folder of the first release has none yet.
func openLedger(disk vfs.FS, dir string) (*ledger, error) {
	l := &ledger{fs: disk, path: disk.PathJoin(dir, ledgerFile), entries: map[string]content{}}
	err := l.read()
	if err != nil {
		return nil, err
	}
	if err := l.readTail(dir); err != nil {
		return nil, err
	}
	if err := l.check(dir); err != nil {
		return nil, err
	}
	if l.tail, err = disk.OpenReadWrite(disk.PathJoin(dir, syncedFile), vfs.WriteCategoryUnspecified); err != nil {
		return nil, fmt.Errorf("store: opening %s: %w", syncedFile, err)
	}
	return l, l.rewrite()
}

func (l *ledger) read() error {
	f, err := l.fs.Open(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("store: reading %s: %w", ledgerFile, err)
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		return fmt.Errorf("store: reading %s: %w", ledgerFile, err)
	}
	if l.entries, err = parseLedger(b); err != nil {
		return &FileError{File: ledgerFile, Problem: err.Error()}
	}
	return nil
}

// readTail takes over what is known of the log that was in use. The record is
// never synced itself, so a power cut may take it away or leave an older one,
// which asks for less.
func (l *ledger) readTail(dir string) error {
	f, err := l.fs.Open(l.fs.PathJoin(dir, syncedFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("store: reading %s: %w", syncedFile, err)
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		return fmt.Errorf("store: reading %s: %w", syncedFile, err)
	}
	entries, _ := parseLedger(b)
	for name, c := range entries {
		if have, ok := l.entries[name]; ok && have.size < c.size {
			l.entries[name] = c
		}
	}
	return nil
}

// synced records how far a log is synced, for the price of a write to memory:
// it survives the process, if not the machine.
func (l *ledger) synced(name string, c content) error {
	_, err := l.tail.WriteAt([]byte(fmt.Sprintf("%-79s\n", strings.TrimSuffix(ledgerLine(name, c), "\n"))), 0)
	if err != nil {
		return fmt.Errorf("store: writing %s: %w", syncedFile, err)
	}
	return nil
}

// parseLedger reads the lines. The last may be cut off, as by a crash.
func parseLedger(b []byte) (map[string]content, error) {
	entries := map[string]content{}
	lines := bufio.NewScanner(bytes.NewReader(b[:bytes.LastIndexByte(b, '\n')+1]))
	for n := 1; lines.Scan(); n++ {
		sum, rest, _ := strings.Cut(strings.TrimRight(lines.Text(), " "), " ")
		var name string
		var c content
		_, err := fmt.Sscanf(rest, "%s %d %08x", &name, &c.size, &c.sum)
		if err != nil || sum != checksum(rest) {
			return nil, fmt.Errorf("is damaged in line %d", n)
		}
		if c.size < 0 {
			delete(entries, name)
		} else {
			entries[name] = c
		}
	}
	return entries, lines.Err()
}

func checksum(line string) string {
	return fmt.Sprintf("%08x", crc32.Checksum([]byte(line), castagnoli))
}

func ledgerLine(name string, c content) string {
	rest := fmt.Sprintf("%s %d %08x", name, c.size, c.sum)
	return checksum(rest) + " " + rest + "\n"
}

// check holds the folder against the entries.
func (l *ledger) check(dir string) error {
	list, err := l.fs.List(dir)
	if err != nil {
		return fmt.Errorf("store: reading data folder: %w", err)
	}
	var wrong []*FileError
	for _, name := range slices.Sorted(maps.Keys(l.entries)) {
		if name == opened {
			continue
		}
		if problem := l.problem(l.fs.PathJoin(dir, name), l.entries[name]); problem != "" {
			wrong = append(wrong, &FileError{File: name, Problem: problem})
		}
	}
	_, open := l.entries[opened]
	for _, marker := range []string{manifestMarker, formatMarker} {
		if (open || slices.ContainsFunc(list, tableFile.MatchString)) && !hasFile(list, marker) {
			wrong = append(wrong, &FileError{File: marker, Problem: "is missing"})
		}
	}
	switch len(wrong) {
	case 0:
		return nil
	case 1:
	default:
		wrong[0].Problem += fmt.Sprintf(" (and %d more files are missing or damaged)", len(wrong)-1)
	}
	return wrong[0]
}

// problem says what is wrong with a file, or nothing.
func (l *ledger) problem(path string, want content) string {
	f, err := l.fs.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "is missing"
	}
	if err != nil {
		return "cannot be read: " + err.Error()
	}
	defer f.Close()
	sum := crc32.New(castagnoli)
	switch n, err := io.CopyN(sum, f, want.size); {
	case errors.Is(err, io.EOF):
		return fmt.Sprintf("is cut short: %d bytes are left of at least %d", n, want.size)
	case err != nil:
		return "cannot be read: " + err.Error()
	case sum.Sum32() != want.sum:
		return "is damaged: its checksum is wrong"
	}
	return ""
}

// rewrite begins a new file with the entries as they are.
func (l *ledger) rewrite() error {
	if err := closeFile(&l.file); err != nil {
		return err
	}
	next := l.path + ".new"
	f, err := l.fs.Create(next, vfs.WriteCategoryUnspecified)
	if err != nil {
		return fmt.Errorf("store: writing %s: %w", ledgerFile, err)
	}
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(l.entries)) {
		text.WriteString(ledgerLine(name, l.entries[name]))
	}
	if _, err = io.WriteString(f, text.String()); err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = l.fs.Rename(next, l.path)
	}
	if err == nil {
		err = syncDir(l.fs, l.fs.PathDir(l.path))
	}
	if err != nil {
		return fmt.Errorf("store: writing %s: %w", ledgerFile, errors.Join(err, f.Close()))
	}
	l.file, l.lines = f, len(l.entries)
	return nil
}

func syncDir(disk vfs.FS, dir string) error {
	d, err := disk.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// note makes it durable that the file must begin so from now on.
func (l *ledger) note(name string, c content) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if have, ok := l.entries[name]; ok && have == c {
		return nil
	}
	l.entries[name] = c
	return l.append(ledgerLine(name, c))
}

// forget makes it durable that the file may be gone from now on.
func (l *ledger) forget(name string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.entries[name]; !ok {
		return nil
	}
	delete(l.entries, name)
	return l.append(ledgerLine(name, content{size: -1}))
}

func (l *ledger) append(line string) error {
	if l.lines >= ledgerLines {
		return l.rewrite()
	}
	l.lines++
	if _, err := io.WriteString(l.file, line); err != nil {
		return fmt.Errorf("store: writing %s: %w", ledgerFile, err)
	}
	if err := l.file.SyncData(); err != nil {
		return fmt.Errorf("store: writing %s: %w", ledgerFile, err)
	}
	return nil
}

func (l *ledger) close() error {
	return errors.Join(closeFile(&l.file), closeFile(&l.tail))
}

func closeFile(at *vfs.File) error {
	f := *at
	if f == nil {
		return nil
	}
	*at = nil
	return f.Close()
}
