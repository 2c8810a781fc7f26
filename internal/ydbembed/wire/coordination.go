package wire

import (
	"context"
	"errors"
	"path"

	"github.com/ydb-platform/ydb-go-genproto/Ydb_Coordination_V1"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Coordination"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Operations"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Scheme"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/taskfleet/taskfleet/internal/ydbembed/coordsvc"
	"github.com/taskfleet/taskfleet/internal/ydbembed/issue"
	"github.com/taskfleet/taskfleet/internal/ydbembed/session"
	"github.com/taskfleet/taskfleet/internal/ydbembed/store"
)

// coordination is the gRPC face of the coordination service.
type coordination struct {
	Ydb_Coordination_V1.UnimplementedCoordinationServiceServer
	svc *coordsvc.Service
}

// RegisterCoordination offers svc on a gRPC server.
func RegisterCoordination(s *grpc.Server, svc *coordsvc.Service) {
	Ydb_Coordination_V1.RegisterCoordinationServiceServer(s, &coordination{svc: svc})
}

func (c *coordination) CreateNode(_ context.Context, r *Ydb_Coordination.CreateNodeRequest) (*Ydb_Coordination.CreateNodeResponse, error) {
	op := nodeOperation(nil, c.svc.CreateNode(r.GetPath(), r.GetConfig()))
	return &Ydb_Coordination.CreateNodeResponse{Operation: op}, nil
}

func (c *coordination) AlterNode(_ context.Context, r *Ydb_Coordination.AlterNodeRequest) (*Ydb_Coordination.AlterNodeResponse, error) {
	op := nodeOperation(nil, c.svc.AlterNode(r.GetPath(), r.GetConfig()))
	return &Ydb_Coordination.AlterNodeResponse{Operation: op}, nil
}

func (c *coordination) DropNode(_ context.Context, r *Ydb_Coordination.DropNodeRequest) (*Ydb_Coordination.DropNodeResponse, error) {
	op := nodeOperation(nil, c.svc.DropNode(r.GetPath()))
	return &Ydb_Coordination.DropNodeResponse{Operation: op}, nil
}

func (c *coordination) DescribeNode(_ context.Context, r *Ydb_Coordination.DescribeNodeRequest) (*Ydb_Coordination.DescribeNodeResponse, error) {
	config, err := c.svc.DescribeNode(r.GetPath())
	op := nodeOperation(&Ydb_Coordination.DescribeNodeResult{
		Self: &Ydb_Scheme.Entry{
			Name:  path.Base(r.GetPath()),
			Owner: owner,
			Type:  Ydb_Scheme.Entry_COORDINATION_NODE,
		},
		Config: config,
	}, err)
	return &Ydb_Coordination.DescribeNodeResponse{Operation: op}, nil
}

// Session carries one session stream. Trouble that the protocol has a message
// for is told in it; a gRPC error remains for what YDB answers with one, and for
// a client that does not read.
func (c *coordination) Session(stream Ydb_Coordination_V1.CoordinationService_SessionServer) error {
	err := c.svc.Serve(stream)
	switch {
	case errors.Is(err, coordsvc.ErrNotStarted):
		return status.Error(codes.InvalidArgument, "First message must be a SessionStart")
	case errors.Is(err, coordsvc.ErrTooFarBehind):
		return status.Error(codes.ResourceExhausted, err.Error())
	}
	return err
}

// nodeOperation is a finished operation with a result, or with the status of
// an error.
func nodeOperation(result proto.Message, err error) *Ydb_Operations.Operation {
	var op *Ydb_Operations.Operation
	if err == nil {
		op, err = operation(result)
	}
	if err != nil {
		refused := nodeError(err)
		op = &Ydb_Operations.Operation{Ready: true, Status: refused.Status, Issues: refused.Proto()}
	}
	return op
}

func nodeError(err error) *issue.Error {
	var refused *coordsvc.Error
	if errors.As(err, &refused) {
		return issue.New(refused.Status, 0, "%s", refused.Message)
	}
	for _, scheme := range []error{
		store.ErrPathExists, store.ErrNotFound, store.ErrNotEmpty,
		store.ErrNotDirectory, store.ErrNotNode, store.ErrBadScheme,
	} {
		if errors.Is(err, scheme) {
			return issue.New(Ydb.StatusIds_SCHEME_ERROR, 0, "%s", err)
		}
	}
	return session.From(err)
}
