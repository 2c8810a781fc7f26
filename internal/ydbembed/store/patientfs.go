package store

import (
	"io"
	"os"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// patientFS lets what is written wait for room on the disk, and tables after a
// failure for the end of the pause.
type patientFS struct {
	vfs.FS
	space *space
}

func (p patientFS) Unwrap() vfs.FS { return p.FS }

// open runs an operation that opens a file for writing.
func (p patientFS) open(op func() (vfs.File, error)) (f vfs.File, err error) {
	err = p.space.persist(func() error {
		f, err = op()
		return err
	})
	if err != nil {
		return nil, err
	}
	return &patientFile{f, p.space}, nil
}

func (p patientFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if tableFile.MatchString(p.PathBase(name)) {
		p.space.rest()
	}
	return p.open(func() (vfs.File, error) { return p.FS.Create(name, c) })
}

func (p patientFS) OpenReadWrite(name string, c vfs.DiskWriteCategory, o ...vfs.OpenOption) (vfs.File, error) {
	return p.open(func() (vfs.File, error) { return p.FS.OpenReadWrite(name, c, o...) })
}

func (p patientFS) ReuseForWrite(old, name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return p.open(func() (vfs.File, error) { return p.FS.ReuseForWrite(old, name, c) })
}

func (p patientFS) OpenDir(name string) (vfs.File, error) {
	f, err := p.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return &patientFile{f, p.space}, nil
}

func (p patientFS) Link(old, name string) error {
	return p.space.persist(func() error { return p.FS.Link(old, name) })
}

func (p patientFS) Remove(name string) error {
	return p.space.persist(func() error { return p.FS.Remove(name) })
}

func (p patientFS) RemoveAll(name string) error {
	return p.space.persist(func() error { return p.FS.RemoveAll(name) })
}

func (p patientFS) Rename(old, name string) error {
	return p.space.persist(func() error { return p.FS.Rename(old, name) })
}

func (p patientFS) MkdirAll(dir string, mode os.FileMode) error {
	return p.space.persist(func() error { return p.FS.MkdirAll(dir, mode) })
}

func (p patientFS) Lock(name string) (lock io.Closer, err error) {
	err = p.space.persist(func() error {
		lock, err = p.FS.Lock(name)
		return err
	})
	return lock, err
}

// patientFile goes on with a write where the disk ended. A sync that fails is
// never repeated: the system may have dropped what it could not write, and the
// next sync would not say so.
type patientFile struct {
	vfs.File
	space *space
}

func (f *patientFile) Write(b []byte) (n int, err error) {
	err = f.space.persist(func() error {
		m, err := f.File.Write(b[n:])
		n += m
		return err
	})
	return n, err
}

func (f *patientFile) WriteAt(b []byte, at int64) (n int, err error) {
	err = f.space.persist(func() error {
		m, err := f.File.WriteAt(b[n:], at+int64(n))
		n += m
		return err
	})
	return n, err
}

func (f *patientFile) Preallocate(offset, length int64) error {
	if err := f.File.Preallocate(offset, length); err != nil && !noRoom(err) {
		return err
	}
	return nil // a hint only
}

func (f *patientFile) Sync() error { return f.space.slow(f.File.Sync()) }

func (f *patientFile) SyncData() error { return f.space.slow(f.File.SyncData()) }

func (f *patientFile) SyncTo(length int64) (full bool, err error) {
	full, err = f.File.SyncTo(length)
	return full, f.space.slow(err)
}
