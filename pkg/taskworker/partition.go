package taskworker

import (
	"context"
	"time"

	"github.com/taskfleet/taskfleet/pkg/task"
)

// partition is what the worker knows of one that it owns. Worker.mu guards it.
type partition struct {
	id     uint16
	epoch  uint64
	lease  context.Context
	unhook func() bool // undoes the watch on lease

	revoking bool // drains: nothing new is claimed
	stale    bool // its epoch moved on: nothing new is claimed
	lost     bool // its lease ended: nothing is recorded

	cursor    task.Cursor // behind what was read; Owned is not set
	keys      []task.Key  // read, not yet claimed, in claim order
	exhausted bool        // the last read found fewer keys than it asked for

	promoteAt time.Time // when to look for due tasks

	runnable *task.Runnable // as last counted; nil: not yet
	delayed  *uint64        // as last counted; nil: not yet

	live int           // keys in a claim on its way, and claims not settled
	idle chan struct{} // closed when revoking and nothing is live
}

// open tells whether tasks of the partition may be claimed.
func (p *partition) open() bool {
	return !p.revoking && !p.stale && !p.lost && p.lease.Err() == nil
}

// rewind makes the next read begin at the head: something more urgent than the
// cursor may have come.
func (p *partition) rewind() {
	p.keys, p.cursor, p.exhausted = nil, task.Cursor{}, false
}

// checkIdle closes idle when the partition is revoked and nothing of it is left.
func (p *partition) checkIdle() {
	if !p.revoking || p.live > 0 {
		return
	}
	select {
	case <-p.idle:
	default:
		close(p.idle)
	}
}

// forget ends the watch on the lease.
func (p *partition) forget() { p.unhook() }
