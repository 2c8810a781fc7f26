package taskproducer

import (
	"context"
	"fmt"

	ydb "github.com/ydb-platform/ydb-go-sdk/v3"

	"github.com/taskfleet/taskfleet/internal/taskstore"
	"github.com/taskfleet/taskfleet/internal/ydbconn"
	"github.com/taskfleet/taskfleet/pkg/migrate"
)

// StatementObserver is told of every statement that a producer sends.
type StatementObserver = taskstore.Observer

// Open returns a producer for the fleet in Config.Folder of a database. It reads
// the number of partitions, and returns an error that says what to run when
// there is no fleet or its schema is not the one that this release knows. The
// driver stays the caller's.
func Open(ctx context.Context, db *ydb.Driver, cfg Config) (*Producer, error) {
	if cfg.Folder == "" {
		cfg.Folder = ydbconn.DefaultFolder
	}
	if err := ydbconn.CheckFolder(cfg.Folder); err != nil {
		return nil, fmt.Errorf("taskproducer: %w", err)
	}
	facts, err := migrate.Check(ctx, db, cfg.Folder)
	if err != nil {
		return nil, fmt.Errorf("taskproducer: %w", err)
	}
	if cfg.Partitions != 0 && cfg.Partitions != facts.Partitions {
		return nil, fmt.Errorf("taskproducer: Partitions %d: the fleet in folder %s has %d", cfg.Partitions, cfg.Folder, facts.Partitions)
	}
	cfg.Partitions = facts.Partitions
	return New(taskstore.New(db, taskstore.Options{Folder: cfg.Folder, Observer: cfg.Statements}), cfg)
}
