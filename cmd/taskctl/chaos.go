package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"time"

	"github.com/taskfleet/taskfleet/cmd/taskctl/internal/chaos"
	"github.com/taskfleet/taskfleet/internal/cli"
)

const chaosUsage = `taskctl chaos breaks a fleet on this machine for a while, by a plan that a seed
makes: workers, producers and the server are killed, stalled and cut off. Then it
checks the history of the run against what must always hold. The last line of
stdout is the verdict as JSON; it exits with 0 only when nothing was violated.

Examples:
  taskctl chaos
  taskctl chaos --minutes 10
  taskctl chaos --minutes 1 --seed 7      the same faults again
`

func runChaos(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) int {
	fs := cli.NewFlagSet("taskctl chaos", chaosUsage)
	cfg := chaos.Config{Progress: stdout}
	minutes := fs.Float64("minutes", 3, "how long faults go on, in `minutes`; the fleet has some more time to recover")
	fs.Uint64Var(&cfg.Seed, "seed", 0, "`number` that decides about the faults (default: by chance)")
	fs.StringVar(&cfg.Bin, "bin-dir", "", "`folder` of the programs (default: that of taskctl)")
	fs.StringVar(&cfg.Planner, "planner", "peers", "`who` plans the partitions: peers or leader")
	fs.StringVar(&cfg.Keep, "keep", "", "write the history and the programs' logs into this `folder`")
	fs.DurationVar(&cfg.Slack, "slack", time.Second, "how much longer a takeover may take than is promised, on a busy machine")
	if code, ok := cli.Parse(fs, args, stdout, stderr); !ok {
		return code
	}
	switch {
	case fs.NArg() > 0:
		return cli.Usage(fs, stderr, fmt.Errorf("unexpected argument %q", fs.Arg(0)))
	case !(*minutes > 0 && *minutes <= 24*60):
		return cli.Usage(fs, stderr, fmt.Errorf("--minutes %v: must be above 0 and at most 1440", *minutes))
	case cfg.Planner != "peers" && cfg.Planner != "leader":
		return cli.Usage(fs, stderr, fmt.Errorf("--planner %q: must be peers or leader", cfg.Planner))
	case cfg.Slack < 0:
		return cli.Usage(fs, stderr, errors.New("--slack: must not be negative"))
	case cfg.Keep != "" && !isFolder(cfg.Keep):
		return cli.Usage(fs, stderr, fmt.Errorf("--keep %s: there is no such folder", cfg.Keep))
	}
	cfg.Length = time.Duration(*minutes * float64(time.Minute))
	if !fs.Changed("seed") {
		cfg.Seed = uint64(rand.Uint32())
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
