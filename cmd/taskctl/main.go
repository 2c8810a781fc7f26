// Command taskctl looks after a fleet: it migrates the schema, shows what is in
// the queue and who owns it, runs the demo and the benchmarks.
package main

import (
	"context"
	"fmt"
	"io"

	"github.com/taskfleet/taskfleet/internal/cli"
)

func main() { cli.Main(run) }

const usage = `taskctl looks after a taskfleet: schema, numbers, demo, benchmarks.

Usage:
  taskctl migrate up|down|status   create, remove or show the schema
  taskctl stats                    tasks per table, partitions per owner, oldest runnable task
  taskctl dead list|replay         show dead tasks, or make them runnable again
  taskctl demo                     run a whole fleet on this machine, and kill a worker
  taskctl bench drain|enqueue      measure on ydbembed, or on the database given
  taskctl chaos                    run a fleet under faults, and check its history

taskctl COMMAND --help shows the flags and examples of a command.
`

// commands are the subcommands by name.
var commands = map[string]cli.Run{
	"migrate": runMigrate,
	"stats":   runStats,
	"dead":    runDead,
	"demo":    runDemo,
	"bench":   runBench,
	"chaos":   runChaos, // make chaos
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		fmt.Fprint(stderr, usage)
		return cli.ExitUsage
	}
	switch args[0] {
	case "help", "--help", "-h":
		fmt.Fprint(stdout, usage)
		return cli.ExitOK
	}
	command, ok := commands[args[0]]
	if !ok {
		fmt.Fprintf(stderr, "taskctl: unknown command %q\nsee taskctl --help\n", args[0])
		return cli.ExitUsage
	}
	return command(ctx, args[1:], stdin, stdout, stderr)
}
