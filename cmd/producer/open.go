package main

import (
	"context"
	"encoding/binary"
	"time"

	"github.com/google/uuid"
	ydb "github.com/ydb-platform/ydb-go-sdk/v3"

	"github.com/taskfleet/taskfleet/internal/taskstore"
	"github.com/taskfleet/taskfleet/pkg/migrate"
	"github.com/taskfleet/taskfleet/pkg/task"
	"github.com/taskfleet/taskfleet/pkg/taskproducer"
)

// open returns a producer for the fleet, with what tests ask for: a wrong clock
// in the ids, which is the only use of the wall clock, and a journal.
func (o *options) open(ctx context.Context, db *ydb.Driver, cfg taskproducer.Config) (*taskproducer.Producer, error) {
	if o.clock.Offset != 0 {
		cfg.NewID = func() string { return idAt(o.clock.Offset).String() }
	}
	if o.notes == nil {
		return taskproducer.Open(ctx, db, cfg)
	}
	facts, err := migrate.Check(ctx, db, cfg.Folder)
	if err != nil {
		return nil, err
	}
	cfg.Partitions = facts.Partitions
	return taskproducer.New(o.notes.Store(taskstore.New(db, taskstore.Options{Folder: cfg.Folder, Observer: cfg.Statements})), cfg)
}

// idAt is an id of a clock that is off: its first 48 bits are milliseconds.
func idAt(offset time.Duration) uuid.UUID {
	id := uuid.MustParse(task.NewID())
	var ms [8]byte
	copy(ms[2:], id[:6])
	binary.BigEndian.PutUint64(ms[:], binary.BigEndian.Uint64(ms[:])+uint64(offset.Milliseconds()))
	copy(id[:6], ms[2:])
	return id
}
