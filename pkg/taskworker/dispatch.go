package taskworker

import "container/heap"

// ready holds the claimed tasks that wait for a handler, most urgent first. It may
// hold attempts that were given back meanwhile: whoever pops looks at the state.
type ready struct {
	attempts []*attempt
	claimed  uint64
}

func (r *ready) push(a *attempt) {
	r.claimed++
	a.order = r.claimed
	heap.Push(r, a)
}

// pop returns the most urgent attempt that still waits, nil without one.
func (r *ready) pop() *attempt {
	for len(r.attempts) > 0 {
		if a := heap.Pop(r).(*attempt); a.state == waiting {
			return a
		}
	}
	return nil
}

// The methods of heap.Interface.

func (r *ready) Len() int { return len(r.attempts) }

func (r *ready) Less(i, j int) bool {
	a, b := r.attempts[i], r.attempts[j]
	if a.Key.Rank != b.Key.Rank {
		return a.Key.Rank < b.Key.Rank
	}
	return a.order < b.order
}

func (r *ready) Swap(i, j int) { r.attempts[i], r.attempts[j] = r.attempts[j], r.attempts[i] }

func (r *ready) Push(x any) { r.attempts = append(r.attempts, x.(*attempt)) }

func (r *ready) Pop() any {
	last := len(r.attempts) - 1
	a := r.attempts[last]
	r.attempts[last] = nil
	r.attempts = r.attempts[:last]
	return a
}

// dispatch lets the pool run so many more attempts, each the most urgent one of
// those that wait then. The caller holds mu.
func (w *Worker) dispatch(attempts int) {
	for range attempts {
		w.runs.Add(1)
		if err := w.pool.Go(func() { defer w.runs.Done(); w.runNext() }); err != nil {
			panic(err) // the pool has no bound and is never stopped
		}
	}
}
