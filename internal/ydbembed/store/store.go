package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

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

	fs            vfs.FS // tests: a file system that can crash
	memTableBytes uint64 // tests: less
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
	if o.memTableBytes == 0 {
		o.memTableBytes = memTableBytes
	}
	if o.fs == nil {
		o.fs = privateFS{vfs.Default}
		if o.Dir == "" {
			o.fs = vfs.NewMem()
		}
	}
	return o
}

// Store is an open data folder. It is safe for concurrent use.
type Store struct {
	db       *engine
	database string
	clock    func() time.Time
	log      *slog.Logger

	catalog atomic.Pointer[Catalog]

	life   sync.RWMutex // held for reading while the engine is in use outside a Tx
	closed bool         // guarded by life

	section chan struct{} // full while a change is made; see change.go

	mu      sync.Mutex // guards what follows; never held while the disk is written
	seq     uint64     // number of the latest applied change
	next    *step      // the change that is being applied
	open    map[*Tx]struct{}
	readers readers // transactions whose reads a commit may break
	history history

	durable watermark

	stop     context.CancelFunc
	jobs     sync.WaitGroup
	applying sync.WaitGroup // changes on their way into the engine
	syncing  sync.WaitGroup // changes on their way to the disk
}

// Open opens or makes a store and starts its deleter of expired rows.
func Open(o Options) (*Store, error) {
	o = o.withDefaults()
	if err := checkPath(o.Database); err != nil {
		return nil, err
	}
	db, err := openEngine(o)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &Store{
		db: db, database: o.Database, clock: o.Clock, log: o.Logger,
		section: make(chan struct{}, 1), open: map[*Tx]struct{}{}, durable: newWatermark(), stop: stop,
	}
	if err := s.load(); err != nil {
		stop()
		return nil, errors.Join(err, s.closeEngine())
	}
	if o.TTLInterval > 0 {
		s.jobs.Go(func() { s.deleteExpired(ctx, o.TTLInterval) })
	}
	return s, nil
}

func (s *Store) load() error {
	seq, err := readSeq(s.db)
	if err != nil {
		return err
	}
	s.seq = seq
	s.durable.raise(seq)
	return s.loadCatalog()
}

// Close ends open transactions, waits for commits and background work, and
// closes the data folder. Everything after it gets ErrClosed. On a disk that is
// full or fails it does not wait: the next Open reads from the log what is missing elsewhere.
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
	if err := s.closeEngine(); err != nil {
		return fmt.Errorf("store: closing: %w", err)
	}
	return nil
}

// closeEngine closes the engine, unless it cannot be closed: a change waits for
// the disk inside of it, or its log has failed.
func (s *Store) closeEngine() error {
	done := make(chan error, 1)
	go func() {
		s.applying.Wait()
		err := s.db.Close()
		s.syncing.Wait()
		done <- err
	}()
	cause := s.durable.failure()
	if cause == nil {
		select {
		case err := <-done:
			return err
		case <-s.db.space.isStuck():
			cause = s.db.space.cause()
		}
	}
	select {
	case err := <-done:
		return err
	case <-time.After(stuckGrace):
		return fmt.Errorf("%w: the data folder is left as after a crash", cause)
	}
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
