package fleettest

import (
	"slices"
	"testing"
	"time"
)

// BenchmarkHandOver measures how long a partition is without an owner when a worker
// joins and when one leaves, on a server that writes to disk, while short tasks
// run all the time. One op is a join and a leave.
//
//	go test ./internal/fleettest -run '^$' -bench HandOver -benchtime 10x
func BenchmarkHandOver(b *testing.B) {
	w := setup(b, 256)
	w.start("a", 1)
	w.start("b", 1)
	w.start("c", 1)
	w.await(patience, "they share", w.share(weights("a", "b", "c")))
	w.event(func() { w.gaps = nil })
	n := 0
	for b.Loop() {
		w.enqueue(some(500, n)...)
		n += 500
		d := w.start("d", 1)
		w.await(patience, "four share", w.share(weights("a", "b", "c", "d")))
		w.enqueue(some(500, n)...)
		n += 500
		d.leave()
		w.await(patience, "three share", w.share(weights("a", "b", "c")))
	}
	w.mu.Lock()
	gaps := slices.Clone(w.gaps)
	w.mu.Unlock()
	slices.Sort(gaps)
	report := func(name string, d time.Duration) { b.ReportMetric(float64(d.Microseconds())/1000, name) }
	b.ReportMetric(float64(len(gaps))/float64(b.N), "handovers/op")
	report("p50-ms", gaps[len(gaps)/2])
	report("p99-ms", gaps[len(gaps)*99/100])
	report("max-ms", gaps[len(gaps)-1])
}
