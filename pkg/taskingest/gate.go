package taskingest

import "sync"

// gate bounds what is in flight: requests, and the bytes of their bodies. It never
// makes anybody wait.
type gate struct {
	maxRequests int
	maxBytes    int64
	observer    Observer

	mu       sync.Mutex
	requests int
	bytes    int64
}

// pass is what a request holds of a gate.
type pass struct {
	gate  *gate
	bytes int64
}

// enter returns nil when there are too many requests.
func (g *gate) enter() *pass {
	g.mu.Lock()
	full := g.requests == g.maxRequests
	if !full {
		g.requests++
	}
	g.mu.Unlock()
	if full {
		g.observer.Backpressure("requests")
		return nil
	}
	g.observer.InFlight(1, 0)
	return &pass{gate: g}
}

// take reports whether n more bytes may be held; leave gives them back.
func (p *pass) take(n int64) bool {
	g := p.gate
	g.mu.Lock()
	full := g.bytes+n > g.maxBytes
	if !full {
		g.bytes += n
		p.bytes += n
	}
	g.mu.Unlock()
	if full {
		g.observer.Backpressure("bytes")
		return false
	}
	g.observer.InFlight(0, n)
	return true
}

func (p *pass) leave() {
	g := p.gate
	g.mu.Lock()
	g.requests--
	g.bytes -= p.bytes
	g.mu.Unlock()
	g.observer.InFlight(-1, -p.bytes)
}
