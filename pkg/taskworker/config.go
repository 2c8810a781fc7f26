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
	// Handlers by kind. A task of another kind fails its attempt and comes back
	// later, when perhaps a worker that knows it has the partition. Required.
	Handlers map[string]Handler
	// Concurrency is how many handlers run at once. Default 64.
	Concurrency int
	// Prefetch is how many claimed tasks may wait for a free handler. They keep
	// handlers busy while the next claim is on its way; they are given back when
	// the partition is revoked. Default: as Concurrency; -1: none.
	Prefetch int
	// MaxAttempts is for tasks that name none; the first attempt counts. Default 25.
	MaxAttempts uint32
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
	// ClaimBatch bounds the tasks of one claim. Default 256.
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
	// at once. Default 256.
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
	span(&c.TaskTimeout, 5*time.Minute)
	span(&c.LockMargin, time.Minute)
	span(&c.AbandonAfter, 2*time.Second)
	if c.Backoff == nil {
		c.Backoff = Exponential(time.Second, time.Hour)
	}
	def(&c.ClaimBatch, 256)
	def(&c.FinishBatch, 256)
	span(&c.FinishAge, 20*time.Millisecond)
	def(&c.FinishBacklog, 4*c.FinishBatch)
	span(&c.SweepMin, 50*time.Millisecond)
	span(&c.SweepMax, max(time.Second, c.SweepMin))
	def(&c.PromoteBatch, 256)
	span(&c.CountEvery, 15*time.Second)
	def(&c.CountRows, 200)
	if c.Fenced == nil {
		c.Fenced = func(uint16) {}
	}
	if c.Observer == nil {
		c.Observer = NopObserver{}
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

// validate tells everything that is wrong, after the defaults.
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
