package rebalancer

import (
	"runtime"
	"testing"

	"go.uber.org/goleak"
)

// On one processor, because the race detector of Go 1.26 crashes when goroutines
// of a synctest bubble meet timers that are due on several: the timers of a
// bubble share one race context, which nothing locks.
func TestMain(m *testing.M) {
	runtime.GOMAXPROCS(1)
	goleak.VerifyTestMain(m)
}
