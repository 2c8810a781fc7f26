package invariants

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	ydb "github.com/ydb-platform/ydb-go-sdk/v3"

	"github.com/taskfleet/taskfleet/internal/lab/fleet"
	"github.com/taskfleet/taskfleet/internal/taskstore"
	"github.com/taskfleet/taskfleet/internal/ydbconn"
	"github.com/taskfleet/taskfleet/pkg/migrate"
	"github.com/taskfleet/taskfleet/pkg/rebalancer"
	"github.com/taskfleet/taskfleet/pkg/task"
	"github.com/taskfleet/taskfleet/pkg/taskworker"
)

// asWorker makes the test's own program a worker, see TestMain.
const asWorker = "TASKFLEET_INVARIANTS_WORKER"

// Kinds of the test's worker.
const (
	// kindPoison ends the process in the middle of the handler.
	kindPoison = "poison"
	// kindGood takes the milliseconds that its payload names, and succeeds.
	kindGood = "good"
)

// testWorker is the program of a worker with the test's handlers: this one, started
// again. It prints a line "began <id> <attempt>" for each handler that starts.
func testWorker(stdout func(line string), args ...string) fleet.Program {
	path, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return fleet.Program{Path: path, Args: args, Env: []string{asWorker + "=1"}, Stdout: stdout}
}

// work is a whole worker on the defaults of the shipped one, until SIGTERM.
func work(args []string) error {
	flags := flag.NewFlagSet("worker", flag.ExitOnError)
	endpoint := flags.String("endpoint", "", "connection string")
	id := flags.String("worker-id", "", "name in the fleet")
	concurrency := flags.Int("concurrency", 64, "handlers that run at once")
	maxAttempts := flags.Uint("max-attempts", 25, "attempts of a task that names no number")
	session := flags.Duration("session-timeout", sessionTimeout, "how long partitions stay with a worker that is not heard of")
	drain := flags.Duration("drain-timeout", 10*time.Second, "how long running tasks may go on at a stop")
	if err := flags.Parse(args); err != nil {
		return err
	}
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	background := context.WithoutCancel(ctx)
	logger := slog.New(slog.NewJSONHandler(os.Stderr, nil))

	db, err := ydb.Open(ctx, *endpoint)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close(background) }()
	facts, err := migrate.Check(ctx, db, ydbconn.DefaultFolder)
	if err != nil {
		return err
	}
	store := taskstore.New(db, taskstore.Options{})
	var parts *rebalancer.Rebalancer
	tasks, err := taskworker.New(store, taskworker.Config{
		Owner: *id, Concurrency: *concurrency, MaxAttempts: uint32(*maxAttempts), Logger: logger,
		Handlers: map[string]taskworker.Handler{kindPoison: poison, kindGood: good},
		Fenced:   func(p uint16) { parts.Fenced(p) },
	})
	if err != nil {
		return err
	}
	parts, err = rebalancer.New(db, rebalancer.Config{
		WorkerID: *id, Partitions: facts.Partitions, Node: db.Name() + "/" + ydbconn.DefaultFolder + "/" + migrate.NodeName,
		Consumer: tasks, Fence: store, Logger: logger, SessionTimeout: *session, DrainTimeout: *drain,
	})
	if err != nil {
		return err
	}
	if err := tasks.Start(background); err != nil {
		return err
	}
	if err := parts.Start(background); err != nil {
		return err
	}
	<-ctx.Done()
	if err := parts.Stop(background); err != nil {
		return err
	}
	return tasks.Stop(background)
}

func began(t *task.Task) { fmt.Println("began", t.ID, t.Attempt) }

func poison(_ context.Context, t *task.Task) error {
	began(t)
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

func good(ctx context.Context, t *task.Task) error {
	began(t)
	var takes struct{ MS int }
	if len(t.Payload) > 0 {
		if err := json.Unmarshal(t.Payload, &takes); err != nil {
			return err
		}
	}
	timer := time.NewTimer(time.Duration(takes.MS) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
