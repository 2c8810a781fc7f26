package testdb

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc/keepalive"
)

// Network is what is between one client and the server, see Embedded.Through. The
// zero value works; its methods may be called concurrently.
type Network struct {
	mu    sync.Mutex
	cut   bool
	hole  bool
	conns []*conn
}

// Cut ends every connection and refuses new ones, as the end of a process does.
func (n *Network) Cut() {
	n.mu.Lock()
	n.cut = true
	conns := n.conns
	n.conns = nil
	n.mu.Unlock()
	for _, c := range conns {
		c.Conn.Close()
	}
}

// BlackHole lets nothing through any more, and tells nobody; gRPC gives the
// connection up after deadConn. On the virtual clock it must do so before the SDK's
// coordination sessions, which spin at the nanosecond where their keep-alive ends:
// it must be longer.
func (n *Network) BlackHole() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.hole = true
}

// whole reports whether everything comes through.
func (n *Network) whole() bool {
	if n == nil {
		return true
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return !n.cut && !n.hole
}

func (n *Network) swallows() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.hole
}

// deadConn is when gRPC gives up a connection on which nothing is heard.
const deadConn = 11 * time.Second

var connPolicy = keepalive.ClientParameters{Time: deadConn - time.Second, Timeout: time.Second, PermitWithoutStream: true}

var errCut = errors.New("testdb: the network is cut")

type dialer func(ctx context.Context, address string) (net.Conn, error)

func dialTCP(ctx context.Context, address string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "tcp", address)
}

func (n *Network) dial(ctx context.Context, address string, dial dialer) (net.Conn, error) {
	c, err := dial(ctx, address)
	if err != nil || n == nil {
		return c, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cut {
		c.Close()
		return nil, errCut
	}
	wrapped := &conn{Conn: c, network: n, closed: make(chan struct{})}
	n.conns = append(n.conns, wrapped)
	return wrapped, nil
}

// conn is the client's end of a connection.
type conn struct {
	net.Conn
	network *Network
	closed  chan struct{} // by the client
	once    sync.Once
}

func (c *conn) Read(b []byte) (int, error) {
	for {
		n, err := c.Conn.Read(b)
		if !c.network.swallows() {
			return n, err
		}
		if err != nil {
			<-c.closed
			return 0, net.ErrClosed
		}
	}
}

func (c *conn) Write(b []byte) (int, error) {
	if c.network.swallows() {
		return len(b), nil
	}
	return c.Conn.Write(b)
}

func (c *conn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}
