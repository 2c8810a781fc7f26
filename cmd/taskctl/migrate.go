package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/taskfleet/taskfleet/internal/cli"
	"github.com/taskfleet/taskfleet/internal/ydbconn"
	"github.com/taskfleet/taskfleet/pkg/migrate"
	"github.com/taskfleet/taskfleet/pkg/task"
	ydb "github.com/ydb-platform/ydb-go-sdk/v3"
)

const migrateUsage = `taskctl migrate makes, shows or takes back the schema of a fleet: its tables, its
coordination node and its settings, in one folder of the database.

Usage:
  taskctl migrate up      bring the folder to this program's schema; safe to repeat
  taskctl migrate down    take the newest step back
  taskctl migrate status  show the steps

The number of partitions is fixed by the first "up" and cannot change later.

The step down that drops the tables of tasks is refused while tasks wait, run or
are delayed, unless --drop-tasks is given. Finished and dead tasks go with it.
Stop producers and workers before.

Examples:
  taskctl migrate up --endpoint grpc://localhost:2136/local
  taskctl migrate up --endpoint grpc://localhost:2136/local --folder ci --partitions 64

` + ydbconn.Help

func runMigrate(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) int {
	fs := cli.NewFlagSet("taskctl migrate", migrateUsage)
	partitions := fs.Int("partitions", 0, fmt.Sprintf("`number` of logical partitions of a new fleet, 1..%d (default %d)", task.MaxPartitions, task.DefaultPartitions))
	dropTasks := fs.Bool("drop-tasks", false, "let down drop tasks that are not finished")
	asJSON := fs.Bool("json", false, "print JSON")
	verbs := map[string]func(context.Context, *ydb.Driver, migrate.Options) (migrate.Report, error){
		"up": migrate.Up, "down": migrate.Down, "status": migrate.Status,
	}
	check := func(verb string) error {
		if *dropTasks && verb != "down" {
			return fmt.Errorf("--drop-tasks: goes with down, not with %s", verb)
		}
		return nil
	}
	return withDatabaseIf(ctx, fs, args, stdout, stderr, []string{"up", "down", "status"}, check, func(ctx context.Context, db *ydb.Driver, folder, verb string) error {
		report, err := verbs[verb](ctx, db, migrate.Options{Folder: folder, Partitions: *partitions, DropTasks: *dropTasks})
		if err != nil {
			return err
		}
		if *asJSON {
			return json.NewEncoder(stdout).Encode(report)
		}
		printReport(stdout, report)
		return nil
	})
}

func printReport(w io.Writer, r migrate.Report) {
	for _, m := range r.Migrations {
		state := "pending"
		if m.Applied {
			state = "applied " + m.AppliedAt.UTC().Format(time.RFC3339)
		}
		fmt.Fprintf(w, "%3d  %-32s %s\n", m.Version, m.Name, state)
	}
	fmt.Fprintf(w, "folder %s: schema version %d, %d partitions, %d steps done by this call\n", r.Folder, r.Version, r.Partitions, len(r.Changed))
}
