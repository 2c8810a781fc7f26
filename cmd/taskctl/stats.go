package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/taskfleet/taskfleet/internal/cli"
	"github.com/taskfleet/taskfleet/internal/migrate"
	"github.com/taskfleet/taskfleet/internal/taskstore"
	"github.com/taskfleet/taskfleet/internal/ydbconn"
	ydb "github.com/ydb-platform/ydb-go-sdk/v3"
)

const statsUsage = `taskctl stats shows what is in the queue: tasks per table, partitions per owner, and
how long the oldest runnable task has waited. It counts by reading whole tables,
so it is for people, not for loops: dashboards have the programs' metrics.

Examples:
  taskctl stats --endpoint grpc://localhost:2136/local
  taskctl stats --endpoint grpc://localhost:2136/local --json | jq .pending

` + ydbconn.Help

func runStats(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) int {
	fs := cli.NewFlagSet("taskctl stats", statsUsage)
	asJSON := fs.Bool("json", false, "print JSON")
	return withDatabase(ctx, fs, args, stdout, stderr, nil, func(ctx context.Context, db *ydb.Driver, folder, _ string) error {
		facts, err := migrate.Check(ctx, db, folder)
		if err != nil {
			return err
		}
		stats, err := taskstore.New(db, taskstore.Options{Folder: folder}).Stats(ctx)
		if err != nil {
			return err
		}
		if *asJSON {
			return json.NewEncoder(stdout).Encode(newStatsReport(facts, stats))
		}
		printStats(stdout, facts, stats)
		return nil
	})
}

// statsReport is the JSON of taskctl stats.
type statsReport struct {
	Folder               string         `json:"folder"`
	Partitions           int            `json:"partitions"`
	Pending              uint64         `json:"pending"`
	Locked               uint64         `json:"locked"`
	Delayed              uint64         `json:"delayed"`
	Completed            uint64         `json:"completed"`
	Dead                 uint64         `json:"dead"`
	OldestPendingSeconds float64        `json:"oldest_pending_seconds"`
	Owners               map[string]int `json:"owners"`
	NeverOwned           int            `json:"never_owned"`
}

func newStatsReport(facts migrate.Facts, s taskstore.Stats) statsReport {
	r := statsReport{
		Folder: facts.Folder, Partitions: facts.Partitions,
		Pending: s.Pending, Locked: s.Locked, Delayed: s.Delayed, Completed: s.Completed, Dead: s.Dead,
		OldestPendingSeconds: s.OldestPending.Seconds(), Owners: map[string]int{}, NeverOwned: facts.Partitions,
	}
	for owner, n := range s.Owners {
		if owner != "" {
			r.Owners[owner] = n
			r.NeverOwned -= n
		}
	}
	return r
}

func printStats(w io.Writer, facts migrate.Facts, s taskstore.Stats) {
	r := newStatsReport(facts, s)
	fmt.Fprintf(w, "folder %s, %d partitions\n\ntasks\n", r.Folder, r.Partitions)
	for _, line := range []struct {
		name  string
		tasks uint64
	}{{"pending", r.Pending}, {"locked", r.Locked}, {"delayed", r.Delayed}, {"completed", r.Completed}, {"dead", r.Dead}} {
		fmt.Fprintf(w, "  %-10s %10d\n", line.name, line.tasks)
	}
	if r.Pending > 0 {
		fmt.Fprintf(w, "  the oldest runnable task has waited %s\n", s.OldestPending.Round(time.Millisecond))
	}
	fmt.Fprintf(w, "\npartitions by the worker that took them last\n")
	for _, owner := range slices.Sorted(maps.Keys(r.Owners)) {
		fmt.Fprintf(w, "  %-30s %5d\n", owner, r.Owners[owner])
	}
	if r.NeverOwned > 0 {
		fmt.Fprintf(w, "  %-30s %5d\n", "(never owned)", r.NeverOwned)
	}
}
