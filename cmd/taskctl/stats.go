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
	"github.com/taskfleet/taskfleet/internal/taskstore"
	"github.com/taskfleet/taskfleet/internal/ydbconn"
	"github.com/taskfleet/taskfleet/pkg/migrate"
	ydb "github.com/ydb-platform/ydb-go-sdk/v3"
)

const statsUsage = `taskctl stats shows what is in the queue: tasks per table, partitions per owner,
how long the oldest runnable task has waited, and the kinds of runnable tasks with
those that no running worker handles. It counts by reading whole tables, so it is
for people, not for loops: dashboards have the programs' metrics.

A kind is handled by "unknown" when no worker says that it handles it, and some do
not say what they handle: workers of an earlier version, or with very many kinds.

Examples:
  taskctl stats --endpoint grpc://localhost:2136/local
  taskctl stats --endpoint grpc://localhost:2136/local --json | jq .pending
  taskctl stats --json | jq '.kinds[] | select(.handled == "no") | .kind'

` + ydbconn.Help

func runStats(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) int {
	fs := cli.NewFlagSet("taskctl stats", statsUsage)
	asJSON := fs.Bool("json", false, "print JSON")
	flags := ydbconn.RegisterFlags(fs)
	if code, ok := cli.Parse(fs, args, stdout, stderr); !ok {
		return code
	}
	if _, err := verbOf(fs, nil); err != nil {
		return cli.Usage(fs, stderr, err)
	}
	return connected(ctx, fs, flags, stderr, func(ctx context.Context, db *ydb.Driver, cfg ydbconn.Config) error {
		facts, err := migrate.Check(ctx, db, cfg.Folder)
		if err != nil {
			return err
		}
		stats, err := taskstore.New(db, taskstore.Options{Folder: cfg.Folder}).Stats(ctx)
		if err != nil {
			return err
		}
		workers, err := readWorkers(ctx, db, cfg.FolderPath())
		if err != nil {
			fmt.Fprintf(stderr, "warning: which kinds are handled is unknown: %v\n", err)
		}
		report := newStatsReport(facts, stats)
		report.Kinds = newKindReports(stats.Kinds, workers, err == nil)
		if *asJSON {
			return json.NewEncoder(stdout).Encode(report)
		}
		report.print(stdout)
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
	Kinds                []kindReport   `json:"kinds"`
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

func (r statsReport) print(w io.Writer) {
	fmt.Fprintf(w, "folder %s, %d partitions\n\ntasks\n", r.Folder, r.Partitions)
	for _, line := range []struct {
		name  string
		tasks uint64
	}{{"pending", r.Pending}, {"locked", r.Locked}, {"delayed", r.Delayed}, {"completed", r.Completed}, {"dead", r.Dead}} {
		fmt.Fprintf(w, "  %-10s %10d\n", line.name, line.tasks)
	}
	if r.Pending > 0 {
		oldest := time.Duration(r.OldestPendingSeconds * float64(time.Second))
		fmt.Fprintf(w, "  the oldest runnable task has waited %s\n", oldest.Round(time.Millisecond))
	}
	printKinds(w, r.Kinds)
	fmt.Fprintf(w, "\npartitions by the worker that took them last\n")
	for _, owner := range slices.Sorted(maps.Keys(r.Owners)) {
		fmt.Fprintf(w, "  %-30s %5d\n", owner, r.Owners[owner])
	}
	if r.NeverOwned > 0 {
		fmt.Fprintf(w, "  %-30s %5d\n", "(never owned)", r.NeverOwned)
	}
}
