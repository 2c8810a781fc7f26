package taskworker

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/taskfleet/taskfleet/pkg/task"
)

// claimRun is how many keys a claim takes of one partition before it goes on to
// the next: a claim reads the row of every partition that it touches, and no
// partition waits long for its turn.
const claimRun = 8

// claimer is the state of the claim loop, which nobody else touches.
type claimer struct {
	rewound time.Time // when all partitions were last read from their heads
	claimed int       // since then
	tried   time.Duration
	// aloneAt is when the next quarantined task may run.
	aloneAt time.Time
}

// claimLoop finds and claims tasks as long as there is room for them. It is the
// only one that opens work: when it has ended, a stopping worker can only settle.
func (w *Worker) claimLoop(ctx context.Context) error {
	defer w.claimsEnded()
	c := &claimer{rewound: time.Now()}
	for ctx.Err() == nil {
		if w.runSuspect(ctx, c) {
			continue
		}
		room := w.room()
		if room == 0 {
			w.claimBell.wait(ctx, w.untilSuspect(c))
			continue
		}
		more, err := w.read(c, room)
		if err != nil {
			w.failed("candidates", err)
			c.tried = w.backOff(ctx, c.tried)
			continue
		}
		c.tried = 0
		req, from := w.pick(room)
		if len(req.Keys) > 0 {
			w.claim(c, req, from)
			continue
		}
		if !more {
			w.claimBell.wait(ctx, soonest(w.nextPoll(), w.untilSuspect(c)))
		}
	}
	return nil
}

// backOff waits before a repetition, twice as long as the last time, and
// returns how long it was.
func (w *Worker) backOff(ctx context.Context, last time.Duration) time.Duration {
	wait := min(max(2*last, w.cfg.SweepMin), 2*w.cfg.SweepMax)
	pause(ctx, jitter(wait))
	return wait
}

// soonest is the smaller of two waits; a negative one is for ever.
func soonest(a, b time.Duration) time.Duration {
	if a < 0 || b >= 0 && b < a {
		return b
	}
	return a
}

// room is how many tasks to claim now. It is zero while enough wait for a
// handler, so that claims come in batches; while too many outcomes are not
// recorded; and when the pool is full of handlers that do not end.
func (w *Worker) room() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	ahead := w.readAhead()
	switch {
	case w.stopping,
		w.waiting > ahead/2,
		len(w.unrecorded)+w.recording >= w.cfg.FinishBacklog,
		w.abandoned >= w.cfg.Concurrency:
		return 0
	}
	return min(max(w.cfg.Concurrency+ahead-w.waiting-w.running, 0), w.cfg.ClaimBatch)
}

// aheadFor is how long handlers are kept busy by what was claimed ahead of them.
// What is claimed is not looked at again before it runs, so the less is ahead, the
// sooner an urgent task gets its turn and the fewer tasks a crash takes along.
const aheadFor = 200 * time.Millisecond

// readAhead is how many claimed tasks may wait for a handler: what the handlers
// finish within aheadFor, by their measured duration, up to Prefetch. The caller
// holds mu.
func (w *Worker) readAhead() int {
	if w.handlerTime == 0 {
		return 0 // nothing was measured yet
	}
	return int(min(int64(w.cfg.Prefetch), int64(w.cfg.Concurrency)*int64(aheadFor)/int64(w.handlerTime)+1))
}

// measure takes a handler's duration into the mean that readAhead uses. The
// caller holds mu.
func (w *Worker) measure(took time.Duration) {
	took = max(took, time.Microsecond)
	if w.handlerTime == 0 {
		w.handlerTime = took
	}
	w.handlerTime += (took - w.handlerTime) / 16
}

// request is a claim of no keys yet.
func (w *Worker) request() task.ClaimRequest {
	return task.ClaimRequest{
		ID: uuid.NewString(), Owner: w.cfg.Owner,
		DefaultTimeout: w.cfg.TaskTimeout, Margin: w.cfg.LockMargin,
	}
}

// pick takes up to n keys, a run of each partition in turn, and reserves their
// place, so that a Revoke waits for what becomes of them. The next pick begins
// behind the last partition of this one.
func (w *Worker) pick(n int) (task.ClaimRequest, map[uint16]*partition) {
	w.mu.Lock()
	defer w.mu.Unlock()
	req := w.request()
	from := map[uint16]*partition{}
	if w.stopping {
		return req, from
	}
	for idle := 0; idle < len(w.order) && len(req.Keys) < n; w.turn++ {
		p := w.partitions[w.order[w.turn%len(w.order)]]
		run := min(len(p.found), claimRun, n-len(req.Keys))
		if run == 0 || !p.open() {
			idle++
			continue
		}
		idle = 0
		if from[p.id] == nil {
			from[p.id] = p
			req.Owned = append(req.Owned, task.Owned{Partition: p.id, Epoch: p.epoch})
		}
		req.Keys = append(req.Keys, p.found[:run]...)
		p.found = p.found[run:]
		p.live += run
	}
	return req, from
}

// claim claims reserved keys and starts what it got.
func (w *Worker) claim(c *claimer, req task.ClaimRequest, from map[uint16]*partition) {
	begin := time.Now()
	result, err := w.repo.Claim(w.store, req)
	// The locks may have been taken although the answer was lost. The same request
	// finds them, so it is repeated until there is an answer, or nobody to work for.
	for tried := time.Duration(0); err != nil && !errors.Is(err, task.ErrRefused); {
		w.failed("claim", err)
		if tried = w.backOff(w.handlers, tried); w.handlers.Err() != nil || !w.anyLease(from) {
			break
		}
		result, err = w.repo.Claim(w.store, req)
	}
	switch {
	case err == nil:
		c.claimed += len(result.Claimed)
		w.cfg.Observer.Claimed(len(req.Keys), len(result.Claimed), time.Since(begin))
		w.reportFenced(w.take(req, result, from))
		w.cfg.Observer.Holds(w.holds())
	case !errors.Is(err, task.ErrRefused):
		w.takeUnknown(req, from)
	case len(req.Keys) == 1:
		w.bury(req, from, err)
	default:
		for _, half := range halve(req.Keys) {
			part := w.request()
			part.Owned, part.Keys = req.Owned, half
			w.claim(c, part, from)
		}
	}
}

// take makes attempts of what was claimed and hands them to the pool. It
// returns the partitions that another worker has taken.
func (w *Worker) take(req task.ClaimRequest, result task.ClaimResult, from map[uint16]*partition) []*partition {
	w.mu.Lock()
	defer w.mu.Unlock()
	fenced := w.fence(result.Stale, from)
	started := 0
	for _, claimed := range result.Claimed {
		a := w.begin(claimed, from[claimed.Key.Partition])
		switch {
		case a.Crashes >= w.cfg.maxCrashes():
			w.toBeRecorded(a, crashed(a))
		case w.stopping || a.part.revoking || a.part.lease.Err() != nil:
			w.toBeRecorded(a, released(a))
		default:
			w.ready.push(a)
			w.waiting++
			started++
		}
	}
	w.unreserve(req, from)
	w.dispatch(started)
	w.recordBell.ring()
	return fenced
}

// takeUnknown gives back, by their lock values, the keys of a claim whose answer
// never came: it may have been made.
func (w *Worker) takeUnknown(req task.ClaimRequest, from map[uint16]*partition) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, key := range req.Keys {
		p := from[key.Partition]
		a := w.begin(&task.Claimed{Key: key, LockValue: req.LockValue(i), Epoch: p.epoch}, p)
		a.unknown = true
		w.toBeRecorded(a, released(a))
	}
	w.unreserve(req, from)
	w.recordBell.ring()
}

// begin makes an attempt of a claim. The caller holds mu.
func (w *Worker) begin(claimed *task.Claimed, p *partition) *attempt {
	a := &attempt{Claimed: claimed, part: p, claimedAt: time.Now()}
	p.live++
	w.live[a.Key] = a
	return a
}

// unreserve gives up the places of a claim's keys, once its attempts have places
// of their own. The caller holds mu.
func (w *Worker) unreserve(req task.ClaimRequest, from map[uint16]*partition) {
	for _, key := range req.Keys {
		from[key.Partition].live--
	}
	for _, p := range from {
		p.checkIdle()
	}
}

// claimsEnded notes that no claim is made any more.
func (w *Worker) claimsEnded() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.claiming = false
	w.checkSettled()
}

// anyLease reports whether one of these partitions is still leased.
func (w *Worker) anyLease(partitions map[uint16]*partition) bool {
	for _, p := range partitions {
		if p.lease.Err() == nil {
			return true
		}
	}
	return false
}

// failed reports an operation that will be repeated.
func (w *Worker) failed(op string, err error) {
	if w.store.Err() != nil {
		return // the worker ends
	}
	w.log.Warn("operation failed, will be repeated", "op", op, "error", err)
	w.cfg.Observer.Failed(op, err)
}
