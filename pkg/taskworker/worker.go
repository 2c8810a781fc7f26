package taskworker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/alitto/pond/v2"

	"github.com/taskfleet/taskfleet/internal/lifecycle"
	"github.com/taskfleet/taskfleet/pkg/task"
)

// Worker claims and runs the tasks of the partitions that it was given. One
// goroutine claims for all of them, one makes due tasks runnable, one records
// outcomes, one counts what waits; handlers run in a pool. All methods may be called concurrently.
type Worker struct {
	cfg  Config
	repo TaskRepository
	log  *slog.Logger
	pool pond.Pool
	runs sync.WaitGroup // what is in the pool

	loops    *lifecycle.Group // claim and promote: they end when Stop begins
	recorder *lifecycle.Group // records outcomes: it ends last

	store       context.Context // of calls to the repository; ends when Stop ends
	endStore    context.CancelFunc
	handlers    context.Context // ends, with a cause, when every handler must
	endHandlers context.CancelCauseFunc

	claimBell, promoteBell, recordBell, countBell bell

	mu         sync.Mutex
	started    bool
	stopping   bool
	partitions map[uint16]*partition
	order      []uint16              // the keys of partitions, sorted
	turn       int                   // where in order the next claim begins
	live       map[task.Key]*attempt // claimed and not yet settled
	reserved   int                   // keys in the claim that is on its way
	waiting    int                   // live, not started
	running    int                   // live, in a handler
	abandoned  int                   // handlers that ignore the end of their context
	unrecorded []*attempt            // ended, to be recorded
	recording  int                   // of them, in the record that is on its way
	urgent     int                   // callers that wait for records
	settled    chan struct{}         // closed when stopping and nothing is live

	stopOnce sync.Once
	stopped  chan struct{}
	stopErr  error
}

// New returns a worker that has no partitions yet. It starts nothing.
func New(repo TaskRepository, cfg Config) (*Worker, error) {
	cfg = cfg.withDefaults()
	if repo == nil {
		return nil, errors.New("taskworker: the repository is nil")
	}
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return &Worker{
		cfg:         cfg,
		repo:        repo,
		log:         cfg.Logger.With("worker_id", cfg.Owner),
		claimBell:   newBell(),
		promoteBell: newBell(),
		recordBell:  newBell(),
		countBell:   newBell(),
		partitions:  map[uint16]*partition{},
		live:        map[task.Key]*attempt{},
		settled:     make(chan struct{}),
		stopped:     make(chan struct{}),
	}, nil
}

// Start begins to work. The values of ctx reach the repository; its end does
// not stop the worker, Stop does. A worker starts once.
func (w *Worker) Start(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.started || w.stopping {
		return errors.New("taskworker: a worker starts once")
	}
	w.started = true
	ctx = context.WithoutCancel(ctx)
	w.pool = pond.NewPool(w.cfg.Concurrency)
	w.store, w.endStore = context.WithCancel(ctx)
	w.handlers, w.endHandlers = context.WithCancelCause(ctx)
	w.loops = lifecycle.New(ctx)
	w.recorder = lifecycle.New(ctx)
	w.loops.Go("claim", w.claimLoop)
	w.loops.Go("promote", w.promoteLoop)
	if w.cfg.Counter != nil {
		w.loops.Go("count", w.countLoop)
	}
	w.recorder.Go("record", w.recordLoop)
	return nil
}

// stopGrace is what Stop grants for recording outcomes when its context has
// ended and every handler has returned or was abandoned.
const stopGrace = 10 * time.Second

// Stop ends the worker in this order: it claims nothing more; gives back what
// has not started, the attempt not counted; lets handlers finish until ctx
// ends, then ends their contexts and gives their tasks back; records every
// outcome; returns. An error tells how many outcomes could not be recorded:
// those tasks run again when their partitions have a new owner. Further calls
// wait for the first.
func (w *Worker) Stop(ctx context.Context) error {
	w.mu.Lock()
	w.stopping = true
	started := w.started
	w.mu.Unlock()
	if !started {
		return nil
	}
	defer context.AfterFunc(ctx, func() { w.endHandlers(ErrStopped) })()
	w.stopOnce.Do(func() {
		go func() {
			defer close(w.stopped)
			w.stopErr = w.stop()
		}()
	})
	<-w.stopped
	return w.stopErr
}

// stop does the work of Stop; the context of the handlers ends with the grace period.
func (w *Worker) stop() error {
	w.mu.Lock()
	w.urgent++
	for _, a := range w.live {
		if a.state == waiting {
			w.giveBack(a)
		}
	}
	w.checkSettled()
	w.mu.Unlock()
	w.recordBell.ring()
	// A claim that is on its way comes in, and what it brings is given back.
	_ = w.loops.Stop(w.handlers)

	select {
	case <-w.settled:
	case <-w.handlers.Done():
		select {
		case <-w.settled:
		case <-time.After(w.cfg.AbandonAfter + stopGrace):
		}
	}
	w.endStore()
	w.endHandlers(ErrStopped)
	_ = w.loops.Stop(context.Background())
	_ = w.recorder.Stop(context.Background())
	w.runs.Wait()

	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.partitions {
		p.forget()
	}
	w.partitions, w.order = map[uint16]*partition{}, nil
	if n := len(w.unrecorded); n > 0 {
		return fmt.Errorf("taskworker: stop: %d outcomes were not recorded", n)
	}
	return nil
}

// Acquired hands a partition over: its tasks are claimed under epoch until
// lease ends or Revoke is called. It does not block.
func (w *Worker) Acquired(lease context.Context, id uint16, epoch uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopping || lease.Err() != nil {
		return
	}
	if old := w.partitions[id]; old != nil {
		old.forget()
	} else {
		w.order = append(w.order, id)
		slices.Sort(w.order)
	}
	p := &partition{id: id, epoch: epoch, lease: lease, promoteAt: time.Now(), idle: make(chan struct{})}
	p.unhook = context.AfterFunc(lease, func() { w.leaseEnded(p) })
	w.partitions[id] = p
	w.claimBell.ring()
	w.promoteBell.ring()
	w.countBell.ring()
}

// Revoke takes a partition away: nothing more is claimed in it, what has not
// started is given back, and it returns when nothing of it runs and every
// outcome is recorded. When ctx ends, running handlers' contexts end and their
// tasks are given back; handlers that ignore that are abandoned after
// Config.AbandonAfter. An error says that the partition's lease ended first.
func (w *Worker) Revoke(ctx context.Context, id uint16) error {
	w.mu.Lock()
	p := w.partitions[id]
	if p == nil {
		w.mu.Unlock()
		return nil
	}
	p.revoking = true
	p.keys = nil
	w.urgent++
	for _, a := range w.live {
		if a.part == p && a.state == waiting {
			w.giveBack(a)
		}
	}
	p.checkIdle()
	w.mu.Unlock()
	w.recordBell.ring()

	select {
	case <-p.idle:
	case <-p.lease.Done():
	case <-ctx.Done():
		w.endPartition(p)
		select {
		case <-p.idle:
		case <-p.lease.Done():
		case <-w.stopped:
		}
	}

	w.mu.Lock()
	defer w.mu.Unlock()
	w.urgent--
	w.remove(p)
	if p.live > 0 {
		return fmt.Errorf("taskworker: revoke partition %d: %d tasks were not settled: %w", id, p.live, context.Cause(p.lease))
	}
	return nil
}

// endPartition ends the contexts of the handlers of a partition.
func (w *Worker) endPartition(p *partition) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, a := range w.live {
		if a.part == p && a.state == running {
			a.end(ErrRevoked)
		}
	}
}

// leaseEnded forgets a partition whose lease ended: nobody knows what happened
// to its claims, so nothing of them is recorded any more. Handlers' contexts
// end with the lease.
func (w *Worker) leaseEnded(p *partition) {
	w.mu.Lock()
	var lost []*attempt
	p.lost = true
	for _, a := range w.live {
		if a.part == p && a.state == waiting {
			w.waiting--
			w.settle(a)
			lost = append(lost, a)
		}
	}
	w.remove(p)
	w.mu.Unlock()
	for _, a := range lost {
		w.cfg.Observer.LostLease(a.Kind)
	}
	w.claimBell.ring()
}

// remove takes a partition out of the worker's list. The caller holds mu.
func (w *Worker) remove(p *partition) {
	p.forget()
	if w.partitions[p.id] != p {
		return
	}
	delete(w.partitions, p.id)
	w.order = slices.DeleteFunc(w.order, func(id uint16) bool { return id == p.id })
	w.countBell.ring()
}

// holds counts what the worker has. The caller does not hold mu.
func (w *Worker) holds() Buffers {
	w.mu.Lock()
	defer w.mu.Unlock()
	return Buffers{
		Partitions: len(w.partitions),
		Waiting:    w.waiting,
		Running:    w.running,
		Unrecorded: len(w.unrecorded) + w.recording,
	}
}
