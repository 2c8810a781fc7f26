package taskworker

import (
	"context"
	"fmt"

	ydb "github.com/ydb-platform/ydb-go-sdk/v3"

	"github.com/taskfleet/taskfleet/internal/taskstore"
	"github.com/taskfleet/taskfleet/internal/ydbconn"
	"github.com/taskfleet/taskfleet/pkg/migrate"
)

// StatementObserver is told of every statement that a worker sends.
type StatementObserver = taskstore.Observer

// Fleet is what a rebalancer needs to know of the fleet that a worker was opened
// on. Its methods may be called concurrently.
type Fleet struct {
	// Partitions of the fleet, as its settings have it.
	Partitions int
	// Node is the absolute path of its coordination node.
	Node string

	store *taskstore.Store
}

// Raise gives partitions their next epoch, so that every claim under an older
// one fails: it is the Fence of package rebalancer. It may be repeated, epochs
// only rise.
func (f *Fleet) Raise(ctx context.Context, partitions []uint16, owner string) (map[uint16]uint64, error) {
	return f.store.Raise(ctx, partitions, owner)
}

// Open returns a worker on the fleet in Config.Folder of a database, and what a
// rebalancer needs to know of that fleet. It starts nothing. Its error wraps
// ErrNoSchema, ErrOlderSchema or ErrNewerSchema, and says what to run, when the
// folder has not the schema that this release knows. The driver stays the
// caller's.
func Open(ctx context.Context, db *ydb.Driver, cfg Config) (*Worker, *Fleet, error) {
	if cfg.Folder == "" {
		cfg.Folder = ydbconn.DefaultFolder
	}
	if err := ydbconn.CheckFolder(cfg.Folder); err != nil {
		return nil, nil, fmt.Errorf("taskworker: %w", err)
	}
	facts, err := migrate.Check(ctx, db, cfg.Folder)
	if err != nil {
		return nil, nil, fmt.Errorf("taskworker: %w", err)
	}
	store := taskstore.New(db, taskstore.Options{Folder: cfg.Folder, NoHistory: cfg.NoHistory, Observer: cfg.Statements})
	if cfg.Counter == nil {
		cfg.Counter = store
	}
	worker, err := New(store, cfg)
	if err != nil {
		return nil, nil, err
	}
	fleet := &Fleet{
		Partitions: facts.Partitions,
		Node:       db.Name() + "/" + cfg.Folder + "/" + migrate.NodeName,
		store:      store,
	}
	return worker, fleet, nil
}
