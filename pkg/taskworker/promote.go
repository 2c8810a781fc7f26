package taskworker

import (
	"context"
	"time"

	"github.com/taskfleet/taskfleet/pkg/task"
)

// promotePause is the least time between two rounds, so that tasks that become
// due one after the other move together. A round that left due tasks behind is
// followed by the next at once.
const promotePause = 100 * time.Millisecond

// promoteLoop makes due tasks runnable. It sleeps until the first of a partition
// is due, but not longer than SweepMax: a producer may have added a sooner one.
func (w *Worker) promoteLoop(ctx context.Context) error {
	for ctx.Err() == nil {
		owned, next := w.toPromote(time.Now())
		if len(owned) == 0 {
			w.promoteBell.wait(ctx, next)
			continue
		}
		if more := w.promote(owned); !more {
			pause(ctx, promotePause)
		}
	}
	return nil
}

// toPromote lists the partitions to look into now, or returns how long to wait.
func (w *Worker) toPromote(now time.Time) (owned []task.Owned, next time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	next = w.cfg.SweepMax
	for _, id := range w.order {
		p := w.partitions[id]
		if !p.open() {
			continue
		}
		// What is due a little later goes with this round.
		if wait := p.promoteAt.Sub(now); wait > promotePause/2 {
			next = min(next, wait)
			continue
		}
		owned = append(owned, task.Owned{Partition: p.id, Epoch: p.epoch})
	}
	if len(owned) > 0 {
		// Partitions that would be looked into soon anyway go along: one statement
		// serves many.
		for _, id := range w.order {
			p := w.partitions[id]
			if wait := p.promoteAt.Sub(now); p.open() && wait > promotePause/2 && wait <= w.cfg.SweepMax/4 {
				owned = append(owned, task.Owned{Partition: p.id, Epoch: p.epoch})
			}
		}
	}
	return owned, next
}

// promote moves due tasks and reports whether more are due.
func (w *Worker) promote(owned []task.Owned) (more bool) {
	begin := time.Now()
	result, err := w.repo.Promote(w.store, owned, w.cfg.PromoteBatch)
	if err != nil {
		w.failed("promote", err)
	}
	moved := 0
	now := time.Now()
	looked := map[uint16]*partition{}
	w.mu.Lock()
	for _, o := range owned {
		p := w.partitions[o.Partition]
		if p == nil || p.epoch != o.Epoch {
			continue // another acquisition, meanwhile
		}
		looked[o.Partition] = p
		n := result.Moved[o.Partition]
		due, any := result.NextDue[o.Partition]
		wait := w.cfg.SweepMax
		if any && (err == nil || n > 0) { // where it failed, not at once again
			wait = min(wait, due)
			more = more || due == 0
		}
		p.promoteAt = now.Add(wait)
		if n > 0 {
			moved += n
			p.rewind()
		}
	}
	stale := w.fence(result.Stale, looked)
	w.mu.Unlock()
	w.reportFenced(stale)
	for _, key := range result.Buried {
		w.refused("promote", key, task.ErrRefused)
	}
	if moved > 0 {
		w.claimBell.ring()
	}
	w.cfg.Observer.Promoted(len(owned), moved, time.Since(begin))
	return more
}

// fence stops claims in those partitions whose epoch moved on, and returns
// them. What was acquired anew meanwhile has another epoch and is left alone. The
// caller holds mu.
func (w *Worker) fence(stale []uint16, asked map[uint16]*partition) []*partition {
	var fenced []*partition
	for _, id := range stale {
		p := asked[id]
		if p == nil {
			continue
		}
		if w.partitions[id] == p && p.open() {
			fenced = append(fenced, p)
		}
		p.stale = true
		p.rewind()
	}
	return fenced
}

// reportFenced reports partitions that another worker has taken.
func (w *Worker) reportFenced(fenced []*partition) {
	for _, p := range fenced {
		w.log.Warn("partition was taken by another worker", "partition", p.id, "epoch", p.epoch)
		w.cfg.Fenced(p.id)
	}
}
