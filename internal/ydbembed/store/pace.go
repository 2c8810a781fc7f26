package store

import (
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

const (
	minPause      = time.Second // after work of the engine failed
	maxPause      = time.Minute
	grantInterval = 100 * time.Millisecond
)

// pace slows the engine's background work down after it failed. The engine
// itself begins the same compaction, or the same flush, over again immediately.
type pace struct {
	mu    sync.Mutex
	pause time.Duration
	until time.Time
}

// failed begins a pause, twice as long as the one before.
func (p *pace) failed() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pause = min(max(2*p.pause, minPause), maxPause)
	p.until = time.Now().Add(p.pause)
	return p.pause
}

func (p *pace) worked() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pause = 0
}

// failing reports whether nothing has worked since the last failure.
func (p *pace) failing() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pause > 0
}

func (p *pace) left() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Until(p.until)
}

// rest returns when the pause is over or the store ends.
func (p *pace) rest(ended <-chan struct{}) {
	left := p.left()
	if left <= 0 {
		return
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ended:
	}
}

// compactions lets the engine run one compaction at a time, and none in a pause.
type compactions struct {
	pace *pace
	db   pebble.DBForCompaction
	quit chan struct{}
	done chan struct{}

	offering sync.Mutex // held while the engine is called
	mu       sync.Mutex
	running  bool
	over     bool
}

func (c *compactions) Register(_ int, db pebble.DBForCompaction) {
	c.db = db
	c.quit, c.done = make(chan struct{}), make(chan struct{})
	go c.run()
}

// run offers the turn again and again to an engine that was refused it.
func (c *compactions) run() {
	defer close(c.done)
	ticker := time.NewTicker(grantInterval)
	defer ticker.Stop()
	for {
		select {
		case <-c.quit:
			return
		case <-ticker.C:
			c.offer()
		}
	}
}

func (c *compactions) offer() {
	c.offering.Lock()
	defer c.offering.Unlock()
	if ok, _ := c.TrySchedule(); !ok {
		return
	}
	if waiting, _ := c.db.GetWaitingCompaction(); !waiting || !c.db.Schedule(c) {
		c.give()
	}
}

// TrySchedule is called with the engine's mutex held.
func (c *compactions) TrySchedule() (bool, pebble.CompactionGrantHandle) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over || c.running || c.pace.left() > 0 {
		return false, nil
	}
	c.running = true
	return true, c
}

func (c *compactions) give() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running = false
}

func (c *compactions) Unregister() {
	c.mu.Lock()
	c.over = true
	c.mu.Unlock()
	close(c.quit)
	<-c.done
	c.offering.Lock() // nobody calls the engine any more
	defer c.offering.Unlock()
}

func (c *compactions) UpdateGetAllowedWithoutPermission() {}

// Done ends a compaction; the engine itself asks for the next.
func (c *compactions) Done() {
	c.give()
	c.offer()
}

func (c *compactions) Started()                                                {}
func (c *compactions) MeasureCPU(pebble.CompactionGoroutineKind)               {}
func (c *compactions) CumulativeStats(stats pebble.CompactionGrantHandleStats) {}
