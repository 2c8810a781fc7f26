// Command taskctl operates a fleet: it migrates the schema, shows what is in the
// queue and who owns it, and runs the demo.
package main

import (
	"context"
	"fmt"
	"io"

	"github.com/taskfleet/taskfleet/internal/cli"
)

func main() { cli.Main(run) }

const usage = `taskctl operates a taskfleet: schema, figures, workers, dead tasks, demo.

Usage:
  taskctl migrate up|down|status   create, remove or show the schema
  taskctl stats                    tasks per table, partitions per owner, oldest runnable task
  taskctl fleet                    the workers: their states, partitions, epochs and sessions
  taskctl fleet drain|resume NAME  make a worker idle, and let it work again
  taskctl dead list|replay         show dead tasks, or make them runnable again
  taskctl demo                     run a whole fleet on this machine, and kill a worker

taskctl COMMAND --help shows the flags and examples of a command.
`

// commands are the subcommands by name.
var commands = map[string]cli.Run{
	"migrate": runMigrate,
	"stats":   runStats,
	"fleet":   runFleet,
	"dead":    runDead,
	"demo":    runDemo,
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
