package fleet

import (
	"sort"
	"sync"
	"time"
)

// Ownership follows which worker owns which partition from what the workers
// tell, in any order, and finds out how long partitions were without an owner.
// Its methods are safe for concurrent use.
type Ownership struct {
	mu    sync.Mutex
	terms map[int][]*tenure // by partition
}

// tenure is one ownership of a partition.
type tenure struct {
	worker     string
	begin, end time.Time // end is zero while it lasts
}

// NewOwnership returns one that knows nothing yet.
func NewOwnership() *Ownership { return &Ownership{terms: map[int][]*tenure{}} }

// Acquired notes that the worker owns the partition from then on.
func (o *Ownership) Acquired(partition int, worker string, at time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.terms[partition] = append(o.terms[partition], &tenure{worker: worker, begin: at})
}

// Released notes that the worker gave the partition up.
func (o *Ownership) Released(partition int, worker string, at time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, t := range o.terms[partition] {
		if t.worker == worker && t.end.IsZero() && !t.begin.After(at) {
			t.end = at
		}
	}
}

// Died notes that the worker ended without releasing anything.
func (o *Ownership) Died(worker string, at time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, terms := range o.terms {
		for _, t := range terms {
			if t.worker == worker && t.end.IsZero() {
				t.end = at
			}
		}
	}
}

// Counts returns how many partitions each worker owns now.
func (o *Ownership) Counts() map[string]int {
	o.mu.Lock()
	defer o.mu.Unlock()
	counts := map[string]int{}
	for _, terms := range o.terms {
		for _, t := range terms {
			if t.end.IsZero() {
				counts[t.worker]++
			}
		}
	}
	return counts
}

// Owned returns how many partitions have an owner now.
func (o *Ownership) Owned() int {
	owned := 0
	for _, n := range o.Counts() {
		owned += n
	}
	return owned
}

// MaxUnowned returns the longest time that any partition, once it was owned,
// was without an owner before the given time.
func (o *Ownership) MaxUnowned(until time.Time) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	var longest time.Duration
	for _, terms := range o.terms {
		sort.Slice(terms, func(i, j int) bool { return terms[i].begin.Before(terms[j].begin) })
		var free time.Time // since when nobody owns it
		for i, t := range terms {
			if t.begin.After(until) {
				break
			}
			if i > 0 && t.begin.Sub(free) > longest {
				longest = t.begin.Sub(free)
			}
			end := t.end
			if end.IsZero() || end.After(until) {
				end = until
			}
			if end.After(free) {
				free = end
			}
		}
		if gap := until.Sub(free); gap > longest && len(terms) > 0 {
			longest = gap
		}
	}
	return longest
}
