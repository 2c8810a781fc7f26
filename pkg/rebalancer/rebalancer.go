package rebalancer

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

	"github.com/taskfleet/taskfleet/internal/lifecycle"
)

var (
	errMoved    = errors.New("rebalancer: the plan gives the partition to another worker")
	errFenced   = errors.New("rebalancer: the partition has a newer epoch")
	errStopping = errors.New("rebalancer: the worker stops")
	errStopped  = errors.New("rebalancer: was stopped")
)

// Rebalancer is one worker's part in the fleet. Its methods may be called
// concurrently.
type Rebalancer struct {
	cfg  Config
	log  *slog.Logger
	open opener
	plan func(members []Member, partitions int) []string // Plan, but in simulations

	running context.Context // ends when Stop is called
	stop    context.CancelCauseFunc
	ready   chan struct{}
	isReady func()
	done    chan struct{} // closed when run has returned

	pausing pausing
	members atomic.Int64 // active ones in the whole fleet, as last seen; -1 before the first plan

	mu     sync.Mutex
	group  *lifecycle.Group // nil before Start
	closed bool
	owned  map[uint16]*slot
}

// New returns a rebalancer that does nothing before Start. The error names every
// field of cfg that is wrong.
func New(db *ydb.Driver, cfg Config) (*Rebalancer, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return newRebalancer(cfg, coordOpener(db, cfg)), nil
}

func newRebalancer(cfg Config, open opener) *Rebalancer {
	r := &Rebalancer{
		cfg: cfg, open: open, plan: Plan, log: cfg.Logger.With("worker_id", cfg.WorkerID),
		ready: make(chan struct{}), done: make(chan struct{}), owned: make(map[uint16]*slot), pausing: newPausing(),
	}
	r.members.Store(-1)
	r.isReady = sync.OnceFunc(func() { close(r.ready) })
	r.running, r.stop = context.WithCancelCause(context.Background())
	return r
}

// Start joins the fleet, and keeps trying to for as long as it takes. It returns
// at once; Ready tells when the worker has joined. When ctx ends, every lease
// ends at once: Stop is the orderly way. A rebalancer starts once.
func (r *Rebalancer) Start(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return errStopped
	}
	if r.group != nil {
		return errors.New("rebalancer: was started before")
	}
	r.group = lifecycle.New(ctx)
	r.group.Go("rebalancer", r.run)
	return nil
}

// Ready is closed when the worker has registered and made its first plan.
func (r *Rebalancer) Ready() <-chan struct{} { return r.ready }

// Owned returns the partitions that are ours now, in order.
func (r *Rebalancer) Owned() []uint16 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Keys(r.owned))
}

// Fenced tells that a write met a newer epoch of the partition: it is given up
// and taken again. A partition that is not ours is ignored.
func (r *Rebalancer) Fenced(partition uint16) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.owned[partition]; s != nil {
		s.yield(errFenced)
	}
}

// Stop leaves the fleet in this order: it marks the worker as draining, so that
// the others queue for its partitions; revokes all partitions, each with
// DrainTimeout; releases each as soon as it is empty; then gives up its place in
// the registry and closes the session. When ctx ends first, every lease ends at
// once, and Stop returns the error of ctx after a short time for what is left.
// Stop may be called again, and before Start.
func (r *Rebalancer) Stop(ctx context.Context) error {
	r.stop(errStopping)
	r.mu.Lock()
	r.closed = true
	group := r.group
	r.mu.Unlock()
	if group == nil {
		return nil
	}
	select {
	case <-r.done:
	case <-ctx.Done():
		group.Cancel(errStopping)
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*lostGrace)
	defer cancel()
	select {
	case <-r.done:
	case <-grace.Done():
	}
	if err := group.Stop(grace); err != nil {
		return fmt.Errorf("rebalancer: stop: %w", err)
	}
	if ctx.Err() != nil {
		return fmt.Errorf("rebalancer: stop: ended before everything was drained: %w", context.Cause(ctx))
	}
	return nil
}

// run opens one session after the other.
func (r *Rebalancer) run(life context.Context) error {
	defer close(r.done)
	var pause backoff
	for life.Err() == nil && r.running.Err() == nil {
		opened := time.Now()
		if s := r.connect(life); s != nil {
			newTerm(r, life, s).run()
			if time.Since(opened) > r.cfg.SessionTimeout {
				pause.reset()
			}
		}
		pause.wait(life, r.running)
	}
	return nil
}

// connect opens a session; nil when that failed.
func (r *Rebalancer) connect(life context.Context) session {
	ctx, cancel := context.WithCancelCause(life)
	defer cancel(nil)
	defer context.AfterFunc(r.running, func() { cancel(errStopping) })()
	s, err := r.open(ctx)
	if err != nil {
		if ctx.Err() == nil {
			r.failed("open", err)
		}
		return nil
	}
	r.cfg.Observer.SessionOpened(s.ID())
	r.log.Info("coordination session opened", "session_id", s.ID())
	return s
}

func (r *Rebalancer) failed(op string, err error, attrs ...any) {
	r.cfg.Observer.Failed(op, err)
	r.log.Warn("rebalancer: trying again", append([]any{"op", op, "error", err}, attrs...)...)
}

// sees notes how many active members the fleet has.
func (r *Rebalancer) sees(members int) {
	if r.members.Swap(int64(members)) == int64(members) {
		return
	}
	r.cfg.Observer.ViewChanged(members)
	if members == 0 {
		r.log.Warn("no worker of the fleet is active: nobody owns the partitions, and no task runs until one is resumed")
	}
}

// own and disown keep the snapshot of what is ours.
func (r *Rebalancer) own(s *slot) {
	r.mu.Lock()
	r.owned[s.partition] = s
	n := len(r.owned)
	r.mu.Unlock()
	r.cfg.Observer.OwnedChanged(n)
}

func (r *Rebalancer) disown(s *slot) {
	r.mu.Lock()
	delete(r.owned, s.partition)
	n := len(r.owned)
	r.mu.Unlock()
	r.cfg.Observer.OwnedChanged(n)
}

func (r *Rebalancer) owns(partition uint16) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.owned[partition] != nil
}
