package taskfleet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	ydb "github.com/ydb-platform/ydb-go-sdk/v3"

	"github.com/taskfleet/taskfleet/internal/seam"
	"github.com/taskfleet/taskfleet/internal/taskstore"
	"github.com/taskfleet/taskfleet/internal/ydbconn"
	"github.com/taskfleet/taskfleet/pkg/migrate"
	"github.com/taskfleet/taskfleet/pkg/rebalancer"
	"github.com/taskfleet/taskfleet/pkg/taskproducer"
	"github.com/taskfleet/taskfleet/pkg/taskworker"
)

// stopMargin is what a stop may take beyond the grace: giving back, recording and
// releasing.
const stopMargin = 15 * time.Second

// Fleet enqueues tasks into one folder of a database, and works on them once it is
// started. Its methods may be called concurrently.
type Fleet struct {
	db         *ydb.Driver
	cfg        Config
	partitions int
	log        *slog.Logger
	store      *taskstore.Store
	producer   *taskproducer.Producer
	enqueue    EnqueueFunc

	mu       sync.Mutex
	handlers map[string]taskworker.Handler
	wrong    []error // of Handle
	worker   *taskworker.Worker
	balancer *rebalancer.Rebalancer

	stalled atomic.Bool // no handler slot is left
}

// Open returns a Fleet on the tasks in Config.Folder of a database. It starts
// nothing, and owns nothing that must be closed; the driver stays the caller's. Its
// error wraps ErrNoSchema, ErrOlderSchema or ErrNewerSchema, and says what to run,
// when the folder does not have the schema that this release knows; package migrate
// makes it. Other errors may go away when Open is repeated.
func Open(ctx context.Context, db *ydb.Driver, cfg Config) (*Fleet, error) {
	if cfg.Folder == "" {
		cfg.Folder = ydbconn.DefaultFolder
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	if cfg.Grace == 0 {
		cfg.Grace = DefaultGrace
	}
	if cfg.WorkerID == "" {
		cfg.WorkerID = defaultWorkerID()
	}
	if err := ydbconn.CheckFolder(cfg.Folder); err != nil {
		return nil, fmt.Errorf("taskfleet: %w", err)
	}
	facts, err := migrate.Check(ctx, db, cfg.Folder)
	if err != nil {
		return nil, fmt.Errorf("taskfleet: %w", err)
	}
	options := taskstore.Options{Folder: cfg.Folder, NoHistory: cfg.Worker.NoHistory}
	if cfg.Metrics != nil {
		options.Observer = cfg.Metrics.Database()
	}
	f := &Fleet{
		db: db, cfg: cfg, partitions: facts.Partitions, log: cfg.Logger,
		store:    taskstore.New(db, options),
		handlers: map[string]taskworker.Handler{},
	}
	producer := cfg.Producer
	producer.Partitions = facts.Partitions
	if producer.Observer == nil && cfg.Metrics != nil {
		producer.Observer = enqueueMetrics{cfg.Metrics}
	}
	if f.producer, err = taskproducer.New(seam.Part[taskproducer.Store](f.store), producer); err != nil {
		return nil, err
	}
	f.enqueue = f.producer.Enqueue
	for _, m := range slices.Backward(cfg.EnqueueMiddleware) {
		f.enqueue = m(f.enqueue)
	}
	return f, nil
}

// Run works until ctx ends, and then stops in order within Config.Grace: see Stop.
// It returns nil after a stop that left nothing undone. The values of ctx reach the
// handlers' contexts.
func (f *Fleet) Run(ctx context.Context) error {
	if err := f.Start(ctx); err != nil {
		return err
	}
	select {
	case <-f.Ready():
		f.log.Info("worker ready", "worker_id", f.cfg.WorkerID)
		<-ctx.Done()
	case <-ctx.Done():
	}
	f.log.Info("worker stops", "worker_id", f.cfg.WorkerID, "reason", context.Cause(ctx), "partitions", len(f.balancer.Owned()))
	return f.Stop(context.WithoutCancel(ctx))
}

// Start joins the fleet and begins to work, in the background. The end of ctx does
// not stop it, Stop does; its values reach the handlers' contexts. Its error wraps
// ErrNoHandlers when nothing was given to Handle, or names what was wrong there. A
// Fleet starts once.
func (f *Fleet) Start(ctx context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.worker != nil {
		return errors.New("taskfleet: a fleet starts once")
	}
	if err := errors.Join(f.wrong...); err != nil {
		return fmt.Errorf("taskfleet: %w", err)
	}
	if len(f.handlers) == 0 {
		return fmt.Errorf("taskfleet: %w", ErrNoHandlers)
	}
	worker, balancer, err := f.join()
	if err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	if err := worker.Start(ctx); err != nil {
		return err
	}
	if err := balancer.Start(ctx); err != nil {
		return errors.Join(err, worker.Stop(ctx))
	}
	f.worker, f.balancer = worker, balancer
	return nil
}

// join makes the two parts that work: the worker, and the rebalancer that gives it
// partitions.
func (f *Fleet) join() (*taskworker.Worker, *rebalancer.Rebalancer, error) {
	var balancer *rebalancer.Rebalancer
	w := f.cfg.Worker
	w.Owner, w.Handlers, w.Logger = f.cfg.WorkerID, f.wrapped(), f.log
	if f.cfg.Concurrency != 0 {
		w.Concurrency = f.cfg.Concurrency
	}
	w.Counter = f.store
	w.Fenced = func(partition uint16) { balancer.Fenced(partition) }
	w.Stalled = func(stalled bool) {
		f.stalled.Store(stalled)
		if stalled {
			balancer.Pause()
		} else {
			balancer.Resume()
		}
	}
	if w.Observer == nil && f.cfg.Metrics != nil {
		w.Observer = f.cfg.Metrics.Worker()
	}
	worker, err := taskworker.New(seam.Part[taskworker.TaskRepository](f.store), w)
	if err != nil {
		return nil, nil, err
	}
	r := f.cfg.Rebalancer
	r.WorkerID, r.Logger = f.cfg.WorkerID, f.log
	r.Kinds = slices.Sorted(maps.Keys(f.handlers))
	r.Partitions, r.Node = f.partitions, f.db.Name()+"/"+f.cfg.Folder+"/"+migrate.NodeName
	r.Consumer, r.Fence = seam.Part[rebalancer.Consumer](worker), seam.Part[rebalancer.Fence](f.store)
	r.DrainTimeout = f.cfg.Grace
	if r.DrainTimeout < 0 {
		r.DrainTimeout = -1
	}
	if m := f.cfg.Metrics; m != nil {
		if r.Observer == nil {
			r.Observer = m.Rebalancer()
		}
		m.Rebalancer().SetPartitions(f.partitions)
		m.SetHealth(f.Health)
	}
	balancer, err = rebalancer.New(f.db, r)
	return worker, balancer, err
}

// Stop ends what Start began, in this order: it claims nothing more, gives back what
// has not started, lets handlers finish for Config.Grace, then ends their contexts
// and gives their tasks back, records every outcome, and releases the partitions to
// the other workers. When ctx ends first, the rest of the grace is cut off. An error
// says what was left undone: those tasks run again on other workers. It is nil, at
// once, for a Fleet that was not started, and may be repeated.
func (f *Fleet) Stop(ctx context.Context) error {
	f.mu.Lock()
	worker, balancer := f.worker, f.balancer
	f.mu.Unlock()
	if worker == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, max(f.cfg.Grace, 0)+stopMargin)
	defer cancel()
	err := errors.Join(balancer.Stop(ctx), worker.Stop(ctx))
	if err == nil {
		f.log.Info("worker stopped", "worker_id", f.cfg.WorkerID)
	}
	return err
}

// Ready is closed when the started fleet has joined and knows its partitions; nil
// before Start.
func (f *Fleet) Ready() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.balancer == nil {
		return nil
	}
	return f.balancer.Ready()
}

// Health is an error while the fleet cannot run tasks: before it has joined, and
// when every handler slot is taken by a handler that ignores the end of its context.
// With Config.Metrics, /healthz reports it.
func (f *Fleet) Health() error {
	if f.stalled.Load() {
		return errors.New("every handler slot has a handler that ignores the end of its context")
	}
	select {
	case <-f.Ready():
		return nil
	default:
		return errors.New("the worker has not joined the fleet yet")
	}
}

// WorkerID is the name of this worker in the fleet.
func (f *Fleet) WorkerID() string { return f.cfg.WorkerID }

// Producer is the part that enqueues, without Config.EnqueueMiddleware.
func (f *Fleet) Producer() *taskproducer.Producer { return f.producer }
