package fault

import (
	"net"
	"sync"
)

// Silence makes a server stop answering without closing anything, as a hung
// host or a lost network does: the connections of its Listener stay open, and
// no byte goes in or out until Resume. The zero Silence is resumed.
type Silence struct {
	mu     sync.Mutex
	silent chan struct{} // nil while bytes flow; closed by Resume
}

// Begin stops the flow of bytes.
func (s *Silence) Begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.silent == nil {
		s.silent = make(chan struct{})
	}
}

// Resume lets the bytes flow that were held, and all later ones.
func (s *Silence) Resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.silent != nil {
		close(s.silent)
		s.silent = nil
	}
}

// wait returns when bytes may flow, or when the connection was closed.
func (s *Silence) wait(closed <-chan struct{}) {
	s.mu.Lock()
	silent := s.silent
	s.mu.Unlock()
	if silent == nil {
		return
	}
	select {
	case <-silent:
	case <-closed:
	}
}

// Listener puts the connections that l accepts under s.
func (s *Silence) Listener(l net.Listener) net.Listener { return &listener{Listener: l, silence: s} }

type listener struct {
	net.Listener
	silence *Silence
}

func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c, silence: l.silence, closed: make(chan struct{})}, nil
}

type conn struct {
	net.Conn
	silence *Silence
	once    sync.Once
	closed  chan struct{}
}

func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.silence.wait(c.closed)
	return n, err
}

func (c *conn) Write(b []byte) (int, error) {
	c.silence.wait(c.closed)
	return c.Conn.Write(b)
}

func (c *conn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}
