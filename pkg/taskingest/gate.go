package taskingest

import (
	"net/http"
	"sync"
	"time"
)

// gate bounds what is in flight: requests, and the bytes that they hold. It never
// makes anybody wait.
//
// Some requests may be evicted while their body comes in: when there are too many
// requests the oldest of them gives way to a new one, and when there are too many
// bytes the one that holds the most. So neither many slow bodies nor a few large
// ones keep out the others.
type gate struct {
	name        string // before the names of the limits that the observer gets
	maxRequests int
	maxBytes    int64
	observer    Observer

	mu        sync.Mutex
	requests  int
	bytes     int64
	entered   uint64
	evictable map[*pass]struct{}
}

func newGate(name string, maxRequests int, maxBytes int64, observer Observer) *gate {
	return &gate{name: name, maxRequests: maxRequests, maxBytes: maxBytes, observer: observer, evictable: map[*pass]struct{}{}}
}

// pass is what a request holds of a gate.
type pass struct {
	gate  *gate
	order uint64
	// deadline sets when the reading of the body ends; nil if nothing is read.
	deadline func(time.Time) error

	// Under the gate's mutex.
	bytes int64
	gone  bool // left, or was evicted
}

// errEvicted is the answer to a request that has given way.
var errEvicted = busy("requests").closing()

// enter returns nil when there are too many requests.
func (g *gate) enter(deadline func(time.Time) error, evictable bool) *pass {
	p := &pass{gate: g, deadline: deadline}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.requests == g.maxRequests {
		g.observer.Backpressure(g.name + "requests")
		oldest := g.pick(func(a, b *pass) bool { return a.order < b.order })
		if oldest == nil {
			return nil
		}
		g.evict(oldest)
	}
	g.entered++
	p.order = g.entered
	g.requests++
	if evictable {
		g.evictable[p] = struct{}{}
	}
	g.observer.InFlight(1, 0)
	return p
}

// take lets the request hold n more bytes, or says what to answer.
func (p *pass) take(n int64) error {
	g := p.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case p.gone:
		return errEvicted
	case p.bytes+n > g.maxBytes:
		return refuse(http.StatusRequestEntityTooLarge, "the request needs too much memory: send fewer tasks at once; nothing was stored")
	case g.bytes+n > g.maxBytes:
		g.observer.Backpressure(g.name + "bytes")
		largest := g.pick(func(a, b *pass) bool { return a.bytes > b.bytes })
		if largest == nil || largest.bytes <= p.bytes+n {
			return busy("bytes")
		}
		g.evict(largest)
	}
	g.bytes += n
	p.bytes += n
	g.observer.InFlight(0, n)
	return nil
}

// give gives n bytes back.
func (p *pass) give(n int64) {
	p.gate.mu.Lock()
	defer p.gate.mu.Unlock()
	if p.gone {
		return
	}
	p.gate.bytes -= n
	p.bytes -= n
	p.gate.observer.InFlight(0, -n)
}

// leave gives everything back. It may be called again.
func (p *pass) leave() {
	p.gate.mu.Lock()
	defer p.gate.mu.Unlock()
	p.gate.remove(p)
}

// move takes the request, with what it holds, to another gate. When there is no
// room the request stays where it is, and the error says what to answer.
func (p *pass) move(to *gate) (*pass, error) {
	p.gate.mu.Lock()
	bytes := p.bytes
	p.gate.mu.Unlock()
	moved := to.enter(nil, false)
	if moved == nil {
		return nil, busy("requests")
	}
	if err := moved.take(bytes); err != nil {
		moved.leave()
		return nil, err
	}
	p.leave()
	return moved, nil
}

// readUntil sets when the reading of the body ends, and reports whether the
// request still has its place.
func (p *pass) readUntil(at time.Time) bool {
	p.gate.mu.Lock()
	defer p.gate.mu.Unlock()
	if !p.gone && p.deadline != nil {
		_ = p.deadline(at) // a server of the caller's own may have none
	}
	return !p.gone
}

func (p *pass) evicted() bool {
	p.gate.mu.Lock()
	defer p.gate.mu.Unlock()
	return p.gone
}

// pick returns the evictable pass that comes first, nil if there is none.
func (g *gate) pick(before func(a, b *pass) bool) (first *pass) {
	for p := range g.evictable {
		if first == nil || before(p, first) {
			first = p
		}
	}
	return first
}

// evict ends the reading of a body. What the request holds counts no longer: it
// is dropped as soon as the request's goroutine runs. Setting the deadline does
// not wait, and under the mutex it cannot meet the connection's next request.
func (g *gate) evict(p *pass) {
	g.remove(p)
	_ = p.deadline(time.Unix(1, 0))
}

func (g *gate) remove(p *pass) {
	if p.gone {
		return
	}
	p.gone = true
	delete(g.evictable, p)
	g.requests--
	g.bytes -= p.bytes
	g.observer.InFlight(-1, -p.bytes)
}
