package rebalancer

import (
	"context"
	"errors"
	"sync"
	"time"
)

// lookRetries is how often our own place in the registry may be missing, as a
// relaxed read may miss it, before the session is given up.
const lookRetries = 5

// term is the time of one session. One goroutine, run, owns its fields; each slot
// has a goroutine of its own and reports its end through done.
type term struct {
	r       *Rebalancer
	session session
	life    context.Context // ends when the worker must end at once
	ctx     context.Context // ends with the session or with life
	gate    *gate
	orders  orders

	acquiring  chan struct{} // one element per acquire request in flight
	slots      map[uint16]*slot
	done       chan uint16
	members    []Member // of the last plan
	mine       []bool   // by the last plan
	others     bool     // the last plan has another member than this worker
	superseded bool     // another process has registered this worker id since
	missing    int      // how often in a row the registry did not show this session
	workers    sync.WaitGroup
}

func newTerm(r *Rebalancer, life context.Context, s session) *term {
	cfg := r.cfg
	t := &term{
		r: r, session: s, life: life,
		gate: &gate{
			fence: cfg.Fence, owner: cfg.WorkerID, gather: cfg.Gather, timeout: cfg.SessionTimeout,
			failed:   func(err error, partitions int) { r.failed("fence", err, "partitions", partitions) },
			requests: make(chan raise),
		},
		acquiring: make(chan struct{}, cfg.MaxAcquiring),
		slots:     make(map[uint16]*slot),
		done:      make(chan uint16, cfg.Partitions),
		mine:      make([]bool, cfg.Partitions),
	}
	t.orders.t = t
	return t
}

// run is a member of the fleet until the session is lost, or the rebalancer is
// stopped. It returns when nothing is left of the term.
func (t *term) run() {
	ctx, cancel := context.WithCancelCause(t.session.Context())
	defer context.AfterFunc(t.life, func() { cancel(context.Cause(t.life)) })()
	t.ctx = ctx
	reported := context.AfterFunc(t.session.Context(), t.lost)
	t.workers.Go(func() { t.gate.run(ctx) })

	if place := t.register(); place != nil {
		t.follow(place)
		t.leave(place)
	}
	cancel(errStopping)
	t.workers.Wait()
	reported()
	t.close()
}

func (t *term) lost() {
	cause := context.Cause(t.session.Context())
	t.r.cfg.Observer.SessionLost(cause)
	t.r.log.Warn("coordination session lost", "session_id", t.session.ID(), "error", cause)
}

func (t *term) close() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.life), t.r.cfg.StartTimeout)
	defer cancel()
	if err := t.session.Close(ctx); err != nil {
		t.r.log.Debug("closing the coordination session", "error", err)
	}
}

// follow keeps to the plan and to the orders of the operator until the
// session is lost or the rebalancer is stopped.
func (t *term) follow(place lease) {
	look := time.NewTimer(jitter(t.r.cfg.Debounce))
	defer look.Stop()
	give := time.NewTimer(0)
	defer give.Stop()
	listen := time.NewTimer(jitter(t.r.cfg.Recheck))
	defer listen.Stop()
	var (
		changed              <-chan struct{}
		lookPause, lateOrder backoff
		err                  error
	)
	for t.ctx.Err() == nil {
		if t.missing >= lookRetries {
			t.close() // the server has forgotten us: as good as lost
			return
		}
		select {
		case <-t.ctx.Done():
		case <-t.r.running.Done():
			return
		case p := <-t.done:
			t.ended(p)
		case <-changed:
			changed = nil
			look.Reset(jitter(t.debounce()))
		case <-give.C:
			t.give(errMoved)
		case <-look.C:
			if changed, err = t.look(); err != nil {
				look.Reset(lookPause.pause())
				continue
			}
			lookPause.reset()
			look.Reset(jitter(t.recheck()))
			give.Reset(t.releaseDelay())
		case <-t.orders.changed:
			t.orders.changed = nil
			listen.Reset(0)
		case <-t.r.pausing.changed:
			listen.Reset(0)
		case <-listen.C:
			if err := t.obey(place); err != nil {
				listen.Reset(lateOrder.pause())
				continue
			}
			lateOrder.reset()
			listen.Reset(jitter(t.recheck()))
		}
	}
}

// obey reads the orders and tells the fleet of a new state.
func (t *term) obey(place lease) error {
	was := t.orders.state
	err := t.orders.read(t.r.running)
	if err == nil && t.orders.state != was {
		if err = t.update(t.r.running, place, t.orders.state); err != nil {
			t.orders.state = was
		}
	}
	if err != nil && t.ctx.Err() == nil && t.r.running.Err() == nil {
		t.r.failed("orders", err)
	}
	return err
}

// look plans and starts what is gained. The channel is closed when the registry
// changes.
func (t *term) look() (<-chan struct{}, error) {
	a, changed, err := t.plan(t.r.running)
	if errors.Is(err, errNotRegistered) {
		t.missing++
	}
	if err != nil {
		if t.ctx.Err() == nil && t.r.running.Err() == nil {
			t.r.failed("watch", err)
		}
		return nil, err
	}
	t.missing = 0
	t.apply(a)
	return changed, nil
}

// apply asks for what is gained, and withdraws from what is not granted yet.
// What is owned is given up later, by give.
func (t *term) apply(a assignment) {
	mine, gained, lost := 0, 0, 0
	for p, was := range t.mine {
		is := a.mine(p)
		t.mine[p] = is
		switch {
		case is && !was:
			gained++
		case was && !is:
			lost++
		}
		if is {
			mine++
			t.begin(uint16(p))
		}
	}
	t.withdraw()
	t.r.sees(a.members)
	t.others = a.others
	t.r.cfg.Observer.Planned(mine, gained, lost)
	if gained+lost > 0 {
		t.r.log.Info("planned", "members", a.members, "partitions", mine, "gained", gained, "lost", lost)
	}
	t.r.isReady()
}

// withdraw stops asking for what the plan no longer gives us and nobody has
// granted yet.
func (t *term) withdraw() {
	for p, s := range t.slots {
		if !t.mine[p] && !t.r.owns(p) {
			s.drop(errMoved)
		}
	}
}

// give gives up what the plan no longer gives us.
func (t *term) give(reason error) {
	for p, s := range t.slots {
		if !t.mine[p] {
			s.drop(reason)
		}
	}
}

// begin starts to want a partition, unless its slot is still there: then ended
// does, if the slot was told to go.
func (t *term) begin(p uint16) {
	if t.slots[p] != nil {
		return
	}
	s := &slot{partition: p}
	s.wanted, s.drop = context.WithCancelCause(t.ctx)
	t.slots[p] = s
	t.workers.Go(func() {
		t.tend(s)
		s.drop(nil)
		t.done <- p
	})
}

// ended forgets a slot, and begins again if the plan has come back to it.
func (t *term) ended(p uint16) {
	delete(t.slots, p)
	if t.mine[p] && t.ctx.Err() == nil {
		t.begin(p)
	}
}

// register takes our place in the registry; nil when the session was lost or the
// rebalancer stopped before.
func (t *term) register() lease {
	var pause backoff
	for t.ctx.Err() == nil && t.r.running.Err() == nil {
		place, err := t.enter()
		if err == nil {
			return place
		}
		if t.ctx.Err() == nil && t.r.running.Err() == nil {
			t.r.failed("register", err)
		}
		pause.wait(t.ctx, t.r.running)
	}
	return nil
}

// enter registers in the state that the orders want.
func (t *term) enter() (lease, error) {
	if err := t.orders.read(t.r.running); err != nil {
		return nil, err
	}
	return t.session.Acquire(t.r.running, registryName, registryRequest(t.r.cfg, t.orders.state))
}

// leave empties and releases everything, the registry last.
func (t *term) leave(place lease) {
	ctx := context.WithoutCancel(t.life)
	clear(t.mine)
	t.withdraw()
	if t.ctx.Err() == nil {
		if err := t.update(ctx, place, stateDraining); err != nil {
			t.r.failed("register", err)
		}
		if t.others {
			t.linger()
		}
	}
	t.give(errStopping)
	for len(t.slots) > 0 {
		t.ended(<-t.done)
	}
	if t.session.Context().Err() == nil {
		ctx, cancel := context.WithTimeout(ctx, t.r.cfg.StartTimeout)
		defer cancel()
		if err := place.Release(ctx); err != nil {
			t.r.failed("release", err)
		}
	}
}

func (t *term) update(ctx context.Context, place lease, state string) error {
	ctx, cancel := context.WithTimeout(ctx, t.r.cfg.StartTimeout)
	defer cancel()
	return place.Update(ctx, t.r.cfg.registration(state))
}

// linger waits until the others have had the time to queue for our partitions.
func (t *term) linger() {
	timer := time.NewTimer(t.stopDelay())
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.ctx.Done():
	}
}
