package rebalancer

import "sync/atomic"

// pausing is what the worker itself wants of its state, whatever session it has.
type pausing struct {
	paused  atomic.Bool
	changed chan struct{} // holds one element while nobody has read a change
}

func newPausing() pausing { return pausing{changed: make(chan struct{}, 1)} }

// set reports whether that is a change.
func (p *pausing) set(paused bool) bool {
	if p.paused.Swap(paused) == paused {
		return false
	}
	select {
	case p.changed <- struct{}{}:
	default: // whoever reads the earlier change reads this one
	}
	return true
}

// Pause gives every partition away until Resume: the worker stays registered, as
// paused, the plan gives it nothing, and each partition is released once Revoke
// has emptied it, as in any other hand-over. Pause returns before that; Owned
// tells how far it is. It holds over lost sessions, and may be called before
// Start, repeatedly and concurrently. When every worker of a fleet is paused or
// drained, nobody owns anything: each logs a warning, and ViewChanged reports 0 members.
func (r *Rebalancer) Pause() {
	if r.pausing.set(true) {
		r.log.Warn("worker paused: it gives its partitions away until it is resumed")
	}
}

// Resume ends what Pause began: the worker takes its share again, unless an
// operator has drained it. It may be called repeatedly and concurrently.
func (r *Rebalancer) Resume() {
	if r.pausing.set(false) {
		r.log.Info("worker resumed")
	}
}

// Paused reports whether the last call was Pause.
func (r *Rebalancer) Paused() bool { return r.pausing.paused.Load() }
