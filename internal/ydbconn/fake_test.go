package ydbconn

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
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/protobuf/types/known/anypb"
)

// fake is a server of one endpoint whose every query answers with status, or
// with the gRPC error when that is set.
type fake struct {
	Ydb_Discovery_V1.UnimplementedDiscoveryServiceServer
	Ydb_Query_V1.UnimplementedQueryServiceServer
	address *net.TCPAddr
	status  Ydb.StatusIds_StatusCode
	issues  []*Ydb_Issue.IssueMessage
	err     error
}

// startFake returns the connection string of a running fake.
func startFake(t *testing.T, f *fake) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	f.address = listener.Addr().(*net.TCPAddr)
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

func (f *fake) ListEndpoints(context.Context, *Ydb_Discovery.ListEndpointsRequest) (*Ydb_Discovery.ListEndpointsResponse, error) {
	result, err := anypb.New(&Ydb_Discovery.ListEndpointsResult{
		Endpoints: []*Ydb_Discovery.EndpointInfo{{
			Address: f.address.IP.String(), Port: uint32(f.address.Port), NodeId: 1,
		}},
	})
	return &Ydb_Discovery.ListEndpointsResponse{
		Operation: &Ydb_Operations.Operation{Ready: true, Status: Ydb.StatusIds_SUCCESS, Result: result},
	}, err
}

func (f *fake) CreateSession(context.Context, *Ydb_Query.CreateSessionRequest) (*Ydb_Query.CreateSessionResponse, error) {
	return &Ydb_Query.CreateSessionResponse{
		Status: Ydb.StatusIds_SUCCESS, SessionId: "session-" + strconv.Itoa(f.address.Port), NodeId: 1,
	}, nil
}

func (f *fake) AttachSession(_ *Ydb_Query.AttachSessionRequest, stream Ydb_Query_V1.QueryService_AttachSessionServer) error {
	if err := stream.Send(&Ydb_Query.SessionState{Status: Ydb.StatusIds_SUCCESS}); err != nil {
		return err
	}
	<-stream.Context().Done()
	return nil
}

func (f *fake) DeleteSession(context.Context, *Ydb_Query.DeleteSessionRequest) (*Ydb_Query.DeleteSessionResponse, error) {
	return &Ydb_Query.DeleteSessionResponse{Status: Ydb.StatusIds_SUCCESS}, nil
}

func (f *fake) ExecuteQuery(_ *Ydb_Query.ExecuteQueryRequest, stream Ydb_Query_V1.QueryService_ExecuteQueryServer) error {
	if f.err != nil {
		return f.err
	}
	return stream.Send(&Ydb_Query.ExecuteQueryResponsePart{Status: f.status, Issues: f.issues})
}
