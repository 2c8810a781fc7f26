package main

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/taskfleet/taskfleet/internal/lifecycle"
	"github.com/taskfleet/taskfleet/pkg/task"
	"github.com/taskfleet/taskfleet/pkg/taskproducer"
)

// progress counts what a producer does, and passes it on to the metrics.
type progress struct {
	taskproducer.Observer // the metrics
	begin                 time.Time

	tasks, enqueued, duplicates, invalid, retries, backpressure atomic.Int64
	lastLine                                                    atomic.Int64 // of --input that was dealt with
}

func newProgress(next taskproducer.Observer) *progress {
	return &progress{Observer: next, begin: time.Now()}
}

// Enqueued counts a stored batch.
func (p *progress) Enqueued(batch task.Batch, result task.EnqueueResult, took time.Duration) {
	p.enqueued.Add(int64(result.Enqueued))
	p.duplicates.Add(int64(result.Duplicates))
	p.Observer.Enqueued(batch, result, took)
}

// Failed counts a try to store a batch.
func (p *progress) Failed(tasks int, took time.Duration, err error) {
	p.retries.Add(1)
	p.Observer.Failed(tasks, took, err)
}

// Invalid counts a task that was refused.
func (p *progress) Invalid(field string) {
	p.invalid.Add(1)
	p.Observer.Invalid(field)
}

// Backpressure counts a window that did not fit.
func (p *progress) Backpressure(tasks int) {
	p.backpressure.Add(1)
	p.Observer.Backpressure(tasks)
}

// report logs the progress every so often, until the returned function is
// called.
func (p *progress) report(ctx context.Context, logger *slog.Logger, every time.Duration) (stop func()) {
	if every == 0 {
		return func() {}
	}
	group := lifecycle.New(context.WithoutCancel(ctx)) // a drain is reported, too
	group.Go("report", func(ctx context.Context) error {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		last, at := p.enqueued.Load(), time.Now()
		for {
			select {
			case <-ctx.Done():
				return nil
			case now := <-ticker.C:
				enqueued := p.enqueued.Load()
				logger.Info("progress",
					"enqueued", enqueued,
					"tasks_per_second", perSecond(enqueued-last, now.Sub(at)),
					"backpressure", p.backpressure.Load(),
					"failed_tries", p.retries.Load(),
					"invalid", p.invalid.Load(),
					"duplicates", p.duplicates.Load(),
				)
				last, at = enqueued, now
			}
		}
	})
	return func() { _ = group.Stop(context.WithoutCancel(ctx)) } // it returns no error
}

// summary is what a producer did in all.
type summary struct {
	Tasks          int64   `json:"tasks"` // made, or read with the bad lines
	Enqueued       int64   `json:"enqueued"`
	Duplicates     int64   `json:"duplicates"`
	Invalid        int64   `json:"invalid"`
	Failed         int64   `json:"failed"` // not stored, or not known to be
	Backpressure   int64   `json:"backpressure"`
	LastLine       int64   `json:"last_line,omitempty"` // of --input that was dealt with
	Seconds        float64 `json:"seconds"`
	TasksPerSecond float64 `json:"tasks_per_second"`
}

func (p *progress) summary() *summary {
	took := time.Since(p.begin)
	s := &summary{
		Tasks:        p.tasks.Load(),
		Enqueued:     p.enqueued.Load(),
		Duplicates:   p.duplicates.Load(),
		Invalid:      p.invalid.Load(),
		Backpressure: p.backpressure.Load(),
		LastLine:     p.lastLine.Load(),
		Seconds:      round(took.Seconds()),
	}
	s.Failed = s.Tasks - s.Enqueued - s.Duplicates - s.Invalid
	s.TasksPerSecond = perSecond(s.Enqueued, took)
	return s
}

// String is the summary for people.
func (s *summary) String() string {
	return fmt.Sprintf("%d tasks: %d enqueued, %d duplicates, %d invalid, %d failed; %d windows of backpressure; %.1f s, %.1f tasks per second",
		s.Tasks, s.Enqueued, s.Duplicates, s.Invalid, s.Failed, s.Backpressure, s.Seconds, s.TasksPerSecond)
}

func perSecond(n int64, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return round(float64(n) / d.Seconds())
}

func round(x float64) float64 { return float64(int64(x*100+0.5)) / 100 }
