package wire_test

import (
	"context"
	"errors"
	"io"
	"math"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/ydb-platform/ydb-go-genproto/Ydb_Coordination_V1"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	pb "github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Coordination"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Issue"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Scheme"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/taskfleet/taskfleet/internal/ydbembed/coordsvc"
	"github.com/taskfleet/taskfleet/internal/ydbembed/store"
	"github.com/taskfleet/taskfleet/internal/ydbembed/wire"
)

const (
	rawNode     = "/local/deep/folder/node"
	rawPatience = 60 * time.Second
)

// coordServer is a gRPC server that offers nothing but coordination.
type coordServer struct {
	t       testing.TB
	svc     *coordsvc.Service
	grpc    *grpc.Server
	address string
}

// startCoord serves storage at address; port 0 takes any.
func startCoord(t testing.TB, storage coordsvc.Storage, address string) *coordServer {
	t.Helper()
	svc, err := coordsvc.New(coordsvc.Options{Store: storage, FailureDelay: -1})
	require.NoError(t, err)
	l, err := net.Listen("tcp", address)
	require.NoError(t, err)
	s := &coordServer{t: t, svc: svc, grpc: grpc.NewServer(grpc.MaxRecvMsgSize(64 << 20)), address: l.Addr().String()}
	wire.RegisterCoordination(s.grpc, svc)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.grpc.Serve(l)
	}()
	t.Cleanup(func() {
		s.stop()
		<-done
	})
	return s
}

func (s *coordServer) stop() {
	require.NoError(s.t, s.svc.Close())
	s.grpc.Stop()
}

func (s *coordServer) client() Ydb_Coordination_V1.CoordinationServiceClient {
	s.t.Helper()
	conn, err := grpc.NewClient(s.address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(s.t, err)
	s.t.Cleanup(func() { _ = conn.Close() })
	return Ydb_Coordination_V1.NewCoordinationServiceClient(conn)
}

// rawSession is a stream spoken by hand. Pings are answered by receive.
type rawSession struct {
	t      testing.TB
	stream Ydb_Coordination_V1.CoordinationService_SessionClient
	mu     sync.Mutex // one sends at a time
}

func openRaw(t testing.TB, client Ydb_Coordination_V1.CoordinationServiceClient) *rawSession {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), rawPatience)
	t.Cleanup(cancel)
	stream, err := client.Session(ctx)
	require.NoError(t, err)
	return &rawSession{t: t, stream: stream}
}

// startRaw opens a session on rawNode and returns its id.
func startRaw(t testing.TB, client Ydb_Coordination_V1.CoordinationServiceClient) (*rawSession, uint64) {
	t.Helper()
	s := openRaw(t, client)
	s.send(sessionStart(&pb.SessionRequest_SessionStart{Path: rawNode, TimeoutMillis: 30_000}))
	started := s.receive().GetSessionStarted()
	require.NotZero(t, started.GetSessionId())
	require.Zero(t, started.GetTimeoutMillis())
	return s, started.GetSessionId()
}

func (s *rawSession) send(reqs ...*pb.SessionRequest) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, req := range reqs {
		require.NoError(s.t, s.stream.Send(req))
	}
}

func (s *rawSession) receive() *pb.SessionResponse {
	s.t.Helper()
	for {
		msg, err := s.stream.Recv()
		require.NoError(s.t, err)
		if msg.GetPing() == nil {
			return msg
		}
		s.mu.Lock()
		err = s.stream.Send(&pb.SessionRequest{Request: &pb.SessionRequest_Pong{Pong: &pb.SessionRequest_PingPong{Opaque: msg.GetPing().GetOpaque()}}})
		s.mu.Unlock()
		if !errors.Is(err, io.EOF) { // the server has ended the stream: what it said last is still to be read
			require.NoError(s.t, err)
		}
	}
}

// fails expects a failure and the end of the stream with gRPC OK.
func (s *rawSession) fails(want Ydb.StatusIds_StatusCode, text string) {
	s.t.Helper()
	f := s.receive().GetFailure()
	require.Equal(s.t, want, f.GetStatus())
	require.Equal(s.t, text, issueText(f.GetIssues()))
	_, err := s.stream.Recv()
	require.ErrorIs(s.t, err, io.EOF)
}

func issueText(issues []*Ydb_Issue.IssueMessage) string {
	var texts []string
	for _, i := range issues {
		texts = append(texts, i.GetMessage())
	}
	return strings.Join(texts, "; ")
}

func sessionStart(r *pb.SessionRequest_SessionStart) *pb.SessionRequest {
	return &pb.SessionRequest{Request: &pb.SessionRequest_SessionStart_{SessionStart: r}}
}

func createSem(name string, limit uint64, data []byte) *pb.SessionRequest {
	return &pb.SessionRequest{Request: &pb.SessionRequest_CreateSemaphore_{CreateSemaphore: &pb.SessionRequest_CreateSemaphore{ReqId: 1, Name: name, Limit: limit, Data: data}}}
}

func updateSem(name string, data []byte) *pb.SessionRequest {
	return &pb.SessionRequest{Request: &pb.SessionRequest_UpdateSemaphore_{UpdateSemaphore: &pb.SessionRequest_UpdateSemaphore{ReqId: 2, Name: name, Data: data}}}
}

func deleteSem(name string, force bool) *pb.SessionRequest {
	return &pb.SessionRequest{Request: &pb.SessionRequest_DeleteSemaphore_{DeleteSemaphore: &pb.SessionRequest_DeleteSemaphore{ReqId: 3, Name: name, Force: force}}}
}

func acquireSem(r *pb.SessionRequest_AcquireSemaphore) *pb.SessionRequest {
	if r.ReqId == 0 {
		r.ReqId = 4
	}
	return &pb.SessionRequest{Request: &pb.SessionRequest_AcquireSemaphore_{AcquireSemaphore: r}}
}

func releaseSem(name string) *pb.SessionRequest {
	return &pb.SessionRequest{Request: &pb.SessionRequest_ReleaseSemaphore_{ReleaseSemaphore: &pb.SessionRequest_ReleaseSemaphore{ReqId: 5, Name: name}}}
}

func describeSem(name string) *pb.SessionRequest {
	return &pb.SessionRequest{Request: &pb.SessionRequest_DescribeSemaphore_{DescribeSemaphore: &pb.SessionRequest_DescribeSemaphore{
		ReqId: 6, Name: name, IncludeOwners: true, IncludeWaiters: true,
	}}}
}

// result is what any per-request answer says.
type result struct {
	req    uint64
	status Ydb.StatusIds_StatusCode
	yes    bool // acquired, released
	text   string
}

func resultOf(t testing.TB, msg *pb.SessionResponse) result {
	t.Helper()
	switch r := msg.GetResponse().(type) {
	case *pb.SessionResponse_CreateSemaphoreResult_:
		return result{r.CreateSemaphoreResult.ReqId, r.CreateSemaphoreResult.Status, false, issueText(r.CreateSemaphoreResult.Issues)}
	case *pb.SessionResponse_UpdateSemaphoreResult_:
		return result{r.UpdateSemaphoreResult.ReqId, r.UpdateSemaphoreResult.Status, false, issueText(r.UpdateSemaphoreResult.Issues)}
	case *pb.SessionResponse_DeleteSemaphoreResult_:
		return result{r.DeleteSemaphoreResult.ReqId, r.DeleteSemaphoreResult.Status, false, issueText(r.DeleteSemaphoreResult.Issues)}
	case *pb.SessionResponse_AcquireSemaphoreResult_:
		return result{r.AcquireSemaphoreResult.ReqId, r.AcquireSemaphoreResult.Status, r.AcquireSemaphoreResult.Acquired, issueText(r.AcquireSemaphoreResult.Issues)}
	case *pb.SessionResponse_ReleaseSemaphoreResult_:
		return result{r.ReleaseSemaphoreResult.ReqId, r.ReleaseSemaphoreResult.Status, r.ReleaseSemaphoreResult.Released, issueText(r.ReleaseSemaphoreResult.Issues)}
	case *pb.SessionResponse_DescribeSemaphoreResult_:
		return result{r.DescribeSemaphoreResult.ReqId, r.DescribeSemaphoreResult.Status, r.DescribeSemaphoreResult.WatchAdded, issueText(r.DescribeSemaphoreResult.Issues)}
	}
	t.Fatalf("not a result: %v", msg)
	return result{}
}

func TestCoordinationNodeStatuses(t *testing.T) {
	t.Parallel()
	disk, err := store.Open(store.Options{TTLInterval: -1})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, disk.Close()) })
	client := startCoord(t, disk, "127.0.0.1:0").client()
	ctx := t.Context()

	create := func(path string, config *pb.Config) (Ydb.StatusIds_StatusCode, string) {
		resp, err := client.CreateNode(ctx, &pb.CreateNodeRequest{Path: path, Config: config})
		require.NoError(t, err)
		require.True(t, resp.GetOperation().GetReady())
		return resp.GetOperation().GetStatus(), issueText(resp.GetOperation().GetIssues())
	}
	describe := func(path string) (Ydb.StatusIds_StatusCode, *pb.DescribeNodeResult) {
		resp, err := client.DescribeNode(ctx, &pb.DescribeNodeRequest{Path: path})
		require.NoError(t, err)
		out := &pb.DescribeNodeResult{}
		if resp.GetOperation().GetStatus() == Ydb.StatusIds_SUCCESS {
			require.NoError(t, resp.GetOperation().GetResult().UnmarshalTo(out))
		}
		return resp.GetOperation().GetStatus(), out
	}

	code, _ := create(rawNode, &pb.Config{SelfCheckPeriodMillis: 1000, SessionGracePeriodMillis: 1000, ReadConsistencyMode: pb.ConsistencyMode_CONSISTENCY_MODE_STRICT})
	require.Equal(t, Ydb.StatusIds_SUCCESS, code)
	code, _ = create(rawNode, &pb.Config{SelfCheckPeriodMillis: 5000})
	require.Equal(t, Ydb.StatusIds_SUCCESS, code, "a repeat changes nothing")
	code, got := describe(rawNode)
	require.Equal(t, Ydb.StatusIds_SUCCESS, code)
	require.Equal(t, "node", got.GetSelf().GetName())
	require.NotEmpty(t, got.GetSelf().GetOwner())
	require.Equal(t, Ydb_Scheme.Entry_COORDINATION_NODE, got.GetSelf().GetType())
	require.EqualValues(t, 1000, got.GetConfig().GetSelfCheckPeriodMillis())
	require.Equal(t, pb.ConsistencyMode_CONSISTENCY_MODE_STRICT, got.GetConfig().GetReadConsistencyMode())
	require.Equal(t, pb.ConsistencyMode_CONSISTENCY_MODE_STRICT, got.GetConfig().GetAttachConsistencyMode())

	alter, err := client.AlterNode(ctx, &pb.AlterNodeRequest{Path: rawNode, Config: &pb.Config{SessionGracePeriodMillis: 7000}})
	require.NoError(t, err)
	require.Equal(t, Ydb.StatusIds_SUCCESS, alter.GetOperation().GetStatus())
	_, got = describe(rawNode)
	require.EqualValues(t, 7000, got.GetConfig().GetSessionGracePeriodMillis())
	require.EqualValues(t, 1000, got.GetConfig().GetSelfCheckPeriodMillis(), "what was not set stays")

	code, text := create("/local/other", &pb.Config{Path: "/local/other"})
	require.Equal(t, Ydb.StatusIds_GENERIC_ERROR, code)
	require.Equal(t, "Setting path is not allowed", text)
	code, text = create("/local/other", &pb.Config{ReadConsistencyMode: 77})
	require.Equal(t, Ydb.StatusIds_BAD_REQUEST, code)
	require.Equal(t, "config.read_consistency_mode: unknown value 77", text)
	for _, path := range []string{"", "relative", "/", "/local/deep", "/local/a\x00b", rawNode + "/below"} {
		code, _ = create(path, nil)
		require.Equal(t, Ydb.StatusIds_SCHEME_ERROR, code, "create %q", path)
	}
	for _, path := range []string{"", "/local/missing", "/local/deep"} {
		code, _ = describe(path)
		require.Equal(t, Ydb.StatusIds_SCHEME_ERROR, code, "describe %q", path)
		alter, err := client.AlterNode(ctx, &pb.AlterNodeRequest{Path: path})
		require.NoError(t, err)
		require.Equal(t, Ydb.StatusIds_SCHEME_ERROR, alter.GetOperation().GetStatus(), "alter %q", path)
		drop, err := client.DropNode(ctx, &pb.DropNodeRequest{Path: path})
		require.NoError(t, err)
		require.Equal(t, Ydb.StatusIds_SCHEME_ERROR, drop.GetOperation().GetStatus(), "drop %q", path)
	}
	drop, err := client.DropNode(ctx, &pb.DropNodeRequest{Path: rawNode})
	require.NoError(t, err)
	require.Equal(t, Ydb.StatusIds_SUCCESS, drop.GetOperation().GetStatus())
	code, _ = describe(rawNode)
	require.Equal(t, Ydb.StatusIds_SCHEME_ERROR, code)
}

func TestCoordinationHandshake(t *testing.T) {
	t.Parallel()
	server := startCoord(t, coordsvc.NewMemory(), "127.0.0.1:0")
	require.NoError(t, server.svc.CreateNode(rawNode, nil))
	client := server.client()

	first := openRaw(t, client)
	first.send(releaseSem("x"))
	_, err := first.stream.Recv()
	require.Equal(t, codes.InvalidArgument, status.Code(err))
	require.Equal(t, "First message must be a SessionStart", status.Convert(err).Message())

	for _, c := range []struct {
		start *pb.SessionRequest_SessionStart
		want  Ydb.StatusIds_StatusCode
		text  string
	}{
		{&pb.SessionRequest_SessionStart{}, Ydb.StatusIds_BAD_REQUEST, "KesusPath cannot be empty"},
		{&pb.SessionRequest_SessionStart{Path: "/local/none"}, Ydb.StatusIds_NOT_FOUND, "Kesus not found"},
		{&pb.SessionRequest_SessionStart{Path: rawNode, TimeoutMillis: 30*60*1000 + 1}, Ydb.StatusIds_BAD_REQUEST, "Session timeout is out of range"},
		{&pb.SessionRequest_SessionStart{Path: rawNode, TimeoutMillis: math.MaxUint64}, Ydb.StatusIds_BAD_REQUEST, "Session timeout is out of range"},
		{&pb.SessionRequest_SessionStart{Path: rawNode, Description: strings.Repeat("d", 1025)}, Ydb.StatusIds_BAD_REQUEST, "Description is too large"},
		{&pb.SessionRequest_SessionStart{Path: rawNode, ProtectionKey: make([]byte, 17)}, Ydb.StatusIds_BAD_REQUEST, "Protection key is too large"},
		{&pb.SessionRequest_SessionStart{Path: rawNode, SessionId: 99}, Ydb.StatusIds_SESSION_EXPIRED, "Session does not exist"},
	} {
		s := openRaw(t, client)
		s.send(sessionStart(c.start))
		s.fails(c.want, c.text)
	}

	key := []byte("0123456789abcdef")
	a := openRaw(t, client)
	a.send(sessionStart(&pb.SessionRequest_SessionStart{Path: rawNode, TimeoutMillis: 30 * 60 * 1000, SeqNo: 3, ProtectionKey: key, Description: strings.Repeat("d", 1024)}))
	id := a.receive().GetSessionStarted().GetSessionId()
	require.NotZero(t, id)
	a.send(&pb.SessionRequest{Request: &pb.SessionRequest_Ping{Ping: &pb.SessionRequest_PingPong{Opaque: 42}}})
	require.EqualValues(t, 42, a.receive().GetPong().GetOpaque())

	old := openRaw(t, client)
	old.send(sessionStart(&pb.SessionRequest_SessionStart{Path: rawNode, SessionId: id, SeqNo: 2, ProtectionKey: key}))
	old.fails(Ydb.StatusIds_BAD_SESSION, "Attach request is out of sequence")
	thief := openRaw(t, client)
	thief.send(sessionStart(&pb.SessionRequest_SessionStart{Path: rawNode, SessionId: id, SeqNo: 3}))
	thief.fails(Ydb.StatusIds_BAD_SESSION, "Attach request protection key mismatch")

	again := openRaw(t, client)
	again.send(sessionStart(&pb.SessionRequest_SessionStart{Path: rawNode + "/", SessionId: id, SeqNo: 3, ProtectionKey: key, TimeoutMillis: 5000}))
	require.Equal(t, id, again.receive().GetSessionStarted().GetSessionId())
	a.fails(Ydb.StatusIds_BAD_SESSION, "Session stolen by another local client")

	again.send(sessionStart(&pb.SessionRequest_SessionStart{Path: rawNode}))
	again.fails(Ydb.StatusIds_BAD_REQUEST, "Session cannot be started twice")
	for text, req := range map[string]*pb.SessionRequest{
		"Empty request":         {},
		"Unimplemented request": {Request: &pb.SessionRequest_Unsupported_13{}},
	} {
		s, _ := startRaw(t, client)
		s.send(req)
		s.fails(Ydb.StatusIds_BAD_REQUEST, text)
	}

	stop, id := startRaw(t, client)
	stop.send(&pb.SessionRequest{Request: &pb.SessionRequest_SessionStop_{SessionStop: &pb.SessionRequest_SessionStop{}}})
	require.Equal(t, id, stop.receive().GetSessionStopped().GetSessionId())
	_, err = stop.stream.Recv()
	require.ErrorIs(t, err, io.EOF)
}
