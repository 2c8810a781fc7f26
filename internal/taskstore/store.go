package taskstore

import (
	"sync/atomic"
	"time"

	"github.com/ydb-platform/ydb-go-sdk/v3"
)

// DefaultTimeout bounds one operation, its retries included.
const DefaultTimeout = 15 * time.Second

// Options configure a Store. The zero value of an optional field means its default.
type Options struct {
	// Folder holds the fleet's tables, below the database. Default: taskfleet.
	Folder string
	// NoHistory deletes completed tasks instead of moving them to completed_tasks.
	NoHistory bool
	// Timeout bounds one operation with its retries. Default: DefaultTimeout.
	Timeout time.Duration
	// Observer is told of every statement. Default: nobody.
	Observer Observer
}

// Store runs the operations on one fleet's tables. Its methods may be called
// concurrently.
type Store struct {
	db        *ydb.Driver
	noHistory bool
	timeout   time.Duration
	observer  Observer
	texts     texts
	usage     counters
	taskBytes atomic.Int64          // of a delayed task, as Promote has measured
	watch     func(statement) error // of tests; nil otherwise
}

// New returns the store of the fleet in opts.Folder. It sends nothing.
func New(db *ydb.Driver, opts Options) *Store {
	if opts.Folder == "" {
		opts.Folder = "taskfleet"
	}
	if opts.Timeout <= 0 {
		opts.Timeout = DefaultTimeout
	}
	if opts.Observer == nil {
		opts.Observer = nobody{}
	}
	s := &Store{
		db:        db,
		noHistory: opts.NoHistory,
		timeout:   opts.Timeout,
		observer:  opts.Observer,
		texts:     newTexts(db.Name() + "/" + opts.Folder),
	}
	s.taskBytes.Store(largestTask)
	return s
}

// Usage returns what this store's statements have cost so far.
func (s *Store) Usage() Usage { return s.usage.load() }
