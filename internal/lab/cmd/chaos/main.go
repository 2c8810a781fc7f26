// Command chaos runs a fleet under faults and checks its history: `make chaos`.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"time"

	"github.com/taskfleet/taskfleet/internal/cli"
	"github.com/taskfleet/taskfleet/internal/lab/chaos"
	"github.com/taskfleet/taskfleet/internal/lab/fleet"
)

const usage = `chaos runs a fleet on this machine and injects the faults of a plan that is
generated from a seed: workers, producers and the server are killed, stalled and
cut off. Then it checks the history of the run against the invariants. The last
line of stdout is the verdict as JSON; the exit code is 0 only when no invariant
was violated.

Examples:
  make chaos
  make chaos ARGS="--duration 10m"
  make chaos ARGS="--duration 1m --seed 7"      the same faults again
`

func main() { cli.Main(run) }

func run(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) int {
	fs := cli.NewFlagSet("chaos", usage)
	cfg := chaos.Config{Progress: stdout}
	fs.DurationVar(&cfg.Length, "duration", 3*time.Minute, "how long faults are injected; the fleet then has time to recover")
	fs.Uint64Var(&cfg.Seed, "seed", 0, "`number` that the plan is generated from (default: random)")
	fs.StringVar(&cfg.Bin, "bin-dir", "", "`folder` of the programs, built with the tag lab (default: build them)")
	fs.StringVar(&cfg.Keep, "keep", "", "write the history and the programs' logs into this `folder`")
	fs.DurationVar(&cfg.Slack, "slack", time.Second, "added to the promised time of a takeover, on a busy machine")
	if code, ok := cli.Parse(fs, args, stdout, stderr); !ok {
		return code
	}
	switch {
	case fs.NArg() > 0:
		return cli.Usage(fs, stderr, fmt.Errorf("unexpected argument %q", fs.Arg(0)))
	case cfg.Length <= 0 || cfg.Length > 24*time.Hour:
		return cli.Usage(fs, stderr, fmt.Errorf("--duration %s: must be above 0 and at most 24h", cfg.Length))
	case cfg.Slack < 0:
		return cli.Usage(fs, stderr, fmt.Errorf("--slack %s: must not be negative", cfg.Slack))
	case cfg.Keep != "" && !isFolder(cfg.Keep):
		return cli.Usage(fs, stderr, fmt.Errorf("--keep %s: there is no such folder", cfg.Keep))
	}
	if !fs.Changed("seed") {
		cfg.Seed = uint64(rand.Uint32())
	}
	if cfg.Bin == "" {
		var err error
		if cfg.Bin, err = fleet.Build(); err != nil {
			return cli.Fail(fs, stderr, err)
		}
	}
	verdict, err := chaos.Run(ctx, cfg)
	if err != nil {
		return cli.Fail(fs, stderr, fmt.Errorf("seed %d: %w", cfg.Seed, err))
	}
	if err := json.NewEncoder(stdout).Encode(verdict); err != nil {
		return cli.Fail(fs, stderr, err)
	}
	if !verdict.OK() {
		return cli.ExitFailed
	}
	return cli.ExitOK
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
