//go:build race

package testdb

import "runtime"

// Under the race detector Go 1.26 runs the timers of a synctest bubble in one
// context of the detector, from the bubble's root and from whoever receives from a
// timer, at the same time; now and then that ends the process with SIGSEGV
// (runtime/time.go, unlockAndRun). One processor at a time cannot meet itself there,
// and the detector finds the same races with it: it compares clocks, not moments.
func init() { runtime.GOMAXPROCS(1) }
