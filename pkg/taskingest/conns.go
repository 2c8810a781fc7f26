package taskingest

import (
	"context"
	"errors"
	"net"
	"sync"
)

// conns is a listener that keeps at most max connections. A further one takes the
// place of the one that has gone longest without a genuine request, so that
// connections which send nothing, or next to nothing, keep nobody out. While a
// genuine request is worked on, its connection stays.
type conns struct {
	net.Listener
	max int

	mu   sync.Mutex
	tick uint64
	open map[*conn]struct{}
}

// conn is a connection of conns.
type conn struct {
	net.Conn
	conns *conns

	// Under the mutex of conns.
	since   uint64 // when it was opened, or its last genuine request ended
	genuine int    // requests that are worked on
}

func newConns(l net.Listener, limit int) *conns {
	return &conns{Listener: l, max: limit, open: map[*conn]struct{}{}}
}

// Accept returns the next connection.
func (l *conns) Accept() (net.Conn, error) {
	for {
		inner, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if c := l.add(inner); c != nil {
			return c, nil
		}
		_ = inner.Close() // every place is taken by genuine requests
	}
}

func (l *conns) add(inner net.Conn) *conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.open) >= l.max {
		stalest := l.stalest()
		if stalest == nil {
			return nil
		}
		delete(l.open, stalest)
		_ = stalest.Conn.Close() // its reader gets an error
	}
	l.tick++
	c := &conn{Conn: inner, conns: l, since: l.tick}
	l.open[c] = struct{}{}
	return c
}

func (l *conns) stalest() (found *conn) {
	for c := range l.open {
		if c.genuine == 0 && (found == nil || c.since < found.since) {
			found = c
		}
	}
	return found
}

// Close closes the connection.
func (c *conn) Close() error {
	c.conns.mu.Lock()
	delete(c.conns.open, c)
	c.conns.mu.Unlock()
	return c.Conn.Close()
}

// CloseWrite lets the client read the answer while it is still sending.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

type connKey struct{}

// withConn lets requests find their connection.
func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// keepConn keeps the connection of a genuine request until release is called.
func keepConn(ctx context.Context) (release func()) {
	c, ok := ctx.Value(connKey{}).(*conn)
	if !ok { // a server of the caller's own
		return func() {}
	}
	l := c.conns
	l.mu.Lock()
	defer l.mu.Unlock()
	c.genuine++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		c.genuine--
		l.tick++
		c.since = l.tick
	}
}
