package taskworker

import (
	"math/rand/v2"
	"time"
)

// Backoff tells how long a failed task waits for its next attempt; attempt is
// the number of the one that failed, from 1.
type Backoff func(attempt uint32) time.Duration

// Exponential doubles the delay with every attempt, from base up to limit, and
// takes a random part of its upper half, so that tasks that failed together do
// not come back together.
func Exponential(base, limit time.Duration) Backoff {
	return func(attempt uint32) time.Duration {
		d := base
		for i := uint32(1); i < attempt && d < limit; i++ {
			d *= 2
		}
		return jitter(min(d, limit))
	}
}

// jitter returns a random duration between d/2 and d.
func jitter(d time.Duration) time.Duration {
	if d < 2 {
		return d
	}
	return d/2 + rand.N(d/2+1)
}
