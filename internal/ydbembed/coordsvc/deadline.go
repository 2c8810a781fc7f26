package coordsvc

import (
	"container/heap"
	"time"
)

// deadline is one timer of the machine. It fires once, when the machine is
// told a time at or after at.
type deadline struct {
	at    time.Time
	fire  func()
	index int
}

// deadlines is a heap of timers, the earliest first.
type deadlines struct{ heap []*deadline }

func (d *deadlines) add(at time.Time, fire func()) *deadline {
	t := &deadline{at: at, fire: fire}
	heap.Push(d, t)
	return t
}

// cancel removes a timer; a nil one and one that has fired are ignored.
func (d *deadlines) cancel(t *deadline) {
	if t != nil && t.index >= 0 {
		heap.Remove(d, t.index)
	}
}

// due removes and returns the earliest timer that is due at now.
func (d *deadlines) due(now time.Time) *deadline {
	if len(d.heap) == 0 || d.heap[0].at.After(now) {
		return nil
	}
	return heap.Pop(d).(*deadline)
}

// next tells when the earliest timer is due.
func (d *deadlines) next() (time.Time, bool) {
	if len(d.heap) == 0 {
		return time.Time{}, false
	}
	return d.heap[0].at, true
}

// Len, Less, Swap, Push and Pop are for container/heap.
func (d *deadlines) Len() int { return len(d.heap) }

func (d *deadlines) Less(i, j int) bool { return d.heap[i].at.Before(d.heap[j].at) }

func (d *deadlines) Swap(i, j int) {
	d.heap[i], d.heap[j] = d.heap[j], d.heap[i]
	d.heap[i].index, d.heap[j].index = i, j
}

func (d *deadlines) Push(x any) {
	t := x.(*deadline)
	t.index = len(d.heap)
	d.heap = append(d.heap, t)
}

func (d *deadlines) Pop() any {
	last := len(d.heap) - 1
	t := d.heap[last]
	d.heap[last] = nil
	d.heap = d.heap[:last]
	t.index = -1
	return t
}
