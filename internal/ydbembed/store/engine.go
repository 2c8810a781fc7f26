package store

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
)

const (
	cacheBytes = 64 << 20
	// A queue deletes at the head of its key ranges: what the memtable holds is
	// skipped over by every read there, so it is kept small.
	memTableBytes = 8 << 20
)

// openEngine opens the data folder for this process alone.
func openEngine(o Options) (*pebble.DB, *pebble.Lock, error) {
	if err := o.fs.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, nil, fmt.Errorf("store: making data folder: %w", err)
	}
	lock, err := pebble.LockDirectory(o.Dir, o.fs)
	if err != nil {
		return nil, nil, fmt.Errorf("store: locking data folder %q, is another server using it? %w", o.Dir, err)
	}
	cache := pebble.NewCache(cacheBytes)
	defer cache.Unref() // the engine holds a reference of its own
	opts := &pebble.Options{
		FS:                 o.fs,
		Cache:              cache,
		MemTableSize:       memTableBytes,
		FormatMajorVersion: pebble.FormatNewest,
		Logger:             engineLog{o.Logger},
		Lock:               lock,
	}
	for i := range opts.Levels {
		opts.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	db, err := pebble.Open(o.Dir, opts)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("store: opening data folder %q: %w", o.Dir, err), lock.Close())
	}
	return db, lock, nil
}

// engineLog passes Pebble's messages on.
type engineLog struct{ log *slog.Logger }

func (l engineLog) Infof(format string, args ...any) {
	l.log.Debug("store engine", "message", fmt.Sprintf(format, args...))
}

func (l engineLog) Errorf(format string, args ...any) {
	l.log.Error("store engine", "message", fmt.Sprintf(format, args...))
}

// Fatalf is called when the engine cannot go on without risking the data.
func (l engineLog) Fatalf(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	l.log.Error("store engine stops", "message", text)
	panic("store: engine stops: " + text)
}
