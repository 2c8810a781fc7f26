package taskproducer

import (
	"context"
	"errors"
	"fmt"

	"github.com/ydb-platform/ydb-go-sdk/v3/query"

	"github.com/taskfleet/taskfleet/internal/taskstore"
	"github.com/taskfleet/taskfleet/pkg/task"
)

// Store keeps tasks. Enqueue stores a batch atomically, and writes nothing for a
// batch whose id it has seen; so it may repeat the call itself. Its error wraps
// task.ErrRefused when the same batch would be refused again.
type Store interface {
	Enqueue(ctx context.Context, batch task.Batch) (task.EnqueueResult, error)
}

// SplitStore is a Store whose batches may be stored in parts. Split decides that a
// batch which was refused is never stored as it is, and reports false when it is
// stored already; it may be repeated.
type SplitStore interface {
	Store
	Split(ctx context.Context, batchID string) (split bool, err error)
}

// TxStore is a Store that can also write inside a transaction of its caller.
type TxStore interface {
	Store
	EnqueueTx(ctx context.Context, tx query.TxActor, batch task.Batch) (task.EnqueueResult, error)
}

// The defaults and limits of Config.
const (
	DefaultBatchTasks = 1000
	DefaultBatchBytes = 32 << 20
	MaxBatchTasks     = 10_000
	MaxBatchBytes     = taskstore.MaxEnqueueBytes // a call of YDB takes 50 MB of parameters
)

// Config sets a Producer up. Zero values mean the defaults.
type Config struct {
	// Folder of the fleet, for Open. Default: taskfleet.
	Folder string
	// Partitions of the fleet, as its settings have it. New needs it; Open reads it.
	Partitions int
	// BatchTasks bounds the tasks of one batch. Default: 1000.
	BatchTasks int
	// BatchBytes bounds the bytes of one batch, as they are sent. Default: 32 MiB.
	BatchBytes int
	// Observer is told what happens. Default: nobody.
	Observer Observer
	// Statements is told what the statements of Open's store cost, as
	// metrics.Metrics.Database is. Default: nobody.
	Statements StatementObserver
	// NewID makes ids, of tasks and batches, that order by time. Default: task.NewID.
	NewID func() string
}

func (c Config) withDefaults() Config {
	if c.BatchTasks == 0 {
		c.BatchTasks = DefaultBatchTasks
	}
	if c.BatchBytes == 0 {
		c.BatchBytes = DefaultBatchBytes
	}
	if c.Observer == nil {
		c.Observer = NopObserver{}
	}
	if c.NewID == nil {
		c.NewID = task.NewID
	}
	return c
}

func (c Config) validate() error {
	var errs []error
	if c.Partitions < 1 || c.Partitions > task.MaxPartitions {
		errs = append(errs, fmt.Errorf("Partitions %d: must be 1..%d", c.Partitions, task.MaxPartitions))
	}
	if c.BatchTasks < 1 || c.BatchTasks > MaxBatchTasks {
		errs = append(errs, fmt.Errorf("BatchTasks %d: must be 1..%d", c.BatchTasks, MaxBatchTasks))
	}
	if c.BatchBytes < 1 || c.BatchBytes > MaxBatchBytes {
		errs = append(errs, fmt.Errorf("BatchBytes %d: must be 1..%d", c.BatchBytes, MaxBatchBytes))
	}
	return errors.Join(errs...)
}
