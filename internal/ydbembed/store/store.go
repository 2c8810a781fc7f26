package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

const (
	defaultTTLInterval = time.Hour
	defaultDatabase    = "/local"
)

// Options tell Open where the data is and how to look after it.
type Options struct {
	// Dir is the data folder, made when missing. Empty keeps everything in
	// memory, for tests.
	Dir string
	// Database is the root path of the scheme; default "/local".
	Database string
	// TTLInterval is the time between two runs of the deleter of expired rows;
	// default 1h as in YDB, -1 switches it off.
	TTLInterval time.Duration
	// Clock tells when rows expire and when entries were made; default time.Now.
	Clock func() time.Time
	// Logger takes the engine's messages; default slog.Default().
	Logger *slog.Logger

	fs vfs.FS // tests: a file system that can crash
}

func (o Options) withDefaults() Options {
	if o.Database == "" {
		o.Database = defaultDatabase
	}
	if o.TTLInterval == 0 {
		o.TTLInterval = defaultTTLInterval
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.fs == nil {
		o.fs = vfs.Default
		if o.Dir == "" {
			o.fs = vfs.NewMem()
		}
	}
	return o
}

// Store is an open data folder. It is safe for concurrent use.
type Store struct {
	db       *pebble.DB
	lock     *pebble.Lock
	database string
	clock    func() time.Time
	log      *slog.Logger

	catalog atomic.Pointer[Catalog]

	life   sync.RWMutex // held for reading while the engine is in use outside a Tx
	closed bool         // guarded by life

	mu      sync.Mutex // the commit section: order of commits, snapshots, scheme
	seq     uint64     // number of the latest applied commit
	open    map[*Tx]struct{}
	readers readers // transactions whose reads a commit may break
	history history

	durable watermark

	stop context.CancelFunc
	jobs sync.WaitGroup
}

// Open opens or makes a store and starts its deleter of expired rows.
func Open(o Options) (*Store, error) {
	o = o.withDefaults()
	if err := checkPath(o.Database); err != nil {
		return nil, err
	}
	db, lock, err := openEngine(o)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &Store{
		db: db, lock: lock, database: o.Database, clock: o.Clock, log: o.Logger,
		open: map[*Tx]struct{}{}, durable: newWatermark(), stop: stop,
	}
	if err := s.loadCatalog(); err != nil {
		stop()
		return nil, errors.Join(err, db.Close(), lock.Close())
	}
	if o.TTLInterval > 0 {
		s.jobs.Go(func() { s.deleteExpired(ctx, o.TTLInterval) })
	}
	return s, nil
}

// Close ends open transactions, waits for commits and background work, and
// closes the data folder. Everything after it gets ErrClosed.
func (s *Store) Close() error {
	s.stop()
	s.life.Lock() // waits for whoever is inside
	if s.closed {
		s.life.Unlock()
		return nil
	}
	s.closed = true
	s.life.Unlock()
	s.jobs.Wait()

	s.mu.Lock()
	open := make([]*Tx, 0, len(s.open))
	for tx := range s.open {
		open = append(open, tx)
	}
	s.mu.Unlock()
	for _, tx := range open {
		tx.abandon(ErrClosed)
	}
	if err := errors.Join(s.db.Close(), s.lock.Close()); err != nil {
		return fmt.Errorf("store: closing: %w", err)
	}
	return nil
}

// enter must succeed before the engine is touched outside of a transaction's
// snapshot; exit ends what enter began. They do not nest.
func (s *Store) enter() error {
	s.life.RLock()
	if s.closed {
		s.life.RUnlock()
		return ErrClosed
	}
	return nil
}

func (s *Store) exit() { s.life.RUnlock() }

// apply makes a batch visible and gives it the next commit number. The caller
// holds mu, and calls sync after letting go of it.
func (s *Store) apply(b *pebble.Batch) (seq uint64, err error) {
	if err := s.durable.failure(); err != nil {
		return 0, err
	}
	if err := s.db.ApplyNoSyncWait(b, pebble.Sync); err != nil {
		return 0, fmt.Errorf("store: applying commit: %w", err)
	}
	s.seq++
	return s.seq, nil
}

// sync waits until the batch with number seq, and with it all before it, is on
// disk. One flush serves everyone who waits.
func (s *Store) sync(b *pebble.Batch, seq uint64) error {
	if err := b.SyncWait(); err != nil {
		err = fmt.Errorf("%w: %w", ErrUndetermined, err)
		s.durable.fail(err)
		return err
	}
	s.durable.raise(seq)
	return nil
}
