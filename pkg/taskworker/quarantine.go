package taskworker

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/taskfleet/taskfleet/pkg/task"
)

// A worker that dies leaves dead locks on everything it held, and cannot say
// which task killed it. So a task that was held in quarantineAfter crashes is a
// suspect: it runs alone, so that the next crash has one cause, and goes to the
// dead tasks when Config.MaxCrashes is reached.
//
//	free ── crash ──> 1 ── crash ──> 2: runs alone ── crash ──> MaxCrashes: dead
const quarantineAfter = 2

// aloneFor bounds, each by itself, how long a suspect waits for other handlers to
// end and how long others wait for it. Handlers that take longer run beside it.
const aloneFor = 30 * time.Second

// suspect reports whether a task has to run alone.
func (w *Worker) suspect(c task.Candidate) bool {
	return c.Crashes >= quarantineAfter && c.Crashes < w.cfg.maxCrashes()
}

// crashed is the outcome of a task that was held in too many crashes. It has not
// run, so it spends no attempt.
func crashed(a *attempt) task.Result {
	r := released(a)
	r.Outcome = task.OutcomeDead
	r.Attempt = a.Attempt - 1
	r.Error = fmt.Sprintf("the worker died, or lost its session, %d times while it held the task", a.Crashes)
	return r
}

// maxSuspects bounds the suspects of a partition that are kept; the others are read
// again.
const maxSuspects = 64

// addSuspect keeps a suspect that was read, once.
func (p *partition) addSuspect(key task.Key) {
	if len(p.suspects) < maxSuspects && !slices.Contains(p.suspects, key) {
		p.suspects = append(p.suspects, key)
	}
}

// untilSuspect is how long until the next suspect may run; negative without one.
func (w *Worker) untilSuspect(c *claimer) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.abandoned >= w.cfg.Concurrency {
		return -1
	}
	for _, p := range w.partitions {
		if len(p.suspects) > 0 && p.open() {
			return max(time.Until(c.aloneAt), 0)
		}
	}
	return -1
}

// runSuspect runs the next suspect, alone, and reports whether there was one.
// Then other tasks have as much time as it took, so that suspects take at most
// half of a worker.
func (w *Worker) runSuspect(ctx context.Context, c *claimer) bool {
	if w.untilSuspect(c) != 0 {
		return false
	}
	begin := time.Now()
	w.setUrgent(1)
	defer func() {
		w.setUrgent(-1)
		c.aloneAt = time.Now().Add(time.Since(begin))
	}()
	w.releaseWaiting(nil)
	w.waitAlone(ctx, func() bool { return len(w.live) == 0 })
	if ctx.Err() != nil {
		return false
	}
	req, from := w.pickSuspect()
	if len(req.Keys) == 0 {
		return true // its partition has gone meanwhile
	}
	w.claim(c, req, from)
	w.waitAlone(ctx, func() bool { return w.live[req.Keys[0]] == nil })
	return true
}

// waitAlone waits until done, which is called with mu held, but not longer than
// aloneFor.
func (w *Worker) waitAlone(ctx context.Context, done func() bool) {
	ctx, cancel := context.WithTimeout(ctx, aloneFor)
	defer cancel()
	for {
		w.mu.Lock()
		ok := done()
		w.mu.Unlock()
		if ok || !w.claimBell.wait(ctx, -1) {
			return
		}
	}
}

// pickSuspect takes one suspect and reserves its place.
func (w *Worker) pickSuspect() (task.ClaimRequest, map[uint16]*partition) {
	w.mu.Lock()
	defer w.mu.Unlock()
	req := w.request()
	if w.stopping {
		return req, nil
	}
	for i := range w.order {
		p := w.partitions[w.order[(w.turn+i)%len(w.order)]]
		if len(p.suspects) == 0 || !p.open() {
			continue
		}
		key := p.suspects[0]
		p.suspects = p.suspects[1:]
		p.live++
		w.turn += i + 1
		req.Keys = []task.Key{key}
		req.Owned = []task.Owned{{Partition: p.id, Epoch: p.epoch}}
		w.cfg.Observer.Quarantined()
		return req, map[uint16]*partition{p.id: p}
	}
	return req, nil
}
