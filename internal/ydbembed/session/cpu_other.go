//go:build !linux

package session

import "time"

// onThread runs f and returns how long it took: the system does not tell the
// processor time of one thread, so waiting counts too.
func onThread(f func()) time.Duration {
	start := time.Now()
	f()
	return time.Since(start)
}
