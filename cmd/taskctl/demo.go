package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/taskfleet/taskfleet/cmd/taskctl/internal/demo"
	"github.com/taskfleet/taskfleet/internal/cli"
	"github.com/taskfleet/taskfleet/internal/taskstore"
	"github.com/taskfleet/taskfleet/internal/ydbconn"
	"github.com/taskfleet/taskfleet/pkg/migrate"
)

const demoUsage = `taskctl demo runs a whole fleet on this machine: the embedded database, an HTTP
sink, a producer and workers, each a process. After a third of the time it kills a
worker with SIGKILL, after two thirds it starts a new one. At the end it says
whether every acknowledged task was delivered and recorded; the last line of
stdout is the verdict as JSON. It exits with 0 only if nothing was lost.

Examples:
  taskctl demo
  taskctl demo --tasks 3000 --rate 100 --workers 2
  taskctl demo --json | jq .lost
`

func runDemo(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) int {
	fs := cli.NewFlagSet("taskctl demo", demoUsage)
	cfg := demo.Config{Open: openDemo, Progress: stdout}
	fs.IntVar(&cfg.Tasks, "tasks", 12000, "`number` of tasks to enqueue")
	fs.Float64Var(&cfg.Delayed, "delayed-share", 0.1, "share of the tasks that is delayed by 5 to 30 s; 0: the run is shorter by that")
	fs.IntVar(&cfg.Rate, "rate", 500, "tasks per second")
	fs.IntVar(&cfg.Workers, "workers", 3, "`number` of workers at the start, at least 2: one is killed")
	fs.StringVar(&cfg.Bin, "bin-dir", "", "`folder` of the programs (default: that of taskctl)")
	asJSON := fs.Bool("json", false, "print only the JSON verdict on stdout; the live view goes nowhere")
	if code, ok := cli.Parse(fs, args, stdout, stderr); !ok {
		return code
	}
	if _, err := verbOf(fs, nil); err != nil {
		return cli.Usage(fs, stderr, err)
	}
	for _, bound := range []struct {
		flag             string
		value, low, high int
	}{{"tasks", cfg.Tasks, 1, 10_000_000}, {"rate", cfg.Rate, 1, 100_000}, {"workers", cfg.Workers, 2, 64}} {
		if bound.value < bound.low || bound.value > bound.high {
			return cli.Usage(fs, stderr, fmt.Errorf("--%s %d: must be %d..%d", bound.flag, bound.value, bound.low, bound.high))
		}
	}
	if !(cfg.Delayed >= 0 && cfg.Delayed <= 1) {
		return cli.Usage(fs, stderr, fmt.Errorf("--delayed-share %v: must be 0..1", cfg.Delayed))
	}
	if *asJSON {
		cfg.Progress = io.Discard
	}
	verdict, err := demo.Run(ctx, cfg)
	if err != nil {
		return cli.Fail(fs, stderr, err)
	}
	verdict.Print(cfg.Progress)
	if err := json.NewEncoder(stdout).Encode(verdict); err != nil {
		return cli.Fail(fs, stderr, err)
	}
	if !verdict.OK() {
		return cli.ExitFailed
	}
	return cli.ExitOK
}

// openDemo migrates the demo's database and returns what counts its tasks.
func openDemo(ctx context.Context, dsn string) (func(context.Context) (demo.Counts, error), func(), error) {
	flags := ydbconn.Flags{Endpoint: dsn, Folder: ydbconn.DefaultFolder}
	cfg, err := flags.Config(func(string) string { return "" })
	if err != nil {
		return nil, nil, err
	}
	db, err := ydbconn.Open(ctx, cfg)
	if err != nil {
		return nil, nil, err
	}
	end := func() { _ = db.Close(context.WithoutCancel(ctx)) }
	if _, err := migrate.Up(ctx, db, migrate.Options{}); err != nil {
		end()
		return nil, nil, err
	}
	store := taskstore.New(db, taskstore.Options{})
	count := func(ctx context.Context) (demo.Counts, error) {
		s, err := store.Stats(ctx)
		return demo.Counts{
			Runnable: int(s.Pending + s.Locked), Delayed: int(s.Delayed), Completed: int(s.Completed), Dead: int(s.Dead),
		}, err
	}
	return count, end, nil
}
