package taskproducer

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/taskfleet/taskfleet/pkg/task"
)

// The defaults of Load.
const (
	DefaultWindow   = 100 * time.Millisecond
	DefaultInFlight = 8
	DefaultDrain    = 30 * time.Second
)

// Load says how many tasks to make, and how fast.
type Load struct {
	// Make returns the task number n, from 0. It is called by one goroutine.
	Make func(n int) task.Task
	// Rate is the target in tasks per second. Zero: as fast as they are stored,
	// which needs Count or Duration.
	Rate float64
	// Window is how often tasks are sent: all that became due since the last
	// time. Default: 100 ms.
	Window time.Duration
	// Count ends the load after so many tasks. Zero: no end.
	Count int
	// Duration ends the load after so long. Zero: no end.
	Duration time.Duration
	// InFlight bounds the batches that are being stored. What does not fit of a
	// window is reported as backpressure, and is due in the next one. Default: 8.
	InFlight int
	// Drain bounds how long batches in flight may take after the end. Default: 30 s.
	Drain time.Duration
}

func (l Load) withDefaults() Load {
	if l.Window == 0 {
		l.Window = DefaultWindow
	}
	if l.InFlight == 0 {
		l.InFlight = DefaultInFlight
	}
	if l.Drain == 0 {
		l.Drain = DefaultDrain
	}
	return l
}

func (l Load) validate() error {
	var errs []error
	add := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	add(l.Make == nil, "Make: must be set")
	add(l.Rate < 0 || math.IsNaN(l.Rate) || l.Rate > 1e7, "Rate %v: must be 0..10000000 tasks per second", l.Rate)
	add(l.Window < time.Millisecond || l.Window > time.Minute, "Window %s: must be 1ms..1m", l.Window)
	add(l.Count < 0, "Count %d: must not be negative", l.Count)
	add(l.Duration < 0, "Duration %s: must not be negative", l.Duration)
	add(l.InFlight < 1, "InFlight %d: must be at least 1", l.InFlight)
	add(l.Drain < 0, "Drain %s: must not be negative", l.Drain)
	add(l.Rate == 0 && l.Count == 0 && l.Duration == 0, "Rate 0, as fast as possible: needs Count or Duration")
	return errors.Join(errs...)
}

// LoadResult counts what a load did.
type LoadResult struct {
	Made         int // tasks that Make returned
	Enqueued     int
	Duplicates   int
	Invalid      int
	Backpressure int // windows that did not fit, or not as a whole
}

// Run makes tasks and stores them until Count or Duration is reached, ctx ends,
// or a batch cannot be stored. Then it waits for the batches in flight. An
// ended ctx is no error: it is how a load is stopped.
//
// The rate is held over the whole time: what a late window left undone is due in
// the next ones, which take up to twice their share.
func (p *Producer) Run(ctx context.Context, l Load) (LoadResult, error) {
	l = l.withDefaults()
	if err := l.validate(); err != nil {
		return LoadResult{}, fmt.Errorf("taskproducer: load: %w", err)
	}
	// Batches in flight outlive ctx, by Drain.
	storing, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	making, fail := context.WithCancel(ctx)
	defer fail()
	r := &run{Load: l, producer: p, slots: make(chan struct{}, l.InFlight), storing: storing, fail: fail}
	r.loop(making)
	drain := time.AfterFunc(l.Drain, func() { cancel(fmt.Errorf("taskproducer: batches not stored within %s of the end", l.Drain)) })
	err := r.batches.Wait()
	drain.Stop()
	return LoadResult{
		Made: r.made, Backpressure: r.backpressure,
		Enqueued: int(r.enqueued.Load()), Duplicates: int(r.duplicates.Load()), Invalid: int(r.invalid.Load()),
	}, err
}

// run is the state of one load.
type run struct {
	Load
	producer *Producer
	slots    chan struct{}      // taken by batches in flight
	batches  errgroup.Group     // batches in flight
	storing  context.Context    // of batches in flight
	fail     context.CancelFunc // ends the making

	made, backpressure            int
	enqueued, duplicates, invalid atomic.Int64
}

// loop sends batches until the end. With a rate it sends at every tick what is
// due by then; without, it sends whenever there is a free slot.
func (r *run) loop(making context.Context) {
	begin := time.Now()
	ticker := time.NewTicker(r.Window)
	defer ticker.Stop()
	var end <-chan time.Time // for a load that waits for a slot
	if r.Duration > 0 {
		end = time.After(r.Duration)
	}
	for making.Err() == nil && (r.Count == 0 || r.made < r.Count) {
		if r.Rate == 0 {
			select {
			case r.slots <- struct{}{}:
				r.send(r.producer.cfg.BatchTasks)
			case <-end:
			case <-making.Done():
			}
		} else {
			select {
			case <-ticker.C:
				r.tick(time.Since(begin))
			case <-making.Done():
			}
		}
		if r.Duration > 0 && time.Since(begin) >= r.Duration {
			return
		}
	}
}

// tick sends what is due after elapsed, a batch for each free slot.
func (r *run) tick(elapsed time.Duration) {
	if r.Duration > 0 {
		elapsed = min(elapsed, r.Duration)
	}
	total := int(r.Rate * elapsed.Seconds())
	if r.Count > 0 {
		total = min(total, r.Count)
	}
	share := r.Rate * r.Window.Seconds()
	due := min(total-r.made, max(1, int(math.Ceil(2*share))))
	for due > 0 {
		select {
		case r.slots <- struct{}{}:
			n := min(due, r.producer.cfg.BatchTasks)
			r.send(n)
			due -= n
		default:
			r.backpressure++
			r.producer.cfg.Observer.Backpressure(due)
			return
		}
	}
}

// send makes up to n tasks and stores them in the background. The caller has
// taken a slot.
func (r *run) send(n int) {
	if r.Count > 0 {
		n = min(n, r.Count-r.made)
	}
	tasks := make([]task.Task, n)
	for i := range tasks {
		tasks[i] = r.Make(r.made)
		r.made++
	}
	r.batches.Go(func() error {
		defer func() { <-r.slots }()
		result, err := r.producer.Enqueue(r.storing, tasks...)
		r.enqueued.Add(int64(result.Enqueued))
		r.duplicates.Add(int64(result.Duplicates))
		r.invalid.Add(int64(result.Invalid))
		var failed *BatchError
		if errors.As(err, &failed) {
			r.fail()
			return failed
		}
		return nil // invalid tasks are counted and stop nothing
	})
}
