package ydbembed

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/taskfleet/taskfleet/internal/lifecycle"
	"github.com/taskfleet/taskfleet/internal/ydbembed/coordsvc"
	"github.com/taskfleet/taskfleet/internal/ydbembed/fault"
	"github.com/taskfleet/taskfleet/internal/ydbembed/session"
	"github.com/taskfleet/taskfleet/internal/ydbembed/store"
	"github.com/taskfleet/taskfleet/internal/ydbembed/wire"
)

const (
	stopTimeout   = 5 * time.Second // for running calls to end at Close
	sweepInterval = time.Second     // of idle sessions and transactions
)

// Server is a running server. Its methods may be called from any goroutine.
type Server struct {
	cfg        Config
	addr       string
	store      *store.Store
	coord      *coordsvc.Service
	sessions   *session.Manager
	wire       *wire.Server
	goroutines *lifecycle.Group
	faults     *Faults

	closeOnce sync.Once
	closeErr  error
}

// Start opens the data and serves until Close; it returns once clients can
// connect. It fails when the configuration is wrong, the address is in use, or
// another server uses the folder. ctx bounds the start only.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	l := cfg.Listener
	if l == nil {
		var err error
		if l, err = listen(ctx, cfg.Listen); err != nil {
			return nil, err
		}
	}
	s, err := open(cfg)
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	s.serve(l)
	return s, nil
}

func listen(ctx context.Context, address string) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("ydbembed: %s is in use: another server runs there; stop it or listen on another port (0 takes a free one): %w", address, err)
	}
	if err != nil {
		return nil, fmt.Errorf("ydbembed: listening on %s: %w", address, err)
	}
	return l, nil
}

// open makes what serves, bottom up, and undoes it if something fails.
func open(cfg Config) (*Server, error) {
	db, err := store.Open(store.Options{Dir: cfg.Dir, TTLInterval: cfg.TTLInterval, Logger: cfg.Logger, Database: cfg.Database})
	if err != nil {
		return nil, explain(cfg.Dir, err)
	}
	s := &Server{cfg: cfg, store: db}
	s.faults = &Faults{server: s, set: &fault.Set{}, silence: &fault.Silence{}}
	s.coord, err = coordsvc.New(coordsvc.Options{Store: db, Logger: cfg.Logger})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("ydbembed: opening the coordination nodes: %w", err), db.Close())
	}
	s.sessions = session.New(session.Config{
		Store: db, Database: cfg.Database, Logger: cfg.Logger,
		Committed: func(ctx context.Context, kind, text string) error {
			return s.faults.set.Committed(ctx, fault.Call{Kind: kind, Text: text})
		},
	})
	return s, nil
}

// explain says what an error of opening a data folder means for its owner.
func explain(dir string, err error) error {
	text := err.Error()
	var file *store.FileError
	switch {
	case errors.As(err, &file):
		return fmt.Errorf("ydbembed: data folder %s is not whole and was not opened: file %s %s; put the file back, or restore the folder from a backup: %w", dir, file.File, file.Problem, store.ErrCorrupt)
	case errors.Is(err, store.ErrNoSpace):
		return fmt.Errorf("ydbembed: the disk of data folder %s is full: free some room, then start again: %w", dir, err)
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.EACCES) && strings.Contains(text, "LOCK"),
		strings.Contains(text, "lock held by current process"):
		return fmt.Errorf("ydbembed: data folder %s is locked: another server uses it: %w", dir, err)
	case strings.Contains(text, "unknown format major version"), strings.Contains(text, "data folder has format"):
		return fmt.Errorf("ydbembed: data folder %s was written by a newer version; run that one, or choose another folder: %w", dir, err)
	}
	return fmt.Errorf("ydbembed: opening the data: %w", err)
}

func (s *Server) serve(l net.Listener) {
	s.addr = l.Addr().String()
	s.wire = wire.New(wire.Config{
		Store: s.store, Sessions: s.sessions, Coordination: s.coord, Database: s.cfg.Database,
		Faults: s.faults.set, Silence: s.faults.silence, Logger: s.cfg.Logger,
	}, l)
	s.goroutines = lifecycle.New(context.Background())
	s.goroutines.Go("serve", func(context.Context) error { return s.wire.Serve() })
	s.goroutines.Go("sweep", s.sweep)
}

func (s *Server) sweep(ctx context.Context) error {
	ticker := time.NewTicker(sweepInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			s.sessions.Sweep()
		case <-ctx.Done():
			return nil
		}
	}
}

// DSN is the connection string of the database: grpc://127.0.0.1:PORT/local. A
// server that listens on every address is named by the loopback one.
func (s *Server) DSN() string {
	address := s.addr
	if host, port, err := net.SplitHostPort(address); err == nil {
		if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
			address = net.JoinHostPort("127.0.0.1", port)
		}
	}
	return "grpc://" + address + s.cfg.Database
}

// Addr is the host and port that the server listens on.
func (s *Server) Addr() string { return s.addr }

// Faults scripts the server's behaviour for tests.
func (s *Server) Faults() *Faults { return s.faults }

// Close stops the server, in this order: it lets go of every fault, stops
// listening, ends sessions and their streams, waits a few seconds for running
// calls, closes the connections, and last the data. Another Close waits for the
// first and returns the same.
func (s *Server) Close() error {
	s.closeOnce.Do(func() { s.closeErr = s.close() })
	return s.closeErr
}

func (s *Server) close() error {
	s.faults.clear()
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	var coordErr error
	s.wire.Stop(ctx, func() {
		s.sessions.Close()
		coordErr = s.coord.Close()
	})
	stopErr := s.goroutines.Stop(context.Background())
	return errors.Join(s.goroutines.Err(), stopErr, coordErr, s.store.Close())
}
