package coordsvc

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	pb "github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Coordination"
	"google.golang.org/protobuf/proto"
)

const (
	defaultFailureDelay = 300 * time.Millisecond
	closePatience       = time.Second
)

// Options say what a Service works with.
type Options struct {
	// Store keeps nodes and their state. Required.
	Store Storage
	// Clock is for timers; the real one by default.
	Clock clockwork.Clock
	// Logger gets what an operator must know; nothing by default.
	Logger *slog.Logger
	// FailureDelay holds back failures that make clients reconnect in a tight
	// loop. It must stay under the second that the SDK waits for a session's
	// start. Default 300 ms, -1 = off.
	FailureDelay time.Duration
}

func (o Options) withDefaults() Options {
	if o.Clock == nil {
		o.Clock = clockwork.NewRealClock()
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.FailureDelay == 0 {
		o.FailureDelay = defaultFailureDelay
	}
	return o
}

// Service is all coordination nodes of a server. Its methods may be called from
// several goroutines.
type Service struct {
	opts    Options
	scheme  sync.Mutex // one change of nodes at a time
	closing chan struct{}

	mu      sync.Mutex
	closed  bool
	nodes   map[string]*node
	streams map[*stream]struct{}
	idle    chan struct{} // closed when the service is closed and the last stream has ended
}

// New reads the nodes that the storage holds and brings them to life: their
// sessions are detached and have their timeout and the grace period to return.
func New(opts Options) (*Service, error) {
	opts = opts.withDefaults()
	s := &Service{
		opts:    opts,
		closing: make(chan struct{}),
		nodes:   make(map[string]*node),
		streams: make(map[*stream]struct{}),
		idle:    make(chan struct{}),
	}
	if err := s.load(); err != nil {
		return nil, err
	}
	for _, n := range s.nodes {
		go n.run()
	}
	return s, nil
}

func (s *Service) load() error {
	loaders := make(map[string]*loader)
	err := s.opts.Store.MetaScan(recordsPrefix, func(key string, value []byte) error {
		path, kind, rest, err := splitKey(key)
		if err != nil {
			return err
		}
		if loaders[path] == nil {
			loaders[path] = newLoader()
		}
		return loaders[path].add(kind, rest, value)
	})
	if err != nil {
		return fmt.Errorf("coordsvc: reading nodes: %w", err)
	}
	for path, l := range loaders {
		raw, ok, err := s.opts.Store.Node(path)
		if err != nil {
			return fmt.Errorf("coordsvc: reading node %s: %w", path, err)
		}
		if !ok { // a drop that did not come to its end
			if err := s.erase(path); err != nil {
				return err
			}
			continue
		}
		config := &pb.Config{}
		if err := proto.Unmarshal(raw, config); err != nil {
			return fmt.Errorf("coordsvc: config of node %s: %w", path, err)
		}
		m, err := l.finish(s.opts.Clock.Now(), gracePeriod(config))
		if err != nil {
			return fmt.Errorf("coordsvc: node %s: %w", path, err)
		}
		s.nodes[path] = newNode(path, config, m, s.opts)
	}
	return nil
}

// Serve runs one session stream until it ends. A nil error means that the
// stream ended as the protocol has it, which includes failures that the client
// was told of; an error of conn comes back as it is.
func (s *Service) Serve(conn Conn) error {
	first, err := conn.Recv()
	if err != nil {
		return readError(err)
	}
	start := first.GetSessionStart()
	if start == nil {
		return ErrNotStarted
	}
	n, refusal := s.find(start.GetPath())
	st := newStream(s, n, conn)
	if !s.enter(st) {
		s.wait(conn.Context(), nil)
		return conn.Send(failure(Ydb.StatusIds_UNAVAILABLE, linkFailure))
	}
	defer s.leave(st)
	if refusal != nil {
		return st.send(conn.Context(), refusal)
	}
	return st.serve(start)
}

// find returns the node at path, or the failure that a stream to it gets.
func (s *Service) find(path string) (*node, *pb.SessionResponse) {
	if path == "" {
		return nil, failure(Ydb.StatusIds_BAD_REQUEST, "KesusPath cannot be empty")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.nodes[cleanPath(path)]
	if n == nil {
		return nil, kesusNotFound()
	}
	return n, nil
}

func kesusNotFound() *pb.SessionResponse {
	return failure(Ydb.StatusIds_NOT_FOUND, "Kesus not found")
}

// enter counts a stream in; false when the service is closed.
func (s *Service) enter(st *stream) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.streams[st] = struct{}{}
	return true
}

func (s *Service) leave(st *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.streams, st)
	if s.closed && len(s.streams) == 0 {
		close(s.idle)
	}
}

// delay holds a failure back; closing the service cuts it short.
func (s *Service) delay(ctx context.Context) { s.wait(ctx, s.closing) }

func (s *Service) wait(ctx context.Context, cut <-chan struct{}) {
	if s.opts.FailureDelay < 0 {
		return
	}
	timer := s.opts.Clock.NewTimer(s.opts.FailureDelay)
	defer timer.Stop()
	select {
	case <-timer.Chan():
	case <-cut:
	case <-ctx.Done():
	}
}

// Close ends all streams with UNAVAILABLE, so that clients come back elsewhere
// or later with their sessions, and waits until everything is durable. It waits
// a second at most for clients to take the failure; the transport's own stop
// ends the others. A second call does nothing.
func (s *Service) Close() error {
	s.scheme.Lock()
	defer s.scheme.Unlock()
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	close(s.closing)
	if len(s.streams) == 0 {
		close(s.idle)
	}
	nodes := s.nodes
	s.mu.Unlock()
	for _, n := range nodes {
		n.shut(failure(Ydb.StatusIds_UNAVAILABLE, linkFailure))
	}
	select {
	case <-s.idle:
	case <-time.After(closePatience):
	}
	return nil
}
