package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// The data folder holds its user's payloads: nobody else may read it.
const (
	folderMode fs.FileMode = 0o700
	fileMode   fs.FileMode = 0o600
)

// privateFS is the operating system's file system, where what is made is for
// its user alone, whatever the umask of the process.
type privateFS struct{ vfs.FS }

func (p privateFS) Unwrap() vfs.FS { return p.FS }

func (p privateFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return private(name)(p.FS.Create(name, c))
}

func (p privateFS) OpenReadWrite(name string, c vfs.DiskWriteCategory, o ...vfs.OpenOption) (vfs.File, error) {
	return private(name)(p.FS.OpenReadWrite(name, c, o...))
}

func (p privateFS) ReuseForWrite(old, name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return private(name)(p.FS.ReuseForWrite(old, name, c))
}

func (p privateFS) MkdirAll(dir string, _ os.FileMode) error { return p.FS.MkdirAll(dir, folderMode) }

func (p privateFS) Lock(name string) (io.Closer, error) {
	lock, err := p.FS.Lock(name)
	if err != nil {
		return nil, err
	}
	if err = os.Chmod(name, fileMode); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}

// private gives a file that was opened for writing its mode.
func private(name string) func(vfs.File, error) (vfs.File, error) {
	return func(f vfs.File, err error) (vfs.File, error) {
		if err != nil {
			return f, err
		}
		if err := os.Chmod(name, fileMode); err != nil {
			_ = f.Close() // nothing was written yet
			return nil, err
		}
		return f, nil
	}
}

// tighten takes a data folder and the store's files in it away from group and
// others: the first release made them readable for all. A folder that holds
// other things, or belongs to somebody else as a mounted volume may, stays.
func tighten(dir string, log *slog.Logger) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("store: reading data folder: %w", err)
	}
	ours, changed := false, 0
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || !anyFile.MatchString(e.Name()) {
			continue
		}
		ours = true
		if info.Mode().Perm()&^fileMode == 0 {
			continue
		}
		if err := os.Chmod(filepath.Join(dir, e.Name()), fileMode); err != nil {
			return fmt.Errorf("store: tightening the mode of %s: %w", e.Name(), err)
		}
		changed++
	}
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("store: reading data folder: %w", err)
	}
	before := info.Mode()
	switch {
	case before.Perm()&^folderMode == 0:
	case len(entries) > 0 && !ours, before&fs.ModeSticky != 0, os.Chmod(dir, folderMode) != nil:
		log.Warn("data folder is open to other users; the files in it are not", "dir", dir, "mode", before.Perm().String())
		return nil
	case ours:
		changed++
	}
	if changed > 0 {
		log.Info("data folder was open to other users and is now for its user alone", "dir", dir, "mode", before.Perm().String())
	}
	return nil
}
