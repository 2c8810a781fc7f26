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

// openEngine opens the data folder for this process alone.
func openEngine(o Options) (*engine, error) {
	e := &engine{pace: &pace{}, closer: newSnapshots()}
	usage := func() (uint64, error) {
		u, err := o.fs.GetDiskUsage(o.Dir)
		return u.AvailBytes, err
	}
	e.space = newSpace(usage, e.pace, o.Logger)
	fs := vfs.FS(patientFS{o.fs, e.space})
	if err := e.claim(fs, o); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	if u, err := o.fs.GetDiskUsage(o.Dir); err == nil {
		e.space.reserve = reserveOf(u.TotalBytes)
	}
	err := e.check(&fs, o)
	if err == nil {
		err = e.start(fs, o)
	}
	if errors.Is(err, ErrNoSpace) {
		return nil, err // the engine holds on to the folder until there is room, or the process ends
	}
	if err == nil && e.ledger != nil {
		err = e.ledger.note(opened, content{})
	}
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// claim makes the folder and locks it.
func (e *engine) claim(fs vfs.FS, o Options) error {
	if err := fs.MkdirAll(o.Dir, folderMode); err != nil {
		return fmt.Errorf("store: making data folder: %w", err)
	}
	lock, err := pebble.LockDirectory(o.Dir, fs)
	if err != nil {
		return fmt.Errorf("store: locking data folder %q, is another server using it? %w", o.Dir, err)
	}
	e.lock = lock
	return nil
}

// check looks whether the folder holds what it should, and sees to it that the
// next start can look too.
func (e *engine) check(fs *vfs.FS, o Options) (err error) {
	if o.Dir == "" {
		return nil
	}
	if _, ok := o.fs.(privateFS); ok {
		if err := tighten(o.Dir, o.Logger); err != nil {
			return err
		}
	}
	if e.ledger, err = openLedger(*fs, o.Dir); err != nil {
		return err
	}
	*fs = ledgerFS{*fs, e.ledger}
	return nil
}

// start opens Pebble. A full disk makes it wait, which nobody wants of a start.
func (e *engine) start(fs vfs.FS, o Options) error {
	type result struct {
		db  *pebble.DB
		err error
	}
	done := make(chan result, 1)
	go func() {
		db, err := pebble.Open(o.Dir, e.options(fs, o))
		done <- result{db, err}
	}()
	select {
	case r := <-done:
		e.DB = r.db
		return explain(r.err)
	case <-e.space.isStuck():
	}
	go func() {
		if r := <-done; r.err == nil {
			e.DB = r.db
		}
		if err := e.Close(); err != nil {
			o.Logger.Error("store: closing", "error", err)
		}
	}()
	return fmt.Errorf("%w: %s cannot be opened", ErrNoSpace, o.Dir)
}

func (e *engine) options(fs vfs.FS, o Options) *pebble.Options {
	log := &engineLog{log: o.Logger, quiet: e.space.hasEnded}
	opts := &pebble.Options{
		FS:                 fs,
		CacheSize:          cacheBytes,
		MemTableSize:       memTableBytes,
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
