package taskworker

import (
	"context"
	"time"
)

// bell wakes one loop. A ring before the loop listens is kept, once.
type bell chan struct{}

func newBell() bell { return make(bell, 1) }

func (b bell) ring() {
	select {
	case b <- struct{}{}:
	default:
	}
}

// wait returns true when the bell rings or d has passed, and false when ctx
// ended. A negative d waits for the bell alone.
func (b bell) wait(ctx context.Context, d time.Duration) bool {
	var timeout <-chan time.Time
	if d >= 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		timeout = timer.C
	}
	select {
	case <-b:
	case <-timeout:
	case <-ctx.Done():
		return false
	}
	return ctx.Err() == nil
}

// pause waits for d, or less when ctx ends, and reports whether to go on.
func pause(ctx context.Context, d time.Duration) bool { return bell(nil).wait(ctx, d) }
