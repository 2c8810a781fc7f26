package taskworker

import (
	"context"
	"time"

	"github.com/taskfleet/taskfleet/pkg/task"
)

// partition is what the worker knows of one that it owns. Worker.mu guards it.
//
//	open ── Revoke ──> revoking ── last claim settled ──> removed
//	  │                    │
//	  ├── epoch moved on ──> stale: claims nothing until it is revoked
//	  └── lease ended ─────> removed; its claims are given back by lock value
type partition struct {
	id     uint16
	epoch  uint64
	lease  context.Context
	unhook func() bool // undoes the watch on lease

	revoking bool // drains
	stale    bool // its epoch moved on

	cursor    task.Cursor // behind what was read; Owned is not set
	found     []task.Key  // read, not yet claimed, in claim order
	suspects  []task.Key  // read, to be claimed alone: see quarantine.go
	exhausted bool        // nothing is behind the cursor
	anyFound  bool        // since the last read from the head
	skipped   int         // tasks of unknown kinds, since then
	poll      time.Duration
	pollAt    time.Time // when an exhausted partition is read from the head again

	promoteAt time.Time // when to look for due tasks

	runnable *task.Runnable // as last counted; nil: not yet
	delayed  *uint64        // as last counted; nil: not yet

	live int           // keys in a claim on its way, and claims not settled
	idle chan struct{} // closed when revoking and nothing is live
}

// open reports whether tasks of the partition may be claimed.
func (p *partition) open() bool {
	return !p.revoking && !p.stale && p.lease.Err() == nil
}

// rewind makes the next read begin at the head: something more urgent than the
// cursor may have come. Suspects stay: running one gives back what waits, which
// rewinds, and a suspect that was lost by that would be looked for behind what was
// given back, for ever.
func (p *partition) rewind() {
	p.found, p.cursor = nil, task.Cursor{}
	p.exhausted, p.anyFound, p.skipped = false, false, 0
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
