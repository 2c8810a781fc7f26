// Package migrate makes and changes the schema of a fleet: one folder of the
// database with the tables, the coordination node and the settings that every
// binary reads at its start.
//
// Migrations are goose's, embedded in the binary. YDB has no transactions over
// DDL, so each migration may be repeated, and the setting schema_version, which
// is what binaries check, is written when all of them are through.
package migrate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/pressly/goose/v3"
	ydb "github.com/ydb-platform/ydb-go-sdk/v3"

	"github.com/taskfleet/taskfleet/internal/ydbconn"
	"github.com/taskfleet/taskfleet/pkg/task"
)

// Version is the schema that this binary works with.
const Version = 3

// Options choose the fleet.
type Options struct {
	// Folder of the database. Default: taskfleet.
	Folder string
	// Partitions of a new fleet, 1..4096. Zero: what the fleet has, or 256 for a
	// new one. A count that differs from the fleet's is refused.
	Partitions int
	// DropTasks lets Down drop tasks that are to run yet.
	DropTasks bool
	// LockWait is how long to wait for another migration of the folder.
	// Default: 20 s, which is longer than what one that crashed holds the lock.
	LockWait time.Duration
	// Logger tells what is done. Default: silent.
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.Folder == "" {
		o.Folder = ydbconn.DefaultFolder
	}
	if o.LockWait == 0 {
		o.LockWait = defaultLockWait
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

func (o Options) validate() error {
	var errs []error
	if err := ydbconn.CheckFolder(o.Folder); err != nil {
		errs = append(errs, err)
	}
	if o.Partitions < 0 || o.Partitions > task.MaxPartitions {
		errs = append(errs, fmt.Errorf("partitions %d: must be 1..%d", o.Partitions, task.MaxPartitions))
	}
	return errors.Join(errs...)
}

// Migration is one step of the schema.
type Migration struct {
	Version   int64
	Name      string
	Applied   bool
	AppliedAt time.Time
}

// Report is how a folder stands.
type Report struct {
	Facts
	Migrations []Migration
	// Changed are the versions that this call applied or took back, in order.
	Changed []int64
}

// Check reads a fleet's settings and reports, with what to run, a folder that
// has no schema (ErrNoSchema), an older (ErrOlderSchema) or a newer one
// (ErrNewerSchema) than this binary's. It writes nothing.
func Check(ctx context.Context, db *ydb.Driver, folder string) (Facts, error) {
	facts, err := readFacts(ctx, db, folder)
	if err != nil {
		return facts, err
	}
	if err := checkVersion(db, folder, facts.Version); err != nil {
		return facts, err
	}
	if facts.Partitions == 0 {
		return facts, noSchema(db, folder)
	}
	return facts, nil
}

// Up brings the folder to Version, making it if needed. It is idempotent; of
// several processes one migrates while the others wait, and find it done. It
// refuses a newer schema, and a partition count that differs from the fleet's.
func Up(ctx context.Context, db *ydb.Driver, o Options) (Report, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return Report{}, fmt.Errorf("migrate: %w", err)
	}
	if err := createNode(ctx, db, o.Folder); err != nil {
		return Report{}, err
	}
	var report Report
	err := withLock(ctx, db, o, func(ctx context.Context) error {
		facts, err := readFacts(ctx, db, o.Folder)
		if err != nil {
			return err
		}
		if facts.Version > Version {
			return checkVersion(db, o.Folder, facts.Version)
		}
		if err := checkPartitions(o.Folder, o.Partitions, facts.Partitions); err != nil {
			return err
		}
		provider, err := newProvider(db, o)
		if err != nil {
			return err
		}
		defer provider.Close()
		results, err := provider.Up(ctx)
		if err != nil {
			return fmt.Errorf("migrate: up in folder %s: %w", o.Folder, err)
		}
		if err := writeSetting(ctx, db, o.Folder, settingVersion, Version); err != nil {
			return err
		}
		report, err = reportOf(ctx, db, o.Folder, provider, results)
		return err
	})
	return report, err
}

// Down takes the newest migration back. The step that drops the tables of tasks
// is refused with ErrUnfinished while tasks are to run yet, unless o.DropTasks;
// finished and dead ones go with it. Producers and workers are to be stopped
// before: what is enqueued meanwhile may be dropped. The folder and the
// coordination node stay.
func Down(ctx context.Context, db *ydb.Driver, o Options) (Report, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return Report{}, fmt.Errorf("migrate: %w", err)
	}
	exists, err := hasVersionTable(ctx, db, o.Folder)
	if err != nil {
		return Report{}, err
	}
	if !exists {
		return Report{}, noSchema(db, o.Folder)
	}
	var report Report
	err = withLock(ctx, db, o, func(ctx context.Context) error {
		facts, err := readFacts(ctx, db, o.Folder)
		if err != nil {
			return err
		}
		if facts.Version > Version {
			return checkVersion(db, o.Folder, facts.Version)
		}
		provider, err := newProvider(db, o)
		if err != nil {
			return err
		}
		defer provider.Close()
		current, err := provider.GetDBVersion(ctx)
		if err != nil {
			return fmt.Errorf("migrate: reading the version of folder %s: %w", o.Folder, err)
		}
		if current == 0 {
			return noSchema(db, o.Folder)
		}
		if dropsTasks[current] && !o.DropTasks {
			if err := refuseUnfinished(ctx, db, o.Folder); err != nil {
				return err
			}
		}
		if current > 1 { // first, so that a half-done step is no schema to run on
			if err := writeSetting(ctx, db, o.Folder, settingVersion, current-1); err != nil {
				return err
			}
		}
		result, err := provider.Down(ctx)
		if err != nil {
			return fmt.Errorf("migrate: down in folder %s: %w", o.Folder, err)
		}
		report, err = reportOf(ctx, db, o.Folder, provider, []*goose.MigrationResult{result})
		return err
	})
	return report, err
}

// Status tells how the folder stands. It writes nothing.
func Status(ctx context.Context, db *ydb.Driver, o Options) (Report, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return Report{}, fmt.Errorf("migrate: %w", err)
	}
	provider, err := newProvider(db, o)
	if err != nil {
		return Report{}, err
	}
	defer provider.Close()
	exists, err := hasVersionTable(ctx, db, o.Folder)
	if err != nil {
		return Report{}, err
	}
	if !exists { // goose would make its table to answer
		report := Report{Facts: Facts{Folder: o.Folder}}
		for _, source := range provider.ListSources() {
			report.Migrations = append(report.Migrations, Migration{Version: source.Version, Name: nameOf(source)})
		}
		return report, nil
	}
	return reportOf(ctx, db, o.Folder, provider, nil)
}

func reportOf(ctx context.Context, db *ydb.Driver, folder string, provider *goose.Provider, results []*goose.MigrationResult) (Report, error) {
	facts, err := readFacts(ctx, db, folder)
	if err != nil {
		return Report{}, err
	}
	report := Report{Facts: facts}
	statuses, err := provider.Status(ctx)
	if err != nil {
		return report, fmt.Errorf("migrate: reading the migrations of folder %s: %w", folder, err)
	}
	for _, s := range statuses {
		report.Migrations = append(report.Migrations, Migration{
			Version: s.Source.Version, Name: nameOf(s.Source), Applied: s.State == goose.StateApplied, AppliedAt: s.AppliedAt,
		})
	}
	for _, r := range results {
		report.Changed = append(report.Changed, r.Source.Version)
	}
	return report, nil
}
