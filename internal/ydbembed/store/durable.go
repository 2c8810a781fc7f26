package store

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// watermark is the number of the latest commit that is on disk. When the log
// cannot be synced it fails for good, and the store accepts nothing more.
type watermark struct {
	mu      sync.Mutex
	seq     uint64
	failed  error
	changed chan struct{} // closed and replaced at each change
}

func newWatermark() watermark { return watermark{changed: make(chan struct{})} }

func (w *watermark) raise(seq uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if seq > w.seq {
		w.seq = seq
		w.notify()
	}
}

func (w *watermark) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed == nil {
		w.failed = fmt.Errorf("%w: %w", ErrFailed, err)
		w.notify()
	}
}

func (w *watermark) failure() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failed
}

func (w *watermark) notify() {
	close(w.changed)
	w.changed = make(chan struct{})
}

// wait returns when commit seq is on disk. A reader waits for what it saw, so
// that a crash undoes nothing that it returned; not for long while that
// cannot get to the disk.
func (w *watermark) wait(ctx context.Context, seq uint64, disk *space) error {
	stuck, late := disk.isStuck(), (<-chan time.Time)(nil)
	for {
		w.mu.Lock()
		done, failed, changed := w.seq >= seq, w.failed, w.changed
		w.mu.Unlock()
		if done {
			return nil
		}
		if failed != nil {
			return failed
		}
		select {
		case <-changed:
		case <-stuck:
			stuck, late = nil, time.After(stuckGrace)
		case <-late:
			return disk.cause()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
