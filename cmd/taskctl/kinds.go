package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/taskfleet/taskfleet/pkg/migrate"
	"github.com/taskfleet/taskfleet/pkg/rebalancer"
	"github.com/taskfleet/taskfleet/pkg/task"
	ydb "github.com/ydb-platform/ydb-go-sdk/v3"
)

// The answers to whether a registered worker handles a kind.
const (
	handledYes     = "yes"
	handledNo      = "no"
	handledUnknown = "unknown" // none says so, and some do not say what they handle
)

// kindReport is one kind of runnable tasks in the JSON of taskctl stats.
type kindReport struct {
	Kind          string  `json:"kind"`
	Pending       uint64  `json:"pending"`
	Locked        uint64  `json:"locked"`
	OldestSeconds float64 `json:"oldest_pending_seconds"`
	Handled       string  `json:"handled"`
	Workers       int     `json:"workers"` // that say that they handle it
}

// readWorkers returns the workers of the fleet without their partitions.
func readWorkers(ctx context.Context, db *ydb.Driver, folderPath string) ([]rebalancer.Worker, error) {
	m, err := rebalancer.Manage(ctx, db, folderPath+"/"+migrate.NodeName)
	if err != nil {
		return nil, err
	}
	defer func() { _ = m.Close(context.WithoutCancel(ctx)) }()
	return m.Workers(ctx, 0)
}

// newKindReports tells which kinds are handled: those that nobody handles first,
// then by the number of tasks that wait. registered is false when the workers
// could not be read.
func newKindReports(kinds map[string]task.Runnable, workers []rebalancer.Worker, registered bool) []kindReport {
	handlers, silent := make(map[string]int), !registered
	for _, w := range workers {
		if w.Session == 0 {
			continue // it does not run
		}
		silent = silent || w.Kinds == nil || w.KindsCut
		for _, kind := range w.Kinds {
			handlers[kind]++
		}
	}
	reports := make([]kindReport, 0, len(kinds))
	for kind, tasks := range kinds {
		r := kindReport{
			Kind: kind, Pending: tasks.Pending, Locked: tasks.Locked, OldestSeconds: tasks.Oldest.Seconds(),
			Handled: handledNo, Workers: handlers[kind],
		}
		switch {
		case r.Workers > 0:
			r.Handled = handledYes
		case silent:
			r.Handled = handledUnknown
		}
		reports = append(reports, r)
	}
	rank := map[string]int{handledNo: 0, handledUnknown: 1, handledYes: 2}
	slices.SortFunc(reports, func(a, b kindReport) int {
		return cmp.Or(cmp.Compare(rank[a.Handled], rank[b.Handled]), cmp.Compare(b.Pending, a.Pending), strings.Compare(a.Kind, b.Kind))
	})
	return reports
}

// maxPrintedKinds bounds the lines for people; JSON has all.
const maxPrintedKinds = 30

func printKinds(w io.Writer, reports []kindReport) {
	if len(reports) == 0 {
		return
	}
	fmt.Fprintf(w, "\nkinds of runnable tasks\n")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "  KIND\tPENDING\tLOCKED\tOLDEST\tHANDLED BY")
	for _, r := range reports[:min(len(reports), maxPrintedKinds)] {
		by := map[string]string{
			handledYes: strconv.Itoa(r.Workers) + " workers", handledNo: "NOBODY", handledUnknown: "unknown: not all workers say what they handle",
		}[r.Handled]
		oldest := time.Duration(r.OldestSeconds * float64(time.Second)).Round(time.Millisecond)
		fmt.Fprintf(t, "  %s\t%d\t%d\t%s\t%s\n", printable(r.Kind), r.Pending, r.Locked, oldest, by)
	}
	_ = t.Flush()
	if more := len(reports) - maxPrintedKinds; more > 0 {
		fmt.Fprintf(w, "  and %d more: see --json\n", more)
	}
}

// printable quotes what could move a terminal's cursor or break a table.
func printable(s string) string {
	if quoted := strconv.Quote(s); quoted != `"`+s+`"` || strings.ContainsAny(s, " ") || s == "" {
		return quoted
	}
	return s
}

// kindsColumn is what a worker handles, in a table of workers.
func kindsColumn(kinds []string, cut bool) string {
	const shown = 4
	if kinds == nil {
		return "-"
	}
	var names []string
	for _, kind := range kinds[:min(len(kinds), shown)] {
		names = append(names, printable(kind))
	}
	switch more := len(kinds) - shown; {
	case cut:
		names = append(names, "...")
	case more > 0:
		names = append(names, fmt.Sprintf("+%d", more))
	}
	return strings.Join(names, ",")
}
