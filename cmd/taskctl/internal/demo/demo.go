package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/taskfleet/taskfleet/internal/lab/fleet"
)

// Config says how large a run is.
type Config struct {
	Tasks   int     // how many tasks the producer makes
	Rate    int     // how many a second
	Delayed float64 // share of them that is delayed
	Workers int     // how many at the start; one is killed and one added
	Bin     string  // folder of the programs; empty: that of the running one
	// Open connects to the database, migrates it, and returns what counts its
	// tasks and what ends the connection.
	Open func(ctx context.Context, dsn string) (count func(context.Context) (Counts, error), end func(), err error)
	// Progress shows the run to people; io.Discard for none.
	Progress io.Writer
}

// Counts are the tasks in the database, by where they are.
type Counts struct{ Runnable, Delayed, Completed, Dead int }

const (
	maxDelay   = 30 * time.Second // of the producer's delayed tasks
	frameEvery = time.Second
	// stalled is how long nothing may move before a run is judged as it stands.
	// It is longer than a takeover.
	stalled = 30 * time.Second
)

// run is the state of one demo.
type run struct {
	Config
	fleet *fleet.Fleet
	count func(context.Context) (Counts, error)
	view  *view

	start    time.Time
	expected time.Duration
	note     string
	dead     map[string]bool

	mu       sync.Mutex
	enqueued int // what the producer said at its end
}

// Run runs the demo and returns its verdict.
func Run(ctx context.Context, cfg Config) (verdict Verdict, err error) {
	bin, err := fleet.FindBinaries(cfg.Bin, "ydbembed", "producer", "worker")
	if err != nil {
		return Verdict{}, err
	}
	machines, err := fleet.Start(ctx, bin)
	if err != nil {
		return Verdict{}, err
	}
	defer func() { err = errors.Join(err, machines.Close()) }()
	count, end, err := cfg.Open(ctx, machines.DSN)
	if err != nil {
		return Verdict{}, err
	}
	defer end()
	r := &run{Config: cfg, fleet: machines, count: count, view: newView(cfg.Progress), dead: map[string]bool{}}
	return r.main(ctx)
}

func (r *run) main(ctx context.Context) (Verdict, error) {
	for range r.Workers {
		if _, err := r.fleet.StartWorker(); err != nil {
			return Verdict{}, err
		}
	}
	r.start = time.Now()
	r.expected = time.Duration(r.Tasks) * time.Second / time.Duration(r.Rate)
	if r.Delayed > 0 {
		r.expected += maxDelay
	}
	producer, err := r.fleet.StartProducer(r.readReport, "--json", "--target-url", r.fleet.Sink.URL(),
		"--rate", fmt.Sprint(r.Rate), "--count", fmt.Sprint(r.Tasks), "--delayed-share", fmt.Sprint(r.Delayed))
	if err != nil {
		return Verdict{}, err
	}
	counts, err := r.follow(ctx, producer)
	if err != nil {
		producer.Kill()
		return Verdict{}, err
	}
	return r.verdict(counts), nil
}

// readReport takes the number of acknowledged tasks from the producer's JSON.
func (r *run) readReport(line string) {
	var report struct {
		Enqueued *int `json:"enqueued"`
	}
	if json.Unmarshal([]byte(line), &report) == nil && report.Enqueued != nil {
		r.mu.Lock()
		r.enqueued = *report.Enqueued
		r.mu.Unlock()
	}
}

// follow shows the run, kills and starts workers at their times, and returns
// when every acknowledged task is recorded, or when nothing moves any more.
func (r *run) follow(ctx context.Context, producer *fleet.Process) (Counts, error) {
	ticker := time.NewTicker(frameEvery)
	defer ticker.Stop()
	var counts Counts
	moved, seen := time.Now(), 0
	for {
		select {
		case <-ctx.Done():
			return counts, context.Cause(ctx)
		case <-ticker.C:
		}
		if err := r.fleet.Failed(); err != nil {
			return counts, err
		}
		if err := r.stage(); err != nil {
			return counts, err
		}
		var err error
		if counts, err = r.count(ctx); err != nil {
			return counts, fmt.Errorf("demo: count tasks: %w", err)
		}
		delivered, deliveries, _ := r.fleet.Sink.Counts()
		r.show(counts, delivered)
		if progress := deliveries + counts.Completed + counts.Delayed; progress != seen {
			moved, seen = time.Now(), progress
		}
		select {
		case <-producer.Done():
			r.mu.Lock()
			enqueued := r.enqueued
			r.mu.Unlock()
			if producer.Err() != nil || enqueued == 0 {
				return counts, fmt.Errorf("demo: the producer failed: %w: %v", producer.Err(), producer.Tail())
			}
			started, killed := r.fleet.Workers()
			if delivered >= enqueued && counts.Completed+counts.Dead >= enqueued && killed > 0 && started > r.Workers {
				return counts, nil
			}
		default:
		}
		if time.Since(moved) > stalled {
			return counts, nil
		}
	}
}

// stage does what is due at this time of the run.
func (r *run) stage() error {
	const victim = "worker-1"
	started, killed := r.fleet.Workers()
	elapsed := time.Since(r.start)
	switch {
	case killed == 0 && elapsed > r.expected/3 && r.fleet.Ownership.Counts()[victim] > 0:
		r.note, r.dead[victim] = "killed "+victim, true
		return r.fleet.KillWorker(victim)
	case started == r.Workers && elapsed > r.expected*2/3:
		name, err := r.fleet.StartWorker()
		r.note = "started " + name
		return err
	}
	return nil
}

func (r *run) show(counts Counts, delivered int) {
	r.view.show(Frame{
		Elapsed: time.Since(r.start), Expected: r.expected, Note: r.note,
		Stored: counts.Runnable + counts.Delayed + counts.Completed + counts.Dead, Delivered: delivered,
		Runnable: counts.Runnable, Delayed: counts.Delayed,
		Partitions: r.fleet.Ownership.Counts(), Dead: r.dead,
	})
}

func (r *run) verdict(counts Counts) Verdict {
	delivered, deliveries, last := r.fleet.Sink.Counts()
	started, killed := r.fleet.Workers()
	r.mu.Lock()
	defer r.mu.Unlock()
	v := Verdict{
		Enqueued: r.enqueued, Completed: counts.Completed, Delivered: delivered, Duplicates: deliveries - delivered,
		WorkersStarted: started, WorkersKilled: killed,
		MaxUnownedSeconds: round(r.fleet.Ownership.MaxUnowned(last).Seconds()),
		TasksPerSecond:    round(rate(0, delivered, last.Sub(r.start))),
	}
	v.judge()
	return v
}

// round keeps three decimals.
func round(x float64) float64 { return float64(int64(x*1000+0.5)) / 1000 }
