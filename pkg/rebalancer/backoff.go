package rebalancer

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	firstPause = 100 * time.Millisecond
	maxPause   = 2 * time.Second
)

// backoff is a pause that doubles from firstPause to maxPause, with jitter.
type backoff struct{ next time.Duration }

func (b *backoff) reset() { b.next = 0 }

// pause returns the next pause: half of it is certain, half of it is chance.
func (b *backoff) pause() time.Duration {
	b.next = min(max(2*b.next, firstPause), maxPause)
	return b.next/2 + rand.N(b.next/2)
}

// wait pauses, or returns as soon as one of the contexts ends.
func (b *backoff) wait(one, other context.Context) {
	timer := time.NewTimer(b.pause())
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-one.Done():
	case <-other.Done():
	}
}

// jitter returns d, give or take a quarter.
func jitter(d time.Duration) time.Duration {
	if d < 2 {
		return d
	}
	return d - d/4 + rand.N(d/2)
}
