package store

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"

	"github.com/cockroachdb/pebble/v2"
)

// Errors of the scheme and of transactions; match them with errors.Is.
var (
	ErrClosed        = errors.New("store: closed")
	ErrPathExists    = errors.New("store: path exists")
	ErrNotFound      = errors.New("store: path not found")
	ErrNotEmpty      = errors.New("store: directory is not empty")
	ErrNotTable      = errors.New("store: path is not a table")
	ErrNotDirectory  = errors.New("store: path is not a directory")
	ErrNotNode       = errors.New("store: path is not a coordination node")
	ErrBadScheme     = errors.New("store: invalid scheme")
	ErrSchemeChanged = errors.New("store: scheme of a table changed under the transaction")
	ErrTxDone        = errors.New("store: transaction has ended")
	ErrReadOnly      = errors.New("store: write in a read-only transaction")
	ErrUndetermined  = errors.New("store: commit may or may not survive a crash")
	ErrCorrupt       = errors.New("store: stored bytes are damaged")
	ErrNoSpace       = errors.New("store: the disk is full")
	ErrStalled       = errors.New("store: the disk fails: what must be written is tried again")
	ErrFailed        = errors.New("store: the disk failed: nothing is written until the next start")
)

// FileError names a file of the data folder that is missing or damaged. It is
// an ErrCorrupt.
type FileError struct {
	File    string // without its folder
	Problem string
}

func (e *FileError) Error() string { return "store: file " + e.File + " " + e.Problem }

// Is makes the error an ErrCorrupt.
func (e *FileError) Is(target error) bool { return target == ErrCorrupt }

// explain makes an error of the engine that blames a file a FileError.
func explain(err error) error {
	var known *FileError
	if err == nil || errors.As(err, &known) {
		return err
	}
	var failed *fs.PathError
	if info := pebble.ExtractDataCorruptionInfo(err); info != nil {
		return &FileError{File: filepath.Base(info.Path), Problem: "is damaged"}
	}
	if errors.As(err, &failed) && anyFile.MatchString(filepath.Base(failed.Path)) {
		return &FileError{File: filepath.Base(failed.Path), Problem: "cannot be read: " + failed.Err.Error()}
	}
	return err
}

// explainOpen does the same for an error of opening the engine, which names a
// file in its text at best.
func explainOpen(err error) error {
	err = explain(err)
	var known *FileError
	if errors.As(err, &known) {
		return err
	}
	all := fmt.Sprintf("%+v", err) // with details such as the number of a log
	for _, p := range []struct {
		pattern *regexp.Regexp
		file    string
	}{{logNumber, "%06s.log"}, {tableNumber, "%06s.sst"}, {fileName, "%s"}, {optionsSyntax, "OPTIONS%.0s"}} {
		if m := p.pattern.FindStringSubmatch(all); m != nil {
			return &FileError{File: fmt.Sprintf(p.file, m[1]), Problem: "is missing or damaged: " + err.Error()}
		}
	}
	return fmt.Errorf("store: opening: %w", err)
}

// ConflictError says that a commit lost against an earlier one: a row that the
// transaction read (or, under SnapshotReadWrite, wrote) changed after its
// snapshot. The transaction had no effect and may be run again.
type ConflictError struct{ Table string }

// Error names the table whose lock was broken.
func (e *ConflictError) Error() string {
	return "store: transaction locks invalidated, table " + e.Table
}
