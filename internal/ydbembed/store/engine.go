package store

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"
)

const (
	cacheBytes = 64 << 20
	// A queue deletes at the head of its key ranges: what the memtable holds is
	// skipped over by every read there, so it is kept small.
	memTableBytes = 8 << 20
)

// engine is Pebble on a data folder, and what the store knows of the disk
// beneath it.
type engine struct {
	*pebble.DB
	lock   *pebble.Lock
	ledger *ledger // nil when the data is in memory
	space  *space
	pace   *pace
	closer *snapshots
}

// openEngine opens the data folder for this process alone. A full disk makes the
// engine wait, which nobody wants of a start.
func openEngine(o Options) (*engine, error) {
	e := &engine{pace: &pace{}, closer: newSnapshots()}
	e.space = newSpace(func() (uint64, error) {
		u, err := o.fs.GetDiskUsage(o.Dir)
		return u.AvailBytes, err
	}, e.pace, o.Logger)
	done := make(chan error, 1)
	go func() { done <- e.open(o) }()
	select {
	case err := <-done:
		if err != nil {
			return nil, errors.Join(err, e.Close())
		}
		return e, nil
	case <-e.space.isStuck():
	}
	go func() { // the folder stays locked until there is room, or the process ends
		if err := errors.Join(<-done, e.Close()); err != nil {
			o.Logger.Error("store: closing", "error", err)
		}
	}()
	return nil, fmt.Errorf("%w: data folder %s cannot be opened", e.space.cause(), o.Dir)
}

func (e *engine) open(o Options) error {
	fs := vfs.FS(patientFS{o.fs, e.space})
	if err := e.claim(fs, o); err != nil {
		return err
	}
	if u, err := o.fs.GetDiskUsage(o.Dir); err == nil {
		e.space.reserve = reserveOf(u.TotalBytes)
	}
	if o.Dir != "" {
		var err error
		if e.ledger, err = openLedger(fs, o.Dir); err != nil {
			return err
		}
		fs = ledgerFS{fs, e.ledger}
	}
	var err error
	if e.DB, err = pebble.Open(o.Dir, e.options(fs, o)); err != nil {
		return explainOpen(err)
	}
	if e.ledger != nil {
		return e.ledger.note(opened, content{})
	}
	return nil
}

// claim makes the folder, for its user alone, and locks it.
func (e *engine) claim(fs vfs.FS, o Options) (err error) {
	if err = fs.MkdirAll(o.Dir, folderMode); err != nil {
		return fmt.Errorf("store: making data folder: %w", err)
	}
	if _, ok := o.fs.(privateFS); ok {
		if err = tighten(o.Dir, o.Logger); err != nil {
			return err
		}
	}
	if e.lock, err = pebble.LockDirectory(o.Dir, fs); err != nil {
		return fmt.Errorf("store: locking data folder %q, is another server using it? %w", o.Dir, err)
	}
	return nil
}

func (e *engine) options(fs vfs.FS, o Options) *pebble.Options {
	log := &engineLog{log: o.Logger, quiet: e.space.hasEnded}
	opts := &pebble.Options{
		FS:                 fs,
		CacheSize:          cacheBytes,
		MemTableSize:       o.memTableBytes,
		FormatMajorVersion: pebble.FormatNewest,
		Logger:             log,
		EventListener:      log.listener(e.pace),
		Lock:               e.lock,
	}
	opts.Experimental.CompactionScheduler = &compactions{pace: e.pace}
	for i := range opts.Levels {
		opts.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	return opts
}

// Close closes what is open. Nothing may be using the engine but work of its own.
func (e *engine) Close() error {
	e.space.end()
	errs := []error{e.closer.Close()}
	if e.DB != nil {
		errs = append(errs, e.DB.Close())
	}
	if e.ledger != nil {
		errs = append(errs, e.ledger.close())
	}
	if e.lock != nil {
		errs = append(errs, e.lock.Close())
	}
	return errors.Join(errs...)
}
