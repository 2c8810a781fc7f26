package taskworker

import (
	"context"
	"time"

	"github.com/taskfleet/taskfleet/pkg/task"
)

const (
	// countSettle is how long new partitions wait to be counted, so that those that
	// come with a rebalance are counted together.
	countSettle = time.Second
	// delayedFactor is how much less often delayed tasks are counted.
	delayedFactor = 4
	// maxCountPause bounds the pause after counts that failed.
	maxCountPause = time.Hour
)

// count is one of the two counts of what waits, runnable or delayed tasks.
type count struct {
	every time.Duration
	next  time.Time // when all partitions are counted again
	// failed is the pause after a count that failed, doubled each time; until
	// notBefore nothing is counted, not even new partitions.
	failed    time.Duration
	notBefore time.Time
	// read counts the partitions, keeps the figures and returns how many tasks, and
	// so rows, that were.
	read func(partitions []uint16) (rows uint64, err error)
	// known reports whether a partition was counted. The caller holds mu.
	known func(*partition) bool
}

// countLoop keeps what is known of the backlog of the owned partitions. New ones
// are counted soon, all of them every so often. Counting reads a row for each
// task, so the pause grows with the backlog: see Config.CountRows.
func (w *Worker) countLoop(ctx context.Context) error {
	counts := []*count{
		{every: w.cfg.CountEvery, read: w.countRunnable, known: func(p *partition) bool { return p.runnable != nil }},
		{every: delayedFactor * w.cfg.CountEvery, read: w.countDelayed, known: func(p *partition) bool { return p.delayed != nil }},
	}
	for ctx.Err() == nil {
		wait := w.cfg.CountEvery
		for _, c := range counts {
			w.count(c)
			wait = min(wait, max(time.Until(c.next), 0))
		}
		w.cfg.Observer.Backlog(w.backlog())
		if w.countBell.wait(ctx, wait) {
			pause(ctx, countSettle)
		}
	}
	return nil
}

// count does what is due of one count. One that fails is likely to be large: it
// is repeated later each time, at most maxCountPause.
func (w *Worker) count(c *count) {
	now := time.Now()
	if now.Before(c.notBefore) {
		return
	}
	partitions := w.toCount(c, now)
	if len(partitions) == 0 {
		if !now.Before(c.next) { // there are none: what comes is new
			c.next = now.Add(c.every)
		}
		return
	}
	rows, err := c.read(partitions)
	if err != nil {
		w.failed("count", err)
		c.failed = min(max(2*c.failed, 2*c.every), maxCountPause)
		c.notBefore = time.Now().Add(jitter(c.failed))
		c.next = c.notBefore
		return
	}
	c.failed = 0
	slow := time.Duration(rows) * time.Second / time.Duration(w.cfg.CountRows)
	if next := time.Now().Add(jitter(max(c.every, slow))); next.After(c.next) {
		c.next = next
	}
}

// toCount lists the partitions to count now: all of them when it is time, else
// the new ones.
func (w *Worker) toCount(c *count, now time.Time) []uint16 {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := !now.Before(c.next)
	var ids []uint16
	for _, id := range w.order {
		if p := w.partitions[id]; p.open() && (all || !c.known(p)) {
			ids = append(ids, id)
		}
	}
	return ids
}

func (w *Worker) countRunnable(partitions []uint16) (rows uint64, err error) {
	counts, err := w.cfg.Counter.CountRunnable(w.store, partitions)
	if err != nil {
		return 0, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, n := range counts {
		rows += n.Pending + n.Locked
		if p := w.partitions[id]; p != nil {
			p.runnable = &n
		}
	}
	return rows, nil
}

func (w *Worker) countDelayed(partitions []uint16) (rows uint64, err error) {
	counts, err := w.cfg.Counter.CountDelayed(w.store, partitions)
	if err != nil {
		return 0, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, n := range counts {
		rows += n
		if p := w.partitions[id]; p != nil {
			p.delayed = &n
		}
	}
	return rows, nil
}

// backlog adds up what is known of the owned partitions.
func (w *Worker) backlog() Backlog {
	w.mu.Lock()
	defer w.mu.Unlock()
	var sum Backlog
	for _, p := range w.partitions {
		if p.runnable == nil || p.delayed == nil {
			continue
		}
		sum.Partitions++
		sum.add(*p.runnable, *p.delayed)
	}
	return sum
}

func (b *Backlog) add(r task.Runnable, delayed uint64) {
	b.Pending += r.Pending
	b.Locked += r.Locked
	b.Delayed += delayed
	b.Oldest = max(b.Oldest, r.Oldest)
}
