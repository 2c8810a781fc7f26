package wire

import (
	"context"
	"errors"
	"path"

	"github.com/ydb-platform/ydb-go-genproto/Ydb_Coordination_V1"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Coordination"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Issue"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Operations"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Scheme"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/taskfleet/taskfleet/internal/ydbembed/coordsvc"
	"github.com/taskfleet/taskfleet/internal/ydbembed/store"
)

const (
	nodeOwner            = "root@builtin"
	firstMessageNotStart = "First message must be a SessionStart"
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
	err := c.svc.CreateNode(r.GetPath(), r.GetConfig())
	return &Ydb_Coordination.CreateNodeResponse{Operation: nodeOperation(nil, err)}, nil
}

func (c *coordination) AlterNode(_ context.Context, r *Ydb_Coordination.AlterNodeRequest) (*Ydb_Coordination.AlterNodeResponse, error) {
	err := c.svc.AlterNode(r.GetPath(), r.GetConfig())
	return &Ydb_Coordination.AlterNodeResponse{Operation: nodeOperation(nil, err)}, nil
}

func (c *coordination) DropNode(_ context.Context, r *Ydb_Coordination.DropNodeRequest) (*Ydb_Coordination.DropNodeResponse, error) {
	err := c.svc.DropNode(r.GetPath())
	return &Ydb_Coordination.DropNodeResponse{Operation: nodeOperation(nil, err)}, nil
}

func (c *coordination) DescribeNode(_ context.Context, r *Ydb_Coordination.DescribeNodeRequest) (*Ydb_Coordination.DescribeNodeResponse, error) {
	config, err := c.svc.DescribeNode(r.GetPath())
	result := &Ydb_Coordination.DescribeNodeResult{
		Self: &Ydb_Scheme.Entry{
			Name:  path.Base(r.GetPath()),
			Owner: nodeOwner,
			Type:  Ydb_Scheme.Entry_COORDINATION_NODE,
		},
		Config: config,
	}
	return &Ydb_Coordination.DescribeNodeResponse{Operation: nodeOperation(result, err)}, nil
}

func (c *coordination) Session(stream Ydb_Coordination_V1.CoordinationService_SessionServer) error {
	err := c.svc.Serve(stream)
	switch {
	case errors.Is(err, coordsvc.ErrNotStarted):
		return status.Error(codes.InvalidArgument, firstMessageNotStart)
	case errors.Is(err, coordsvc.ErrTooFarBehind):
		return status.Error(codes.ResourceExhausted, err.Error())
	}
	return err
}

// nodeOperation is a finished operation with a result, or with an error's status.
func nodeOperation(result proto.Message, err error) *Ydb_Operations.Operation {
	op := &Ydb_Operations.Operation{Ready: true, Status: Ydb.StatusIds_SUCCESS}
	if err == nil && result != nil {
		op.Result, err = anypb.New(result)
	}
	if err != nil {
		code, text := nodeStatus(err)
		op.Status = code
		op.Issues = []*Ydb_Issue.IssueMessage{{Message: text, Severity: 1}}
	}
	return op
}

// nodeStatus returns the status and the text that a client gets for an error.
func nodeStatus(err error) (Ydb.StatusIds_StatusCode, string) {
	var refused *coordsvc.Error
	if errors.As(err, &refused) {
		return refused.Status, refused.Message
	}
	for _, scheme := range []error{
		store.ErrPathExists, store.ErrNotFound, store.ErrNotEmpty,
		store.ErrNotDirectory, store.ErrNotNode, store.ErrBadScheme,
	} {
		if errors.Is(err, scheme) {
			return Ydb.StatusIds_SCHEME_ERROR, err.Error()
		}
	}
	return Ydb.StatusIds_INTERNAL_ERROR, err.Error()
}
