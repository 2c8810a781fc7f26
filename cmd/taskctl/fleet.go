package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	ydb "github.com/ydb-platform/ydb-go-sdk/v3"

	"github.com/taskfleet/taskfleet/internal/cli"
	"github.com/taskfleet/taskfleet/internal/taskstore"
	"github.com/taskfleet/taskfleet/internal/ydbconn"
	"github.com/taskfleet/taskfleet/pkg/migrate"
	"github.com/taskfleet/taskfleet/pkg/rebalancer"
)

const fleetUsage = `taskctl fleet shows the workers of a fleet: states, weights, versions, how many
partitions each owns, the epochs of these, sessions, when ownership last changed,
and the kinds of tasks that each handles. It reads one semaphore per partition, so it is for people, not for loops.

Usage:
  taskctl fleet                show the workers
  taskctl fleet drain WORKER   make a worker give its partitions away and stay idle,
                               also after a restart under the same --worker-id
  taskctl fleet resume WORKER  let it take its share again

A drained worker's running tasks have its --drain-timeout. The order is kept on the
coordination node; a worker follows it within about a second.

States: active; draining (stops); drained (idle by order); paused (idle by its own
decision: its log says why); gone (drained, not running).

Examples:
  taskctl fleet --endpoint grpc://localhost:2136/local
  taskctl fleet drain web-1 --endpoint grpc://localhost:2136/local
  taskctl fleet --json | jq '.workers[] | select(.state == "drained") | .worker'

` + ydbconn.Help

func runFleet(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) int {
	fs := cli.NewFlagSet("taskctl fleet", fleetUsage)
	asJSON := fs.Bool("json", false, "print JSON")
	flags := ydbconn.RegisterFlags(fs)
	if code, ok := cli.Parse(fs, args, stdout, stderr); !ok {
		return code
	}
	verb, worker := fs.Arg(0), fs.Arg(1)
	switch {
	case fs.NArg() == 0:
	case verb != "drain" && verb != "resume":
		return cli.Usage(fs, stderr, fmt.Errorf("unknown verb %q: say drain WORKER, resume WORKER or nothing", verb))
	case worker == "":
		return cli.Usage(fs, stderr, fmt.Errorf("%s: name a worker, see taskctl fleet", verb))
	case fs.NArg() > 2:
		return cli.Usage(fs, stderr, fmt.Errorf("unexpected argument %q", fs.Arg(2)))
	}
	return connected(ctx, fs, flags, stderr, func(ctx context.Context, db *ydb.Driver, cfg ydbconn.Config) error {
		facts, err := migrate.Check(ctx, db, cfg.Folder)
		if err != nil {
			return err
		}
		m, err := rebalancer.Manage(ctx, db, cfg.FolderPath()+"/"+migrate.NodeName)
		if err != nil {
			return err
		}
		defer func() { _ = m.Close(context.WithoutCancel(ctx)) }()
		switch verb {
		case "drain":
			return drainWorker(ctx, m, worker, stdout, stderr)
		case "resume":
			return resumeWorker(ctx, m, worker, stdout)
		}
		report, err := readFleet(ctx, db, m, facts)
		if err != nil {
			return err
		}
		if *asJSON {
			return json.NewEncoder(stdout).Encode(report)
		}
		return report.print(stdout)
	})
}

func resumeWorker(ctx context.Context, m *rebalancer.Manager, worker string, stdout io.Writer) error {
	if err := m.Resume(ctx, worker); err != nil {
		return plain(err)
	}
	fmt.Fprintf(stdout, "worker %s takes its share again\n", worker)
	return nil
}

// plain says of an unknown worker what a person needs to know.
func plain(err error) error {
	var unknown *rebalancer.UnknownWorkerError
	if !errors.As(err, &unknown) {
		return err
	}
	if len(unknown.Known) == 0 {
		return fmt.Errorf("unknown worker %q: no worker runs", unknown.ID)
	}
	return fmt.Errorf("unknown worker %q: the fleet has %s", unknown.ID, strings.Join(unknown.Known, ", "))
}

func drainWorker(ctx context.Context, m *rebalancer.Manager, worker string, stdout, stderr io.Writer) error {
	if err := m.Drain(ctx, worker, time.Now().UTC().Truncate(time.Second)); err != nil {
		return plain(err)
	}
	fmt.Fprintf(stdout, "worker %s gives its partitions away and stays idle until taskctl fleet resume %s\n", worker, worker)
	workers, err := m.Workers(ctx, 0)
	if err != nil {
		return err
	}
	for _, w := range workers {
		if w.State == rebalancer.StateActive && w.ID != worker {
			return nil
		}
	}
	fmt.Fprintln(stderr, "warning: no other worker is active: nobody will run tasks")
	return nil
}

// fleetReport is the JSON of taskctl fleet.
type fleetReport struct {
	Folder     string         `json:"folder"`
	Partitions int            `json:"partitions"`
	Unowned    int            `json:"unowned"`
	Workers    []workerReport `json:"workers"`
}

type workerReport struct {
	Worker       string     `json:"worker"`
	State        string     `json:"state"`
	Weight       int        `json:"weight"`
	Partitions   int        `json:"partitions"`
	LowestEpoch  uint64     `json:"lowest_epoch"`
	HighestEpoch uint64     `json:"highest_epoch"`
	Session      uint64     `json:"session"`
	Incarnation  string     `json:"incarnation"`
	Version      string     `json:"version"`
	Kinds        []string   `json:"kinds"`         // that it handles; null: it does not say
	KindsCut     bool       `json:"kinds_cut"`     // it handles more
	LastChange   *time.Time `json:"last_change"`   // when it took the newest of its partitions
	DrainedSince *time.Time `json:"drained_since"` // when the order was given
}

func readFleet(ctx context.Context, db *ydb.Driver, m *rebalancer.Manager, facts migrate.Facts) (fleetReport, error) {
	r := fleetReport{Folder: facts.Folder, Partitions: facts.Partitions, Unowned: facts.Partitions, Workers: []workerReport{}}
	workers, err := m.Workers(ctx, facts.Partitions)
	if err != nil {
		return r, err
	}
	rows, err := taskstore.New(db, taskstore.Options{Folder: facts.Folder}).Partitions(ctx)
	if err != nil {
		return r, err
	}
	fences := make(map[uint16]taskstore.Fenced, len(rows))
	for _, f := range rows {
		fences[f.Partition] = f
	}
	for _, w := range workers {
		one := workerReport{
			Worker: w.ID, State: w.State, Weight: w.Weight, Partitions: len(w.Partitions), Session: w.Session,
			Incarnation: w.Incarnation, Version: w.Version,
			Kinds: w.Kinds, KindsCut: w.KindsCut,
		}
		if !w.Drained.IsZero() {
			one.DrainedSince = &w.Drained
		}
		for i, p := range w.Partitions {
			f := fences[p]
			if i == 0 || f.Epoch < one.LowestEpoch {
				one.LowestEpoch = f.Epoch
			}
			one.HighestEpoch = max(one.HighestEpoch, f.Epoch)
			if f.Owner == w.ID && (one.LastChange == nil || f.AcquiredAt.After(*one.LastChange)) {
				at := f.AcquiredAt.UTC()
				one.LastChange = &at
			}
		}
		r.Unowned -= len(w.Partitions)
		r.Workers = append(r.Workers, one)
	}
	return r, nil
}

func (r fleetReport) print(w io.Writer) error {
	fmt.Fprintf(w, "folder %s, %d partitions, %d without an owner\n\n", r.Folder, r.Partitions, r.Unowned)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "WORKER\tSTATE\tWEIGHT\tPARTITIONS\tEPOCHS\tSESSION\tVERSION\tLAST CHANGE\tKINDS")
	for _, one := range r.Workers {
		epochs, changed := "-", "-"
		if one.Partitions > 0 {
			epochs = fmt.Sprintf("%d..%d", one.LowestEpoch, one.HighestEpoch)
		}
		if one.LastChange != nil {
			changed = one.LastChange.UTC().Format(time.RFC3339)
		} else if one.DrainedSince != nil {
			changed = "drained " + one.DrainedSince.UTC().Format(time.RFC3339)
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%s\t%d\t%s\t%s\t%s\n",
			one.Worker, one.State, one.Weight, one.Partitions, epochs, one.Session, orDash(one.Version), changed, kindsColumn(one.Kinds, one.KindsCut))
	}
	return t.Flush()
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
