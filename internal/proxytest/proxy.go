// Package proxytest plays the network between a client and a server, for tests.
package proxytest

import (
	"io"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Proxy stands between a client and a server. Its methods may be called
// concurrently.
type Proxy struct {
	listener net.Listener
	target   string
	wg       sync.WaitGroup

	mu      sync.Mutex
	dead    bool          // refuses connections
	swallow chan struct{} // closed: bytes are read and dropped
	conns   []net.Conn
}

// New returns a proxy for the server at target, a host and port. It ends with the
// test.
func New(t testing.TB, target string) *Proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &Proxy{listener: listener, target: target, swallow: make(chan struct{})}
	p.wg.Go(p.accept)
	t.Cleanup(func() {
		p.Cut()
		p.wg.Wait()
	})
	return p
}

// Addr is where the client is to connect to.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil {
			client.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, client, server)
		dead := p.dead
		p.mu.Unlock()
		if dead {
			client.Close()
			server.Close()
			continue
		}
		p.wg.Go(func() { p.pump(server, client) })
		p.wg.Go(func() { p.pump(client, server) })
	}
}

func (p *Proxy) pump(to, from net.Conn) {
	defer to.Close()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		select {
		case <-p.swallow:
			continue
		default:
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			_, _ = io.Copy(io.Discard, from)
			return
		}
	}
}

// Cut ends every connection and refuses new ones, as the end of a process does.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dead = true
	p.listener.Close()
	for _, c := range p.conns {
		c.Close()
	}
}

// BlackHole lets nothing through any more, and tells nobody.
func (p *Proxy) BlackHole() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.swallow:
	default:
		close(p.swallow)
	}
}
