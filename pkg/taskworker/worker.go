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
// outcomes, one counts the backlog; handlers run in a pool. Its methods are safe
// for concurrent use.
type Worker struct {
	cfg  Config
	repo TaskRepository
	log  *slog.Logger
	pool pond.Pool
	runs sync.WaitGroup // what is in the pool

	loops    *lifecycle.Group // claim, promote, count: they end when Stop begins
	recorder *lifecycle.Group // records outcomes: it ends last

	store       context.Context // of calls to the repository; ends when Stop ends
	endStore    context.CancelFunc
	handlers    context.Context // ends, with a cause, when every handler must
	endHandlers context.CancelCauseFunc

	claimBell, promoteBell, recordBell, countBell bell

	unknown map[string]bool // kinds without a handler that were logged; the claim loop's

	stallMu sync.Mutex // taken before mu

	mu          sync.Mutex
	started     bool
	stopping    bool
	claiming    bool // the claim loop runs: it may open work
	partitions  map[uint16]*partition
	order       []uint16              // the keys of partitions, sorted
	turn        int                   // where in order the next claim begins
	live        map[task.Key]*attempt // claimed and not yet settled
	ready       ready                 // live, not started
	waiting     int                   // how many these are
	running     int                   // live, in a handler
	handlerTime time.Duration         // mean of the last handlers; 0: none has ended
	abandoned   int                   // handlers that ignore the end of their context
	unrecorded  []*attempt            // ended, to be recorded
	recording   int                   // of them, in the record that is on its way
	urgent      int                   // callers that wait for records
	settled     chan struct{}         // closed when no claim is made any more and nothing is live

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
		unknown:     map[string]bool{},
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
	w.started, w.claiming = true, true
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
	w.recorder.Go("finish", w.finishLoop)
	return nil
}

// Acquired hands a partition over: its tasks are claimed under epoch until
// lease ends or Revoke is called. A task that the worker still has of an earlier
// lease of the partition is not claimed again before it is settled. It does not
// block.
func (w *Worker) Acquired(lease context.Context, id uint16, epoch uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopping || lease.Err() != nil {
		return
	}
	p := &partition{id: id, epoch: epoch, lease: lease, promoteAt: time.Now(), idle: make(chan struct{})}
	if old := w.partitions[id]; old != nil {
		old.unhook()
	} else {
		w.order = append(w.order, id)
		slices.Sort(w.order)
	}
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
	p.rewind()
	p.checkIdle()
	w.mu.Unlock()
	w.setUrgent(1)
	defer w.setUrgent(-1)
	w.releaseWaiting(p)

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

// leaseEnded forgets a partition whose lease ended. What has not started is given
// back, fenced by its lock value; handlers' contexts end with the lease.
func (w *Worker) leaseEnded(p *partition) {
	w.releaseWaiting(p) // before a new lease can find them
	w.mu.Lock()
	w.remove(p)
	w.mu.Unlock()
	w.claimBell.ring()
}

// remove takes a partition out of the worker's list. The caller holds mu.
func (w *Worker) remove(p *partition) {
	p.unhook()
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
