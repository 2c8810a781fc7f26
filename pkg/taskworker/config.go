package taskworker

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/taskfleet/taskfleet/pkg/task"
)

// Config configures a Worker. A zero value means the default that a field names.
type Config struct {
	// Owner names the worker in the rows that it locks. Required.
	Owner string
	// Folder of the fleet, for Open. Default: taskfleet.
	Folder string
	// NoHistory deletes completed tasks instead of keeping them for a day, for Open.
	NoHistory bool
	// Handlers by kind. Tasks of other kinds are left, runnable and unspent, to
	// workers that have a handler for them. Required.
	Handlers map[string]Handler
	// Concurrency is how many handlers run at once. Default 64.
	Concurrency int
	// Prefetch bounds how many claimed tasks may wait for a free handler. They keep
	// handlers busy while the next claim is on its way: as many wait as handlers end
	// in 200 ms, by their measured duration. They are given back when the partition
	// is revoked. Default: as Concurrency; -1: none.
	Prefetch int
	// MaxAttempts is for tasks that name none; the first attempt counts. Default 25.
	MaxAttempts uint32
	// MaxCrashes sends a task to the dead tasks when workers that held it have died,
	// or lost their session, so many times. From the second time on it runs alone
	// on its worker. Default 3; -1: the first crash ends a task that may have
	// started, which then runs at most once.
	MaxCrashes int
	// TaskTimeout is for tasks that name none. Default 5m.
	TaskTimeout time.Duration
	// LockMargin is added to the timeout for the lock's own end, a backstop that
	// matters only when a worker lives but forgot a task. Default 1m.
	LockMargin time.Duration
	// AbandonAfter is how long a handler may go on after its context ended.
	// Keep it below what the rebalancer grants after a drain deadline. Default 2s.
	AbandonAfter time.Duration
	// Backoff decides when a failed task runs again. Default Exponential(1s, 1h).
	Backoff Backoff
	// ClaimBatch bounds the tasks of one claim. Default 128: so many of the largest
	// tasks stay below what YDB returns for one query.
	ClaimBatch int
	// FinishBatch and FinishAge bound the outcomes of one record and how long the
	// first of them waits for others while handlers run. Default 256 and 20ms.
	FinishBatch int
	FinishAge   time.Duration
	// FinishBacklog outcomes that are not recorded stop new claims. Default four
	// times FinishBatch.
	FinishBacklog int
	// SweepMin and SweepMax bound the pause between looks for new tasks: it
	// doubles while none are found. Default 50ms and 1s.
	SweepMin, SweepMax time.Duration
	// PromoteBatch bounds the due tasks of one partition that are made runnable
	// in one round. Default 4096.
	PromoteBatch int
	// Statements is told what the statements of Open's store cost, as
	// metrics.Metrics.Database is. Default: nobody.
	Statements StatementObserver
	// Counter counts what waits in the worker's partitions, for Observer.Backlog.
	// Default: nothing is counted; with Open: the store.
	Counter Counter
	// CountEvery is the least time between two counts of the runnable tasks; the
	// delayed ones are counted four times less often. Default 15s.
	CountEvery time.Duration
	// CountRows bounds the rows per second that counting reads, one row for each
	// task: the larger the backlog, the longer until the next count. Default 200.
	CountRows int
	// Fenced is told of a partition whose epoch moved on: another worker has
	// taken it. It must not block. Default: only logged.
	Fenced func(partition uint16)
	// Stalled is called with true when every handler slot has an abandoned handler,
	// so that nothing can run, and with false when one of them has returned. Let the
	// worker's partitions go meanwhile (rebalancer.Pause). It must not block. Default:
	// only logged.
	Stalled func(stalled bool)
	// Observer is told what happens. Default: nobody.
	Observer Observer
	// Logger. Default slog.Default.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	def := func(p *int, value int) {
		if *p == 0 {
			*p = value
		}
	}
	span := func(p *time.Duration, value time.Duration) {
		if *p == 0 {
			*p = value
		}
	}
	def(&c.Concurrency, 64)
	def(&c.Prefetch, c.Concurrency)
	c.Prefetch = max(c.Prefetch, 0)
	if c.MaxAttempts == 0 {
		c.MaxAttempts = 25
	}
	def(&c.MaxCrashes, 3)
	span(&c.TaskTimeout, 5*time.Minute)
	span(&c.LockMargin, time.Minute)
	span(&c.AbandonAfter, 2*time.Second)
	if c.Backoff == nil {
		c.Backoff = Exponential(time.Second, time.Hour)
	}
	def(&c.ClaimBatch, 128)
	def(&c.FinishBatch, 256)
	span(&c.FinishAge, 20*time.Millisecond)
	def(&c.FinishBacklog, 4*c.FinishBatch)
	span(&c.SweepMin, 50*time.Millisecond)
	span(&c.SweepMax, max(time.Second, c.SweepMin))
	def(&c.PromoteBatch, 4096)
	span(&c.CountEvery, 15*time.Second)
	def(&c.CountRows, 200)
	if c.Fenced == nil {
		c.Fenced = func(uint16) {}
	}
	if c.Stalled == nil {
		c.Stalled = func(bool) {}
	}
	if c.Observer == nil {
		c.Observer = NopObserver{}
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

// maxCrashes is how many crashes end a task, at least one.
func (c Config) maxCrashes() uint32 { return uint32(max(c.MaxCrashes, 1)) }

// validate reports everything that is wrong, after the defaults.
func (c Config) validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("taskworker: "+format, args...))
		}
	}
	check(c.Owner != "", "Owner is empty")
	check(len(c.Handlers) > 0, "Handlers is empty: there is nothing to run")
	for kind, h := range c.Handlers {
		check(h != nil, "Handlers[%q] is nil", kind)
		check(kind != "" && len(kind) <= task.MaxKind, "Handlers[%q]: a kind has 1..%d bytes", kind, task.MaxKind)
	}
	positive := func(name string, n int) { check(n > 0, "%s %d: must be positive", name, n) }
	positive("Concurrency", c.Concurrency)
	positive("ClaimBatch", c.ClaimBatch)
	positive("FinishBatch", c.FinishBatch)
	positive("FinishBacklog", c.FinishBacklog)
	positive("PromoteBatch", c.PromoteBatch)
	positive("CountRows", c.CountRows)
	check(c.MaxAttempts <= task.MaxAttempts, "MaxAttempts %d: must be 1..%d", c.MaxAttempts, task.MaxAttempts)
	check(c.MaxCrashes >= -1 && c.MaxCrashes <= task.MaxAttempts, "MaxCrashes %d: must be -1..%d", c.MaxCrashes, task.MaxAttempts)
	spans := []struct {
		name string
		d    time.Duration
	}{
		{"TaskTimeout", c.TaskTimeout}, {"LockMargin", c.LockMargin}, {"AbandonAfter", c.AbandonAfter},
		{"FinishAge", c.FinishAge}, {"SweepMin", c.SweepMin}, {"SweepMax", c.SweepMax},
		{"CountEvery", c.CountEvery},
	}
	for _, s := range spans {
		check(s.d > 0, "%s %s: must be positive", s.name, s.d)
	}
	check(c.SweepMin <= c.SweepMax, "SweepMin %s is above SweepMax %s", c.SweepMin, c.SweepMax)
	check(c.LockMargin > c.AbandonAfter, "LockMargin %s must exceed AbandonAfter %s, or a lock ends while its handler runs", c.LockMargin, c.AbandonAfter)
	return errors.Join(errs...)
}
