// Package ydbfake makes the errors that the SDK makes of a server's answers, for
// tests of what becomes of them.
package ydbfake

import (
	"context"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/ydb-platform/ydb-go-genproto/Ydb_Discovery_V1"
	"github.com/ydb-platform/ydb-go-genproto/Ydb_Query_V1"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Discovery"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Issue"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Operations"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Query"
	ydb "github.com/ydb-platform/ydb-go-sdk/v3"
	"github.com/ydb-platform/ydb-go-sdk/v3/query"
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/protobuf/types/known/anypb"
)

// Answer is what a server answers to every query: a status, or an error of gRPC
// when that is set.
type Answer struct {
	Status Ydb.StatusIds_StatusCode
	Issues []*Ydb_Issue.IssueMessage
	Err    error
}

// Error returns what the SDK makes of an answer, nil of a success.
func Error(t testing.TB, answer Answer) error {
	t.Helper()
	db, err := ydb.Open(t.Context(), start(t, answer))
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close(context.Background())) }()
	var got error
	require.NoError(t, db.Query().Do(t.Context(), func(ctx context.Context, s query.Session) error {
		got = s.Exec(ctx, "SELECT 1")
		return nil
	}))
	return got
}

// OfEachClass returns an error of each class, by the class's name in ydbconn.
func OfEachClass(t testing.TB) map[string]error {
	t.Helper()
	status := func(code Ydb.StatusIds_StatusCode) error { return Error(t, Answer{Status: code}) }
	return map[string]error{
		"retry":        status(Ydb.StatusIds_UNAVAILABLE),
		"conflict":     status(Ydb.StatusIds_ABORTED),
		"unknown":      status(Ydb.StatusIds_UNDETERMINED),
		"precondition": status(Ydb.StatusIds_PRECONDITION_FAILED),
		"bad_rows":     status(Ydb.StatusIds_BAD_REQUEST),
		"fatal":        status(Ydb.StatusIds_SCHEME_ERROR),
	}
}

// server is a database of one endpoint.
type server struct {
	Ydb_Discovery_V1.UnimplementedDiscoveryServiceServer
	Ydb_Query_V1.UnimplementedQueryServiceServer
	address *net.TCPAddr
	answer  Answer
}

// start returns the connection string of a running server.
func start(t testing.TB, answer Answer) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	f := &server{address: listener.Addr().(*net.TCPAddr), answer: answer}
	server := grpc.NewServer(grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{
		MinTime: time.Second, PermitWithoutStream: true,
	}))
	Ydb_Discovery_V1.RegisterDiscoveryServiceServer(server, f)
	Ydb_Query_V1.RegisterQueryServiceServer(server, f)
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		require.NoError(t, <-done)
	})
	return "grpc://" + listener.Addr().String() + "/local"
}

func (f *server) ListEndpoints(context.Context, *Ydb_Discovery.ListEndpointsRequest) (*Ydb_Discovery.ListEndpointsResponse, error) {
	result, err := anypb.New(&Ydb_Discovery.ListEndpointsResult{
		Endpoints: []*Ydb_Discovery.EndpointInfo{{
			Address: f.address.IP.String(), Port: uint32(f.address.Port), NodeId: 1,
		}},
	})
	return &Ydb_Discovery.ListEndpointsResponse{
		Operation: &Ydb_Operations.Operation{Ready: true, Status: Ydb.StatusIds_SUCCESS, Result: result},
	}, err
}

func (f *server) CreateSession(context.Context, *Ydb_Query.CreateSessionRequest) (*Ydb_Query.CreateSessionResponse, error) {
	return &Ydb_Query.CreateSessionResponse{
		Status: Ydb.StatusIds_SUCCESS, SessionId: "session-" + strconv.Itoa(f.address.Port), NodeId: 1,
	}, nil
}

func (f *server) AttachSession(_ *Ydb_Query.AttachSessionRequest, stream Ydb_Query_V1.QueryService_AttachSessionServer) error {
	if err := stream.Send(&Ydb_Query.SessionState{Status: Ydb.StatusIds_SUCCESS}); err != nil {
		return err
	}
	<-stream.Context().Done()
	return nil
}

func (f *server) DeleteSession(context.Context, *Ydb_Query.DeleteSessionRequest) (*Ydb_Query.DeleteSessionResponse, error) {
	return &Ydb_Query.DeleteSessionResponse{Status: Ydb.StatusIds_SUCCESS}, nil
}

func (f *server) ExecuteQuery(_ *Ydb_Query.ExecuteQueryRequest, stream Ydb_Query_V1.QueryService_ExecuteQueryServer) error {
	if f.answer.Err != nil {
		return f.answer.Err
	}
	return stream.Send(&Ydb_Query.ExecuteQueryResponsePart{Status: f.answer.Status, Issues: f.answer.Issues})
}
