package metrics

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"syscall"
	"time"
)

// Server serves the metrics of a process until it is closed.
type Server struct {
	http *http.Server
	addr net.Addr
	done chan struct{}
	err  error // of Serve, after done
}

// Serve listens on addr, such as DefaultAddr, or ":9090" for every address of the
// machine, and serves Handler in
// the background until Close, or until ctx ends. An address that cannot be had
// is an error now.
func (m *Metrics) Serve(ctx context.Context, addr string) (*Server, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("metrics: address %s is in use by another process: choose another with --metrics-addr, or switch metrics off with --metrics-addr \"\": %w", addr, err)
	}
	if err != nil {
		return nil, fmt.Errorf("metrics: listening on %q: %w", addr, err)
	}
	s := &Server{
		http: &http.Server{Handler: m.Handler(), ReadHeaderTimeout: 10 * time.Second},
		addr: listener.Addr(),
		done: make(chan struct{}),
	}
	stop := context.AfterFunc(ctx, func() { _ = s.http.Close() })
	go func() {
		defer close(s.done)
		defer stop()
		if err := s.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.err = fmt.Errorf("metrics: serving %s: %w", listener.Addr(), err)
		}
	}()
	return s, nil
}

// DefaultAddr is where the programs serve: this machine only, because whoever
// reaches it reads the metrics, without authentication.
const DefaultAddr = "127.0.0.1:9090"

// Addr is the address that is served, with the port that was really taken.
func (s *Server) Addr() string { return s.addr.String() }

// Loopback reports whether only this machine can reach the address.
func (s *Server) Loopback() bool {
	addr, ok := s.addr.(*net.TCPAddr)
	return ok && addr.IP.IsLoopback()
}

// Close ends serving, waits for it, and returns what ended it before. It is
// idempotent.
func (s *Server) Close() error {
	err := s.http.Close()
	<-s.done
	return errors.Join(s.err, err)
}
