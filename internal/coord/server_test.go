package coord

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/ydb-platform/ydb-go-genproto/Ydb_Coordination_V1"
	"github.com/ydb-platform/ydb-go-genproto/Ydb_Discovery_V1"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Coordination"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Discovery"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Issue"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Operations"
	ydb "github.com/ydb-platform/ydb-go-sdk/v3"
	"github.com/ydb-platform/ydb-go-sdk/v3/config"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type (
	stream   = Ydb_Coordination_V1.CoordinationService_SessionServer
	request  = Ydb_Coordination.SessionRequest
	response = Ydb_Coordination.SessionResponse
)

// scripted is a coordination server that does what a test tells it to, one
// stream after the other: it plays the server at its worst.
type scripted struct {
	Ydb_Coordination_V1.UnimplementedCoordinationServiceServer
	Ydb_Discovery_V1.UnimplementedDiscoveryServiceServer
	script func(n int, s stream) error // stream n, from 1

	mu       sync.Mutex
	streams  int
	requests []*request
	changed  chan struct{}
	nodeless bool
}

// serve starts a scripted server in memory and opens a driver to it.
func serve(t *testing.T, script func(n int, s stream) error) (*scripted, *ydb.Driver) {
	t.Helper()
	listener := bufconn.Listen(1 << 20)
	srv := &scripted{script: script, changed: make(chan struct{})}
	g := grpc.NewServer(grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: time.Second, PermitWithoutStream: true}))
	Ydb_Coordination_V1.RegisterCoordinationServiceServer(g, srv)
	Ydb_Discovery_V1.RegisterDiscoveryServiceServer(g, srv)
	served := make(chan error, 1)
	go func() { served <- g.Serve(listener) }()
	dial := func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }
	db, err := ydb.Open(t.Context(), "grpc://127.0.0.1:2136/local", ydb.With(config.WithGrpcOptions(grpc.WithContextDialer(dial))))
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		require.NoError(t, db.Close(ctx))
		g.Stop()
		require.NoError(t, <-served)
	})
	return srv, db
}

func operation(t Ydb.StatusIds_StatusCode, result proto.Message) *Ydb_Operations.Operation {
	op := &Ydb_Operations.Operation{Ready: true, Status: t}
	if result != nil {
		op.Result, _ = anypb.New(result)
	}
	return op
}

func (s *scripted) ListEndpoints(context.Context, *Ydb_Discovery.ListEndpointsRequest) (*Ydb_Discovery.ListEndpointsResponse, error) {
	return &Ydb_Discovery.ListEndpointsResponse{Operation: operation(Ydb.StatusIds_SUCCESS, &Ydb_Discovery.ListEndpointsResult{
		Endpoints: []*Ydb_Discovery.EndpointInfo{{Address: "127.0.0.1", Port: 2136, NodeId: 1}},
	})}, nil
}

func (s *scripted) DescribeNode(context.Context, *Ydb_Coordination.DescribeNodeRequest) (*Ydb_Coordination.DescribeNodeResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.nodeless {
		return &Ydb_Coordination.DescribeNodeResponse{Operation: operation(Ydb.StatusIds_SCHEME_ERROR, nil)}, nil
	}
	return &Ydb_Coordination.DescribeNodeResponse{Operation: operation(Ydb.StatusIds_SUCCESS, &Ydb_Coordination.DescribeNodeResult{})}, nil
}

func (s *scripted) Session(stream stream) error {
	s.mu.Lock()
	s.streams++
	n := s.streams
	s.mu.Unlock()
	return s.script(n, stream)
}

// receive reads the next request and remembers it.
func (s *scripted) receive(stream stream) (*request, error) {
	r, err := stream.Recv()
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r)
	close(s.changed)
	s.changed = make(chan struct{})
	return r, nil
}

// saw waits until a request came for which is holds.
func (s *scripted) saw(t *testing.T, what string, is func(*request) bool) {
	t.Helper()
	timer := time.NewTimer(10 * time.Second)
	defer timer.Stop()
	for {
		s.mu.Lock()
		seen, changed := s.requests, s.changed
		s.mu.Unlock()
		for _, r := range seen {
			if is(r) {
				return
			}
		}
		select {
		case <-changed:
		case <-timer.C:
			require.FailNow(t, "the server never saw "+what)
		}
	}
}

func (s *scripted) opened() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.streams
}

func failure(status Ydb.StatusIds_StatusCode, text string) *response {
	return &response{Response: &Ydb_Coordination.SessionResponse_Failure_{Failure: &Ydb_Coordination.SessionResponse_Failure{
		Status: status, Issues: []*Ydb_Issue.IssueMessage{{Message: text}},
	}}}
}

func started(id uint64) *response {
	return &response{Response: &Ydb_Coordination.SessionResponse_SessionStarted_{
		SessionStarted: &Ydb_Coordination.SessionResponse_SessionStarted{SessionId: id},
	}}
}

func acquired(id uint64, status Ydb.StatusIds_StatusCode, ok bool) *response {
	return &response{Response: &Ydb_Coordination.SessionResponse_AcquireSemaphoreResult_{
		AcquireSemaphoreResult: &Ydb_Coordination.SessionResponse_AcquireSemaphoreResult{
			ReqId: id, Status: status, Acquired: ok, Issues: []*Ydb_Issue.IssueMessage{{Message: "the server's words"}},
		},
	}}
}

func pending(id uint64) *response {
	return &response{Response: &Ydb_Coordination.SessionResponse_AcquireSemaphorePending_{
		AcquireSemaphorePending: &Ydb_Coordination.SessionResponse_AcquireSemaphorePending{ReqId: id},
	}}
}

func described(id uint64, status Ydb.StatusIds_StatusCode, d *Ydb_Coordination.SemaphoreDescription) *response {
	return &response{Response: &Ydb_Coordination.SessionResponse_DescribeSemaphoreResult_{
		DescribeSemaphoreResult: &Ydb_Coordination.SessionResponse_DescribeSemaphoreResult{
			ReqId: id, Status: status, SemaphoreDescription: d, WatchAdded: d != nil,
		},
	}}
}

func released(id uint64) *response {
	return &response{Response: &Ydb_Coordination.SessionResponse_ReleaseSemaphoreResult_{
		ReleaseSemaphoreResult: &Ydb_Coordination.SessionResponse_ReleaseSemaphoreResult{
			ReqId: id, Status: Ydb.StatusIds_SUCCESS, Released: true,
		},
	}}
}

func ping() *response {
	return &response{Response: &Ydb_Coordination.SessionResponse_Ping{Ping: &Ydb_Coordination.SessionResponse_PingPong{Opaque: 1}}}
}

// begin makes the handshake of a stream that goes well.
func (s *scripted) begin(stream stream, id uint64) error {
	if _, err := s.receive(stream); err != nil {
		return err
	}
	return stream.Send(started(id))
}

// answer replies to every request of a stream by f, which may return nil.
func (s *scripted) answer(stream stream, f func(*request) *response) error {
	for {
		r, err := s.receive(stream)
		if err != nil {
			return err
		}
		if reply := f(r); reply != nil {
			if err := stream.Send(reply); err != nil {
				return err
			}
		}
	}
}

// obey grants, releases and describes everything.
func obey(r *request) *response {
	switch {
	case r.GetAcquireSemaphore() != nil:
		return acquired(r.GetAcquireSemaphore().GetReqId(), Ydb.StatusIds_SUCCESS, true)
	case r.GetReleaseSemaphore() != nil:
		return released(r.GetReleaseSemaphore().GetReqId())
	case r.GetDescribeSemaphore() != nil:
		return described(r.GetDescribeSemaphore().GetReqId(), Ydb.StatusIds_SUCCESS,
			&Ydb_Coordination.SemaphoreDescription{Name: r.GetDescribeSemaphore().GetName()})
	}
	return nil
}

// quick are timings for tests.
func quick() Config {
	return Config{SessionTimeout: 1500 * time.Millisecond, ReconnectDelay: 100 * time.Millisecond}
}

func open(t *testing.T, db *ydb.Driver, cfg Config) *Session {
	t.Helper()
	return join(t, db, "/local/node", cfg)
}

func join(t *testing.T, db *ydb.Driver, node string, cfg Config) *Session {
	t.Helper()
	s, err := Open(t.Context(), db, node, cfg)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		require.NoError(t, s.Close(ctx))
	})
	return s
}
