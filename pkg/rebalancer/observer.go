package rebalancer

import "time"

// Observer is told what happens. Its methods are called from several goroutines
// and must return at once. Embed NopObserver to implement some of them.
type Observer interface {
	// SessionOpened: a coordination session with this id was opened.
	SessionOpened(id uint64)
	// SessionLost: the session ended without having been closed; every lease ended with it.
	SessionLost(cause error)
	// ViewChanged: the fleet has this many active members, this one included if it
	// is one. 0: all are paused or drained, and nobody owns anything.
	ViewChanged(members int)
	// Planned: a plan gives this worker mine partitions, gained and lost of them new.
	Planned(mine, gained, lost int)
	// PartitionAcquired: a partition became ours, waited after the plan had given it to us.
	PartitionAcquired(partition uint16, waited time.Duration)
	// PartitionReleased: a partition is no longer ours; it took drained to empty it.
	PartitionReleased(partition uint16, drained time.Duration)
	// OwnedChanged: this worker now owns this many partitions.
	OwnedChanged(owned int)
	// Failed: op (open, register, watch, orders, acquire, fence, revoke, release)
	// failed and is tried again.
	Failed(op string, err error)
}

// NopObserver does nothing.
type NopObserver struct{}

// SessionOpened does nothing.
func (NopObserver) SessionOpened(uint64) {}

// SessionLost does nothing.
func (NopObserver) SessionLost(error) {}

// ViewChanged does nothing.
func (NopObserver) ViewChanged(int) {}

// Planned does nothing.
func (NopObserver) Planned(int, int, int) {}

// PartitionAcquired does nothing.
func (NopObserver) PartitionAcquired(uint16, time.Duration) {}

// PartitionReleased does nothing.
func (NopObserver) PartitionReleased(uint16, time.Duration) {}

// OwnedChanged does nothing.
func (NopObserver) OwnedChanged(int) {}

// Failed does nothing.
func (NopObserver) Failed(string, error) {}
