// Package proxy stands between a client and a server and plays a bad network.
package proxy

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// Weather is what a proxy does to the traffic. The zero value lets it through.
type Weather struct {
	// Refuse ends new connections at once.
	Refuse bool
	// LoseRequests and LoseAnswers drop what the client and the server send,
	// without telling anybody. A connection that lost something is broken: follow
	// up with Cut.
	LoseRequests, LoseAnswers bool
	// Delay holds everything back for so long, in both directions.
	Delay time.Duration
	// Hold holds everything back until the weather changes; then it arrives, late.
	Hold bool
}

// Proxy forwards connections to one address. Its methods may be called
// concurrently.
type Proxy struct {
	listener net.Listener
	target   string
	closed   chan struct{}
	work     sync.WaitGroup

	mu      sync.Mutex
	weather Weather
	changed chan struct{} // closed at the next Set
	conns   map[net.Conn]bool
}

// Listen returns a proxy on a free port of the loopback interface.
func Listen(target string) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	p := &Proxy{listener: listener, target: target, closed: make(chan struct{}), changed: make(chan struct{}), conns: map[net.Conn]bool{}}
	p.work.Go(p.accept)
	return p, nil
}

// Addr is the host and port to connect to.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Set changes the weather from now on.
func (p *Proxy) Set(w Weather) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.weather = w
	close(p.changed)
	p.changed = make(chan struct{})
}

// Cut ends every connection.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for conn := range p.conns {
		_ = conn.Close()
	}
}

// Close ends everything and waits for it.
func (p *Proxy) Close() error {
	err := p.listener.Close()
	close(p.closed)
	p.Cut()
	p.work.Wait()
	return err
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue
		}
		p.work.Go(func() { p.serve(client) })
	}
}

func (p *Proxy) serve(client net.Conn) {
	defer client.Close()
	if w, _ := p.now(); w.Refuse {
		return
	}
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	defer server.Close()
	if !p.keep(client, server) {
		return
	}
	defer p.forget(client, server)
	var pumps sync.WaitGroup
	pumps.Go(func() { p.pump(server, client, func(w Weather) bool { return w.LoseRequests }) })
	pumps.Go(func() { p.pump(client, server, func(w Weather) bool { return w.LoseAnswers }) })
	pumps.Wait()
}

// pump copies until one side ends, and ends the other.
func (p *Proxy) pump(to, from net.Conn, lose func(Weather) bool) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		w, open := p.settled()
		if !open {
			return
		}
		if lose(w) {
			continue
		}
		if !p.pause(w.Delay) {
			return
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// settled returns the weather that does not hold everything back; false when the
// proxy is closed before.
func (p *Proxy) settled() (w Weather, open bool) {
	for {
		w, changed := p.now()
		if !w.Hold {
			return w, true
		}
		select {
		case <-changed:
		case <-p.closed:
			return w, false
		}
	}
}

// pause waits, and tells whether the proxy is still open.
func (p *Proxy) pause(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-p.closed:
		return false
	}
}

// now returns the weather, and what is closed when it changes.
func (p *Proxy) now() (Weather, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.weather, p.changed
}

// keep remembers connections for Cut; false when the proxy is closed.
func (p *Proxy) keep(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.closed:
		return false
	default:
	}
	for _, conn := range conns {
		p.conns[conn] = true
	}
	return true
}

func (p *Proxy) forget(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range conns {
		delete(p.conns, conn)
	}
}
