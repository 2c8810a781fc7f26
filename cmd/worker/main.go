// Command worker joins a fleet and runs its tasks: it sends HTTP requests, starts
// pipelines and publishes to queues.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	ydb "github.com/ydb-platform/ydb-go-sdk/v3"

	"github.com/taskfleet/taskfleet/internal/cli"
	"github.com/taskfleet/taskfleet/internal/lab/journal"
	"github.com/taskfleet/taskfleet/internal/taskstore"
	"github.com/taskfleet/taskfleet/internal/ydbconn"
	"github.com/taskfleet/taskfleet/pkg/metrics"
	"github.com/taskfleet/taskfleet/pkg/migrate"
	"github.com/taskfleet/taskfleet/pkg/rebalancer"
	"github.com/taskfleet/taskfleet/pkg/taskworker"
)

const (
	// stopMargin is what a stop may take beyond --drain-timeout: giving back,
	// recording, releasing.
	stopMargin = 15 * time.Second
	// closeTimeout bounds the closing of the connection.
	closeTimeout = 5 * time.Second
)

func main() { cli.Main(run) }

// run is the command. It hands everything over and returns when ctx ends.
func run(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) int {
	o := newOptions()
	if code, ok := cli.Parse(o.flags, args, stdout, stderr); !ok {
		return code
	}
	if err := o.validate(); err != nil {
		return cli.Usage(o.flags, stderr, err)
	}
	o.log.ClockOffset = o.clock.Offset
	logger, err := o.log.Logger(stderr)
	if err != nil {
		return cli.Usage(o.flags, stderr, err)
	}
	config, err := o.connection.Config(os.Getenv)
	if err != nil {
		return cli.Usage(o.flags, stderr, err)
	}
	if o.journal {
		o.notes = journal.New(stdout, o.clock.Now)
	}
	registry := metrics.New()
	handlers, closeHandlers, err := o.handlers.handlers(o.concurrency, registry)
	if err != nil {
		return cli.Usage(o.flags, stderr, err)
	}
	defer closeHandlers()
	if err := work(ctx, o, config, registry, handlers, logger); err != nil {
		return cli.Fail(o.flags, stderr, err)
	}
	return cli.ExitOK
}

// work opens what is needed, runs the worker until ctx ends, and closes
// everything in reverse.
func work(ctx context.Context, o *options, config ydbconn.Config, registry *metrics.Metrics, handlers map[string]taskworker.Handler, logger *slog.Logger) (err error) {
	if o.metricsAddr != "" {
		// Served until the end of the drain, not only until ctx ends.
		server, err := registry.Serve(context.WithoutCancel(ctx), o.metricsAddr)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, server.Close()) }()
		logger.Info("metrics served", "addr", server.Addr(), "loopback", server.Loopback())
	}
	db, err := ydbconn.Open(ctx, config)
	if err != nil {
		return unlessStopped(ctx, err)
	}
	defer func() { err = errors.Join(err, closeDriver(ctx, db)) }()
	facts, err := migrate.Check(ctx, db, config.Folder)
	if err != nil {
		return unlessStopped(ctx, err)
	}
	m, err := newMember(db, o, config, facts, registry, handlers, logger)
	if err != nil {
		return err
	}
	return m.run(ctx)
}

// unlessStopped drops an error that comes of having been stopped before there
// was anything to hand over.
func unlessStopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// member is a worker of the fleet: what it owns, and what it does with it.
type member struct {
	id       string
	drain    time.Duration
	logger   *slog.Logger
	worker   *taskworker.Worker
	balancer *rebalancer.Rebalancer
	stalled  atomic.Bool // no handler slot is left
}

func newMember(db *ydb.Driver, o *options, config ydbconn.Config, facts migrate.Facts, registry *metrics.Metrics, handlers map[string]taskworker.Handler, logger *slog.Logger) (*member, error) {
	m := &member{id: o.name(), drain: o.drainTimeout, logger: logger}
	store := taskstore.New(db, taskstore.Options{
		Folder: config.Folder, NoHistory: o.history == 0, Observer: registry.Database(),
	})
	var repo taskworker.TaskRepository = store
	var fence rebalancer.Fence = store
	if o.notes != nil {
		repo, fence = o.notes.Repository(repo), o.notes.Fence(fence)
	}
	maxCrashes := o.maxCrashes
	if maxCrashes == 0 {
		maxCrashes = -1
	}
	var err error
	m.worker, err = taskworker.New(repo, taskworker.Config{
		Owner:       m.id,
		Handlers:    handlers,
		Concurrency: o.concurrency,
		MaxAttempts: o.maxAttempts,
		MaxCrashes:  maxCrashes,
		TaskTimeout: o.taskTimeout,
		Fenced:      func(partition uint16) { m.balancer.Fenced(partition) },
		Stalled:     m.setStalled,
		Counter:     store,
		Observer:    registry.Worker(),
		Logger:      logger,
	})
	if err != nil {
		return nil, err
	}
	var consumer rebalancer.Consumer = m.worker
	if o.notes != nil {
		consumer = o.notes.Consumer(consumer)
	}
	drain := o.drainTimeout
	if drain == 0 {
		drain = -1
	}
	m.balancer, err = rebalancer.New(db, rebalancer.Config{
		WorkerID:       m.id,
		Weight:         o.weight,
		Kinds:          slices.Sorted(maps.Keys(handlers)),
		Version:        version(),
		Partitions:     facts.Partitions,
		Node:           config.FolderPath() + "/" + migrate.NodeName,
		Consumer:       consumer,
		Fence:          fence,
		Observer:       registry.Rebalancer(),
		Logger:         logger,
		SessionTimeout: o.sessionTimeout,
		DrainTimeout:   drain,
	})
	if err != nil {
		return nil, err
	}
	registry.Rebalancer().SetPartitions(facts.Partitions)
	registry.SetHealth(m.health)
	return m, nil
}

// run works until ctx ends, then stops in order: the partitions first, which
// empties them, then what is left of the worker.
func (m *member) run(ctx context.Context) error {
	background := context.WithoutCancel(ctx)
	if err := m.worker.Start(background); err != nil {
		return err
	}
	if err := m.balancer.Start(background); err != nil {
		return errors.Join(err, m.worker.Stop(background))
	}
	select {
	case <-m.balancer.Ready():
		m.logger.Info("worker ready", "id", m.id)
		<-ctx.Done()
	case <-ctx.Done():
	}
	m.logger.Info("worker stops", "id", m.id, "reason", context.Cause(ctx), "partitions", len(m.balancer.Owned()))
	ctx, cancel := context.WithTimeout(background, m.drain+stopMargin)
	defer cancel()
	err := errors.Join(m.balancer.Stop(ctx), m.worker.Stop(ctx))
	if err == nil {
		m.logger.Info("worker stopped", "id", m.id)
	}
	return err
}

// setStalled lets the partitions go while no handler can run.
func (m *member) setStalled(stalled bool) {
	m.stalled.Store(stalled)
	if stalled {
		m.balancer.Pause()
	} else {
		m.balancer.Resume()
	}
}

// health is an error until the worker has joined the fleet, and while it is stalled.
func (m *member) health() error {
	if m.stalled.Load() {
		return errors.New("every handler slot has a handler that ignores the end of its context")
	}
	select {
	case <-m.balancer.Ready():
		return nil
	default:
		return errors.New("the worker has not joined the fleet yet")
	}
}

func closeDriver(ctx context.Context, db *ydb.Driver) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	if err := db.Close(ctx); err != nil {
		return fmt.Errorf("closing the connection: %w", err)
	}
	return nil
}

// version is the version of the module, or the commit, that this binary was
// built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			return setting.Value[:min(12, len(setting.Value))]
		}
	}
	return ""
}
