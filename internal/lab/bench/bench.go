// Package bench measures what the queue costs: in time, and in what does not
// depend on the machine, statements, rows and request units per task.
package bench

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/taskfleet/taskfleet/internal/taskstore"
	"github.com/taskfleet/taskfleet/pkg/task"
	"github.com/taskfleet/taskfleet/pkg/taskproducer"
	"github.com/taskfleet/taskfleet/pkg/taskworker"
	ydb "github.com/ydb-platform/ydb-go-sdk/v3"
)

// Config says what to measure, and where.
type Config struct {
	DB         *ydb.Driver
	Folder     string // a migrated fleet without tasks
	Partitions int    // of that fleet
	Tasks      int
	Payload    int // bytes of each task
	// Concurrency of the worker.
	Concurrency int
	// NoHistory deletes completed tasks instead of keeping them.
	NoHistory bool
	// Progress is told now and then how many tasks are done. Default: nobody.
	Progress func(what string, done, of int)
}

// Figures are what a run cost.
type Figures struct {
	Tasks             int     `json:"tasks"`
	Seconds           float64 `json:"seconds"`
	TasksPerSecond    float64 `json:"tasks_per_second"`
	StatementsPerTask float64 `json:"statements_per_task"`
	RowsReadPerTask   float64 `json:"rows_read_per_task"`
	RUPerTask         float64 `json:"ru_per_task"`
}

func newFigures(tasks int, took time.Duration, cost taskstore.Usage) Figures {
	per := func(n uint64) float64 { return float64(n) / float64(tasks) }
	return Figures{
		Tasks: tasks, Seconds: took.Seconds(), TasksPerSecond: float64(tasks) / took.Seconds(),
		StatementsPerTask: per(cost.Statements), RowsReadPerTask: per(cost.RowsRead), RUPerTask: per(cost.RequestUnits),
	}
}

// kind of the tasks that a benchmark makes.
const kind = "bench"

// Enqueue measures how tasks come into the queue, as fast as they are stored.
func Enqueue(ctx context.Context, cfg Config) (Figures, error) {
	store := taskstore.New(cfg.DB, taskstore.Options{Folder: cfg.Folder})
	took, err := fill(ctx, cfg, store)
	return newFigures(cfg.Tasks, took, store.Usage()), err
}

func fill(ctx context.Context, cfg Config, store *taskstore.Store) (time.Duration, error) {
	producer, err := taskproducer.New(store, taskproducer.Config{Partitions: cfg.Partitions})
	if err != nil {
		return 0, err
	}
	payload := make([]byte, cfg.Payload)
	for i := range payload {
		payload[i] = 'a' + byte(i%26)
	}
	begin := time.Now()
	result, err := producer.Run(ctx, taskproducer.Load{
		Count: cfg.Tasks,
		Make: func(n int) task.Task {
			if cfg.Progress != nil && n%10_000 == 0 {
				cfg.Progress("enqueued", n, cfg.Tasks)
			}
			return task.Task{Kind: kind, Payload: payload, Priority: uint8(n)}
		},
	})
	if err == nil && result.Enqueued != cfg.Tasks {
		err = fmt.Errorf("bench: %d of %d tasks were stored", result.Enqueued, cfg.Tasks)
	}
	return time.Since(begin), err
}

// Drain fills the queue, then measures how one worker, owner of all partitions,
// claims, runs and finishes all of it with a handler that does nothing.
func Drain(ctx context.Context, cfg Config) (Figures, error) {
	if _, err := fill(ctx, cfg, taskstore.New(cfg.DB, taskstore.Options{Folder: cfg.Folder})); err != nil {
		return Figures{}, err
	}
	store := taskstore.New(cfg.DB, taskstore.Options{Folder: cfg.Folder, NoHistory: cfg.NoHistory})
	const owner = "bench"
	counter := &counter{want: int64(cfg.Tasks), all: make(chan struct{}), progress: cfg.Progress}
	worker, err := taskworker.New(store, taskworker.Config{
		Owner: owner, Concurrency: cfg.Concurrency, Observer: counter,
		Handlers: map[string]taskworker.Handler{kind: func(context.Context, *task.Task) error { return nil }},
	})
	if err != nil {
		return Figures{}, err
	}
	partitions := make([]uint16, cfg.Partitions)
	for i := range partitions {
		partitions[i] = uint16(i)
	}
	epochs, err := store.Raise(ctx, partitions, owner)
	if err != nil {
		return Figures{}, err
	}
	if err := worker.Start(ctx); err != nil {
		return Figures{}, err
	}
	before, begin := store.Usage(), time.Now()
	for _, p := range partitions {
		worker.Acquired(ctx, p, epochs[p])
	}
	select {
	case <-counter.all:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	took, cost := time.Since(begin), store.Usage().Sub(before)
	return newFigures(cfg.Tasks, took, cost), errors.Join(err, worker.Stop(context.WithoutCancel(ctx)))
}

// counter waits until so many tasks are recorded as completed.
type counter struct {
	taskworker.NopObserver
	want     int64
	done     atomic.Int64
	all      chan struct{}
	progress func(string, int, int)
}

// Finished counts.
func (c *counter) Finished(_ string, outcome task.Outcome, _ time.Duration) {
	if outcome != task.OutcomeCompleted {
		return
	}
	n := c.done.Add(1)
	if c.progress != nil && n%10_000 == 0 {
		c.progress("drained", int(n), int(c.want))
	}
	if n == c.want {
		close(c.all)
	}
}
