package store

import (
	"hash/crc32"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// ledgerFS keeps the ledger of the logs and manifests that the engine makes. An
// entry follows what is on disk and precedes what depends on it, so that a crash
// in between leaves an entry that asks for less than there is.
type ledgerFS struct {
	vfs.FS
	ledger *ledger
}

func (l ledgerFS) Unwrap() vfs.FS { return l.FS }

func (l ledgerFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := l.FS.Create(name, c)
	return l.made(name, f, err)
}

func (l ledgerFS) ReuseForWrite(old, name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if err := l.ledger.forget(l.PathBase(old)); err != nil {
		return nil, err
	}
	f, err := l.FS.ReuseForWrite(old, name, c)
	return l.made(name, f, err)
}

func (l ledgerFS) Remove(name string) error {
	if err := l.ledger.forget(l.PathBase(name)); err != nil {
		return err
	}
	return l.FS.Remove(name)
}

func (l ledgerFS) made(path string, f vfs.File, err error) (vfs.File, error) {
	name := l.PathBase(path)
	if err != nil || !logFile.MatchString(name) && !manifestFile.MatchString(name) {
		return f, err
	}
	// The name must last before the entry that asks for it.
	if err = syncDir(l.FS, l.PathDir(path)); err == nil {
		err = l.ledger.note(name, content{})
	}
	if err != nil {
		_ = f.Close() // nothing was written yet
		return nil, err
	}
	return &trackedFile{File: f, ledger: l.ledger, name: name}, nil
}

// trackedFile knows what was written from the beginning of a file. A manifest
// is entered at each sync; a log when it is closed, since each commit syncs it.
// What follows the synced part of a log that a crash left open may be torn,
// which the engine looks after.
type trackedFile struct {
	vfs.File
	ledger          *ledger
	name            string
	written, synced content
}

func (f *trackedFile) Write(b []byte) (int, error) {
	sum := crc32.Update(f.written.sum, castagnoli, b) // before: a write may change b
	n, err := f.File.Write(b)
	if err == nil {
		f.written = content{f.written.size + int64(n), sum}
	}
	return n, err
}

func (f *trackedFile) Sync() error { return f.sync(f.File.Sync) }

func (f *trackedFile) SyncData() error { return f.sync(f.File.SyncData) }

func (f *trackedFile) sync(op func() error) error {
	if err := op(); err != nil {
		return err
	}
	f.synced = f.written
	if manifestFile.MatchString(f.name) {
		return f.ledger.note(f.name, f.synced)
	}
	return f.ledger.synced(f.name, f.synced)
}

func (f *trackedFile) Close() error {
	if err := f.File.Close(); err != nil {
		return err
	}
	return f.ledger.note(f.name, f.synced)
}
