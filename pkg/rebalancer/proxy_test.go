package rebalancer

import (
	"io"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// proxy stands between one worker and the server, and plays the network.
type proxy struct {
	listener net.Listener
	target   string
	wg       sync.WaitGroup

	mu      sync.Mutex
	dead    bool          // refuses connections
	swallow chan struct{} // closed: bytes are read and dropped
	conns   []net.Conn
}

func newProxy(t *testing.T, target string) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{listener: listener, target: target, swallow: make(chan struct{})}
	p.wg.Go(p.accept)
	t.Cleanup(func() {
		p.cut()
		p.wg.Wait()
	})
	return p
}

func (p *proxy) accept() {
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

func (p *proxy) pump(to, from net.Conn) {
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

// cut ends every connection and refuses new ones, as the end of a process does.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dead = true
	p.listener.Close()
	for _, c := range p.conns {
		c.Close()
	}
}

// blackHole lets nothing through any more, and tells nobody.
func (p *proxy) blackHole() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.swallow:
	default:
		close(p.swallow)
	}
}
