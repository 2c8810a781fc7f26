package rebalancer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/taskfleet/taskfleet/internal/coord"
)

const (
	// lostGrace is how long a Revoke may take beyond its deadline.
	lostGrace = 5 * time.Second
	// acquireSlot is how long an acquire counts as in flight: after that it surely
	// stands in the queue and costs nothing, and the next may go.
	acquireSlot = 100 * time.Millisecond
)

// slot is one partition that the plan gave us, until it is given up again. A
// goroutine walks it through its states; where it stands in the code is the
// state.
type slot struct {
	partition uint16
	wanted    context.Context // ends when the plan takes it away, or with the term
	drop      context.CancelCauseFunc
	yield     context.CancelCauseFunc // gives up the current lease, not the wish; nil unless owned
}

// tend has and holds the partition for as long as it is wanted.
func (t *term) tend(s *slot) {
	var pause backoff
	// The end of the term reaches the slots one after the other, not at once.
	wanted := func() bool { return s.wanted.Err() == nil && t.ctx.Err() == nil }
	for wanted() {
		began := time.Now()
		err := t.have(s)
		if !wanted() {
			return
		}
		if err == nil || time.Since(began) > maxPause {
			pause.reset()
		}
		if err != nil {
			t.r.failed("acquire", err, "partition", s.partition)
			pause.wait(s.wanted, t.ctx)
		}
	}
}

// have takes the partition once through waiting, fencing, owned and revoking.
func (t *term) have(s *slot) error {
	since := time.Now()
	held, err := t.acquire(s)
	if err != nil {
		return err
	}
	if epoch, ok := t.raise(s, held); ok {
		err = t.hold(s, held, epoch, time.Since(since))
	}
	t.release(s, held)
	return err
}

func (t *term) acquire(s *slot) (lease, error) {
	select {
	case t.acquiring <- struct{}{}:
	case <-s.wanted.Done():
		return nil, context.Cause(s.wanted)
	}
	free := sync.OnceFunc(func() { <-t.acquiring })
	defer free()
	defer time.AfterFunc(acquireSlot, free).Stop()
	return t.session.Acquire(s.wanted, fmt.Sprintf("partition-%d", s.partition), coord.Request{
		Exclusive: true, Data: []byte(t.r.cfg.WorkerID), Timeout: t.r.cfg.AcquireTimeout,
	})
}

// raise makes the partition ours in the database too, however often that fails.
func (t *term) raise(s *slot, held lease) (epoch uint64, ok bool) {
	var pause backoff
	for s.wanted.Err() == nil && held.Context().Err() == nil {
		epoch, err := t.gate.raise(s.wanted, s.partition)
		if err == nil {
			// The session may have ended while the database answered: whoever has
			// the semaphore now raises the epoch again.
			return epoch, s.wanted.Err() == nil && held.Context().Err() == nil
		}
		pause.wait(s.wanted, held.Context()) // the gate has told of it
	}
	return 0, false
}

// hold lets the consumer work on the partition until it is no longer wanted,
// fenced or lost, and returns when the consumer has let go of it; the error is
// errFenced or nil.
func (t *term) hold(s *slot, held lease, epoch uint64, waited time.Duration) error {
	work, end := context.WithCancelCause(held.Context())
	defer context.AfterFunc(t.life, func() { end(context.Cause(t.life)) })()
	wanted, yield := context.WithCancelCause(s.wanted)
	s.yield = yield
	t.r.own(s)
	t.r.cfg.Consumer.Acquired(work, s.partition, epoch)
	t.r.cfg.Observer.PartitionAcquired(s.partition, waited)
	t.r.log.Info("partition acquired", "partition", s.partition, "epoch", epoch)

	select {
	case <-wanted.Done():
	case <-work.Done():
	}
	started, reason := time.Now(), cmp.Or(context.Cause(wanted), context.Cause(work))
	t.revoke(s, work)
	end(reason)
	yield(nil)
	t.r.disown(s)
	t.r.cfg.Observer.PartitionReleased(s.partition, time.Since(started))
	t.r.log.Info("partition released", "partition", s.partition, "epoch", epoch, "reason", reason)
	if errors.Is(reason, errFenced) {
		return errFenced
	}
	return nil
}

// revoke waits until the partition is empty: at most DrainTimeout, and lostGrace
// for a consumer that does not obey.
func (t *term) revoke(s *slot, work context.Context) {
	ctx, cancel := context.WithTimeout(work, t.r.cfg.DrainTimeout)
	defer cancel()
	done := make(chan error, 1)
	t.r.group.Go("revoke", func(context.Context) error {
		done <- t.r.cfg.Consumer.Revoke(ctx, s.partition)
		return nil
	})
	var overdue <-chan time.Time
	for end := ctx.Done(); ; {
		select {
		case err := <-done:
			if err != nil && work.Err() == nil {
				t.r.failed("revoke", err, "partition", s.partition)
			}
			return
		case <-end:
			end = nil
			timer := time.NewTimer(lostGrace)
			defer timer.Stop()
			overdue = timer.C
		case <-overdue:
			t.r.failed("revoke", errors.New("rebalancer: the consumer does not let go; releasing anyway"),
				"partition", s.partition)
			return
		}
	}
}

// release gives the semaphore back; a lost session has none.
func (t *term) release(s *slot, held lease) {
	if held.Context().Err() != nil {
		return
	}
	patience := t.r.cfg.SessionTimeout
	if t.life.Err() != nil {
		patience = t.r.cfg.StartTimeout
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.life), patience)
	defer cancel()
	if err := held.Release(ctx); err != nil {
		t.r.failed("release", err, "partition", s.partition)
	}
}
