package taskworker

import (
	"math/rand/v2"
	"time"

	"github.com/taskfleet/taskfleet/pkg/task"
)

// Reads go on behind the last key; they return to the head of every partition
// when rewindAfter has passed and reading again costs little against what was
// claimed since, at the latest after rewindAtMost.
const (
	rewindAfter  = time.Second
	rewindAtMost = 5 * time.Second
)

const (
	// maxRead bounds the keys that one read takes of a partition.
	maxRead = 256
	// skipCost is how much later a partition is read again for each task of an
	// unknown kind that the last reading walked past, up to skipAtMost.
	skipCost   = time.Millisecond
	skipAtMost = 30 * time.Second
)

// read reads candidates where keys are needed or a partition is due, and
// reports whether there is more to read now.
func (w *Worker) read(c *claimer, room int) (more bool, err error) {
	begin := time.Now()
	cursors, limit := w.toRead(c, room, begin)
	if len(cursors) == 0 {
		return false, nil
	}
	runs, err := w.repo.Candidates(w.store, cursors, limit)
	if err != nil {
		return false, err
	}
	found, unknown, more := w.keep(cursors, runs)
	w.cfg.Observer.Swept(len(cursors), found, time.Since(begin))
	for kind, n := range unknown {
		w.skip(kind, n)
	}
	return more, nil
}

// toRead chooses the partitions to read, and how many keys of each. Those that
// have more are read when the keys at hand do not suffice, in turn; exhausted
// ones are read from the head when their poll is due. Polls that are nearly due
// go along: one statement serves many partitions.
func (w *Worker) toRead(c *claimer, room int, now time.Time) (cursors []task.Cursor, limit int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	kept, due := 0, false
	for _, p := range w.partitions {
		kept += len(p.found)
		due = due || p.exhausted && p.open() && !now.Before(p.pollAt)
	}
	if since := now.Sub(c.rewound); since >= rewindAtMost || since >= rewindAfter && c.claimed >= 2*(kept+len(w.live)) {
		c.rewound, c.claimed, kept = now, 0, 0
		for _, p := range w.partitions {
			if !p.exhausted {
				p.rewind()
			}
		}
	}
	// A few partitions, read in runs, give enough keys: the fewer are read at once,
	// the fewer rows are read again when reads return to the heads.
	wanted := 0
	if kept < room {
		wanted = (2*room + claimRun - 1) / claimRun
	}
	skipping := false
	for i := range w.order {
		p := w.partitions[w.order[(w.turn+i)%len(w.order)]]
		switch {
		case !p.open() || len(p.found) > 0:
			continue
		case p.exhausted && due && p.pollAt.Sub(now) <= p.poll/4:
			p.rewind()
		case p.exhausted || wanted == 0:
			continue
		default:
			wanted--
		}
		skipping = skipping || p.skipped > 0
		cursor := p.cursor
		cursor.Owned = task.Owned{Partition: p.id, Epoch: p.epoch}
		cursors = append(cursors, cursor)
	}
	if len(cursors) == 0 {
		return nil, 0
	}
	if skipping {
		return cursors, maxRead
	}
	return cursors, min(max((2*room+len(cursors)-1)/len(cursors), claimRun), maxRead)
}

// keep stores what was read for the next claims, but what this worker runs and
// what it has no handler for. It returns how many keys it stored, the tasks of
// unknown kinds, and whether a partition that gave no key has more.
func (w *Worker) keep(cursors []task.Cursor, runs []task.CandidateRun) (found int, unknown map[string]int, more bool) {
	now := time.Now()
	// One jitter for all: partitions that were read together are due together.
	jitter := 0.75 + rand.Float64()/4
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, cursor := range cursors {
		p, run := w.partitions[cursor.Partition], runs[i]
		if p == nil || p.epoch != cursor.Epoch || p.revoking {
			continue
		}
		p.cursor, p.exhausted = run.Next, run.Exhausted
		for _, candidate := range run.Candidates {
			switch {
			case w.live[candidate.Key] != nil:
			case w.cfg.Handlers[candidate.Kind] == nil:
				if unknown == nil {
					unknown = map[string]int{}
				}
				unknown[candidate.Kind]++
				p.skipped++
			case w.suspect(candidate):
				p.addSuspect(candidate.Key)
			default:
				p.found = append(p.found, candidate.Key)
			}
		}
		found += len(p.found)
		p.anyFound = p.anyFound || len(p.found)+len(p.suspects) > 0
		more = more || !p.exhausted && len(p.found) == 0
		if !p.exhausted {
			continue
		}
		p.poll = min(max(2*p.poll, w.cfg.SweepMin), w.cfg.SweepMax)
		if p.anyFound {
			p.poll = w.cfg.SweepMin
		}
		wait := max(p.poll, min(time.Duration(p.skipped)*skipCost, skipAtMost))
		p.pollAt = now.Add(time.Duration(jitter * float64(wait)))
	}
	return found, unknown, more
}

// nextPoll is how long until an exhausted partition is due; negative without one.
func (w *Worker) nextPoll() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	next := time.Duration(-1)
	now := time.Now()
	for _, p := range w.partitions {
		if !p.exhausted || !p.open() || len(p.found) > 0 {
			continue
		}
		if wait := max(p.pollAt.Sub(now), 0); next < 0 || wait < next {
			next = wait
		}
	}
	return next
}

// maxLogged bounds the unknown kinds that are remembered for the log.
const maxLogged = 1000

// skip reports tasks of a kind that has no handler here: they stay runnable for
// the workers that have one. It logs every kind once. Only the claim loop calls it.
func (w *Worker) skip(kind string, tasks int) {
	w.cfg.Observer.Skipped(kind, tasks)
	if w.unknown[kind] || len(w.unknown) >= maxLogged {
		return
	}
	w.unknown[kind] = true
	w.log.Warn("tasks of a kind without a handler here are left to other workers", "kind", kind, "tasks", tasks)
}
