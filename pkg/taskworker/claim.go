package taskworker

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/taskfleet/taskfleet/pkg/task"
)

// Reads go on behind the last key; they return to the head of every partition
// when rewindAfter has passed and reading again costs little against what was
// claimed since, at the latest after rewindAtMost.
const (
	rewindAfter  = time.Second
	rewindAtMost = 5 * time.Second
)

// claimer is the state of the claim loop, which nobody else touches.
type claimer struct {
	pause     time.Duration // between sweeps, doubled while they find nothing
	nextSweep time.Time
	rewound   time.Time // when all partitions were last read from their heads
	claimed   int       // since then
}

// claimLoop finds and claims tasks as long as there is room for them.
func (w *Worker) claimLoop(ctx context.Context) error {
	c := &claimer{pause: w.cfg.SweepMin, rewound: time.Now()}
	for ctx.Err() == nil {
		room := w.room()
		if room == 0 {
			w.claimBell.wait(ctx, -1)
			continue
		}
		if !w.look(c, room) {
			pause(ctx, jitter(2*w.cfg.SweepMax))
			continue
		}
		if w.claim(ctx, c, room) {
			continue
		}
		w.claimBell.wait(ctx, max(time.Until(c.nextSweep), 0))
	}
	return nil
}

// room is how many tasks to claim now. It is zero while enough wait for a
// handler, so that claims come in batches; while too many outcomes are not
// recorded; and when the pool is full of handlers that do not end.
func (w *Worker) room() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.stopping,
		w.waiting > w.cfg.Prefetch/2,
		len(w.unrecorded)+w.recording >= w.cfg.FinishBacklog,
		w.abandoned >= w.cfg.Concurrency:
		return 0
	}
	return min(max(w.cfg.Concurrency+w.cfg.Prefetch-w.waiting-w.running, 0), w.cfg.ClaimBatch)
}

// look reads candidates where some are needed or a sweep is due. It returns
// false when that failed.
func (w *Worker) look(c *claimer, room int) bool {
	now := time.Now()
	sweep := !now.Before(c.nextSweep)
	cursors, limit := w.toRead(c, room, sweep)
	found := 0
	if len(cursors) > 0 {
		keys, err := w.repo.Candidates(w.store, cursors, limit)
		if err != nil {
			w.failed("candidates", err)
			return false
		}
		found = len(keys)
		w.keep(cursors, keys, limit)
		w.cfg.Observer.Swept(len(cursors), found, time.Since(now))
	}
	switch {
	case found > 0:
		c.pause = w.cfg.SweepMin
	case sweep:
		c.pause = min(2*c.pause, w.cfg.SweepMax)
	}
	if sweep {
		c.nextSweep = time.Now().Add(jitter(c.pause))
	}
	return true
}

// toRead chooses the partitions to read, and how many keys of each. Those that
// had more are read when the keys at hand do not suffice, in turn; those that had
// none left are read from the head at every sweep.
func (w *Worker) toRead(c *claimer, room int, sweep bool) ([]task.Cursor, int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	kept := 0
	for _, p := range w.partitions {
		kept += len(p.keys)
	}
	if since := time.Since(c.rewound); since >= rewindAtMost || since >= rewindAfter && c.claimed >= 2*(kept+len(w.live)) {
		c.rewound, c.claimed, kept = time.Now(), 0, 0
		for _, p := range w.partitions {
			if !p.exhausted {
				p.rewind()
			}
		}
	}
	var cursors []task.Cursor
	// A few partitions, read in runs, give enough keys: the fewer are read at once,
	// the fewer rows are read again when reads return to the heads.
	wanted := 0
	if kept < room {
		wanted = (2*room + claimRun - 1) / claimRun
	}
	for i := range w.order {
		p := w.partitions[w.order[(w.turn+i)%len(w.order)]]
		switch {
		case !p.open() || len(p.keys) > 0:
			continue
		case p.exhausted && sweep:
			p.rewind()
		case p.exhausted || wanted == 0:
			continue
		default:
			wanted--
		}
		cursor := p.cursor
		cursor.Owned = task.Owned{Partition: p.id, Epoch: p.epoch}
		cursors = append(cursors, cursor)
	}
	if len(cursors) == 0 {
		return nil, 0
	}
	return cursors, min(max((2*room+len(cursors)-1)/len(cursors), claimRun), 256)
}

// keep stores what was read for the next claims, but what this worker runs.
func (w *Worker) keep(cursors []task.Cursor, keys []task.Key, limit int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	read := map[uint16][]task.Key{}
	for _, k := range keys {
		read[k.Partition] = append(read[k.Partition], k)
	}
	for _, cursor := range cursors {
		p := w.partitions[cursor.Partition]
		if p == nil || p.epoch != cursor.Epoch || p.revoking {
			continue
		}
		found := read[p.id]
		p.exhausted = len(found) < limit
		if len(found) > 0 {
			last := found[len(found)-1]
			p.cursor = task.Cursor{AfterRank: last.Rank, AfterID: last.ID}
		}
		p.keys = slices.DeleteFunc(found, func(k task.Key) bool { return w.live[k] != nil })
	}
}

// claimRun is how many keys a claim takes of one partition before it goes on to
// the next: a claim reads the row of every partition that it touches, and no
// partition waits long for its turn.
const claimRun = 8

// pick takes up to n keys, a run of each partition in turn, and reserves their
// place, so that a Revoke waits for what becomes of them. The next pick begins
// behind the last partition of this one.
func (w *Worker) pick(n int) (task.ClaimRequest, map[uint16]*partition) {
	w.mu.Lock()
	defer w.mu.Unlock()
	req := task.ClaimRequest{
		ID: uuid.NewString(), Owner: w.cfg.Owner,
		DefaultTimeout: w.cfg.TaskTimeout, Margin: w.cfg.LockMargin,
	}
	from := map[uint16]*partition{}
	for idle := 0; idle < len(w.order) && len(req.Keys) < n; w.turn++ {
		p := w.partitions[w.order[w.turn%len(w.order)]]
		run := min(len(p.keys), claimRun, n-len(req.Keys))
		if run == 0 || !p.open() {
			idle++
			continue
		}
		idle = 0
		if from[p.id] == nil {
			from[p.id] = p
			req.Owned = append(req.Owned, task.Owned{Partition: p.id, Epoch: p.epoch})
		}
		req.Keys = append(req.Keys, p.keys[:run]...)
		p.keys = p.keys[run:]
		p.live += run
	}
	w.reserved = len(req.Keys)
	return req, from
}

// claim claims keys that were read and starts what it got. It returns false
// when there was nothing to claim.
func (w *Worker) claim(ctx context.Context, c *claimer, room int) bool {
	req, from := w.pick(room)
	if len(req.Keys) == 0 {
		return false
	}
	begin := time.Now()
	result, err := w.repo.Claim(w.store, req)
	// The locks may have been taken although the answer was lost. The same request
	// finds them, so it is repeated until there is an answer, or nobody to work for.
	for wait := w.cfg.SweepMin; err != nil; wait = min(2*wait, 2*w.cfg.SweepMax) {
		w.failed("claim", err)
		if !pause(ctx, jitter(wait)) || !w.anyOpen(from) {
			break
		}
		result, err = w.repo.Claim(w.store, req)
	}
	c.claimed += len(result.Claimed)
	w.cfg.Observer.Claimed(len(req.Keys), len(result.Claimed), time.Since(begin))
	w.tellFenced(w.take(req, result, from))
	w.cfg.Observer.Holds(w.holds())
	return true
}

// take makes attempts of what was claimed and hands them to the pool. It
// returns the partitions that another worker has taken.
func (w *Worker) take(req task.ClaimRequest, result task.ClaimResult, from map[uint16]*partition) []*partition {
	w.mu.Lock()
	fenced := w.fence(result.Stale, from)
	for _, k := range req.Keys {
		from[k.Partition].live--
	}
	w.reserved = 0
	var start, lost []*attempt
	for _, claimed := range result.Claimed {
		p := from[claimed.Key.Partition]
		a := &attempt{Claimed: claimed, part: p, claimedAt: time.Now()}
		p.live++
		w.live[a.Key] = a
		w.waiting++
		switch {
		case p.lost:
			w.waiting--
			w.settle(a)
			lost = append(lost, a)
		case w.stopping || p.revoking:
			w.giveBack(a)
		default:
			start = append(start, a)
		}
	}
	for _, p := range from {
		p.checkIdle()
	}
	w.checkSettled()
	w.mu.Unlock()
	for _, a := range start {
		w.runs.Add(1)
		if err := w.pool.Go(func() { defer w.runs.Done(); w.run(a) }); err != nil {
			panic(err) // the pool has no bound and is never stopped
		}
	}
	for _, a := range lost {
		w.cfg.Observer.LostLease(a.Kind)
	}
	w.recordBell.ring()
	return fenced
}

// anyOpen tells whether a claim in these partitions still makes sense.
func (w *Worker) anyOpen(partitions map[uint16]*partition) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range partitions {
		if !p.lost && p.lease.Err() == nil {
			return true
		}
	}
	return false
}

func (w *Worker) failed(op string, err error) {
	if w.store.Err() != nil {
		return // the worker ends
	}
	w.log.Warn("operation failed, will be repeated", "op", op, "error", err)
	w.cfg.Observer.Failed(op, err)
}
