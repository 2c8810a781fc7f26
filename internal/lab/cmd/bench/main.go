// Command bench measures what the queue costs: `make bench`.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/pprof"
	"strings"
	"time"

	"github.com/taskfleet/taskfleet/internal/cli"
	"github.com/taskfleet/taskfleet/internal/lab/bench"
	"github.com/taskfleet/taskfleet/internal/ydbconn"
	"github.com/taskfleet/taskfleet/pkg/migrate"
	"github.com/taskfleet/taskfleet/pkg/task"
	"github.com/taskfleet/taskfleet/pkg/ydbembed"
)

const usage = `bench measures what the queue costs, in a folder of its own that it creates and
drops. Unless a database is given it starts an embedded one in a temporary folder.
The last line of stdout is JSON: tasks, seconds, tasks_per_second,
statements_per_task, rows_read_per_task, ru_per_task.

  bench enqueue   how fast tasks are stored
  bench drain     how fast one worker claims, runs (a handler that does nothing) and finishes a full queue

Examples:
  make bench ARGS="drain --tasks 100000"
  make bench ARGS="enqueue --tasks 100000 --cpuprofile enqueue.pprof"
  make bench ARGS="drain --tasks 10000 --endpoint grpc://localhost:2136/local"

` + ydbconn.Help

// benchmarks are the verbs.
var benchmarks = map[string]func(context.Context, bench.Config) (bench.Figures, error){
	"drain": bench.Drain, "enqueue": bench.Enqueue,
}

func main() { cli.Main(run) }

func run(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) int {
	fs := cli.NewFlagSet("bench", usage)
	flags := ydbconn.RegisterFlags(fs)
	cfg := bench.Config{Partitions: task.DefaultPartitions}
	fs.IntVar(&cfg.Tasks, "tasks", 100_000, "`number` of tasks")
	fs.IntVar(&cfg.Payload, "payload", 200, "`bytes` of each task's payload")
	fs.IntVar(&cfg.Concurrency, "concurrency", 64, "handlers that run at once")
	fs.BoolVar(&cfg.NoHistory, "no-history", false, "delete completed tasks instead of keeping them")
	memory := fs.Bool("memory", false, "keep the embedded database in memory: no disk in the figures")
	profile := fs.String("cpuprofile", "", "write a CPU profile of the whole run to this `file`")
	if code, ok := cli.Parse(fs, args, stdout, stderr); !ok {
		return code
	}
	benchmark, known := benchmarks[fs.Arg(0)]
	switch {
	case fs.NArg() != 1 || !known:
		return cli.Usage(fs, stderr, fmt.Errorf("%q: say drain or enqueue", strings.Join(fs.Args(), " ")))
	case cfg.Tasks < 1 || cfg.Tasks > 100_000_000:
		return cli.Usage(fs, stderr, fmt.Errorf("--tasks %d: must be 1..100000000", cfg.Tasks))
	case cfg.Payload < 0 || cfg.Payload > task.MaxPayload:
		return cli.Usage(fs, stderr, fmt.Errorf("--payload %d: must be 0..%d", cfg.Payload, task.MaxPayload))
	case cfg.Concurrency < 1:
		return cli.Usage(fs, stderr, fmt.Errorf("--concurrency %d: must be positive", cfg.Concurrency))
	}
	cfg.Progress = func(what string, done, of int) { fmt.Fprintf(stderr, "%s %d of %d\n", what, done, of) }
	figures, err := measure(ctx, flags, cfg, *memory, *profile, benchmark)
	if err != nil {
		return cli.Fail(fs, stderr, err)
	}
	if err := json.NewEncoder(stdout).Encode(figures); err != nil {
		return cli.Fail(fs, stderr, err)
	}
	return cli.ExitOK
}

// measure runs one benchmark in a folder that it creates and drops.
func measure(ctx context.Context, flags *ydbconn.Flags, cfg bench.Config, memory bool, profile string,
	run func(context.Context, bench.Config) (bench.Figures, error),
) (figures bench.Figures, err error) {
	endpoint, end, err := openEndpoint(ctx, flags, memory)
	if err != nil {
		return figures, err
	}
	defer func() { err = errors.Join(err, end()) }()
	cfg.Folder = fmt.Sprintf("taskfleet_bench_%d", time.Now().UnixNano())
	target := ydbconn.Flags{Endpoint: endpoint, Database: flags.Database, Folder: cfg.Folder, DialTimeout: flags.DialTimeout}
	conn, err := target.Config(os.Getenv)
	if err != nil {
		return figures, err
	}
	db, err := ydbconn.Open(ctx, conn)
	if err != nil {
		return figures, err
	}
	defer func() { err = errors.Join(err, db.Close(context.WithoutCancel(ctx))) }()
	if _, err := migrate.Up(ctx, db, migrate.Options{Folder: cfg.Folder, Partitions: cfg.Partitions}); err != nil {
		return figures, err
	}
	defer func() {
		err = errors.Join(err, ydbconn.RemoveFolder(context.WithoutCancel(ctx), db, db.Name()+"/"+cfg.Folder))
	}()
	cfg.DB = db
	if profile != "" {
		file, err := os.Create(profile)
		if err != nil {
			return figures, err
		}
		defer file.Close()
		if err := pprof.StartCPUProfile(file); err != nil {
			return figures, err
		}
		defer pprof.StopCPUProfile()
	}
	return run(ctx, cfg)
}

// openEndpoint returns the endpoint that the flags or the environment name, or
// that of a new embedded server, and what closes it.
func openEndpoint(ctx context.Context, flags *ydbconn.Flags, memory bool) (endpoint string, end func() error, err error) {
	for _, given := range []string{flags.Endpoint, os.Getenv("YDB_CONNECTION_STRING"), os.Getenv("YDB_ENDPOINT")} {
		if given != "" {
			return flags.Endpoint, func() error { return nil }, nil
		}
	}
	dir := ""
	if !memory {
		if dir, err = os.MkdirTemp("", "taskfleet-bench-"); err != nil {
			return "", nil, err
		}
	}
	server, err := ydbembed.Start(ctx, ydbembed.Config{Dir: dir, Memory: memory})
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	return server.DSN(), func() error {
		err := server.Close()
		if dir != "" {
			err = errors.Join(err, os.RemoveAll(dir))
		}
		return err
	}, nil
}
