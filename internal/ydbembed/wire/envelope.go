package wire

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Issue"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Operations"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/taskfleet/taskfleet/internal/ydbembed/issue"
	"github.com/taskfleet/taskfleet/internal/ydbembed/session"
)

// operation is the envelope of a unary call that went well. result may be nil.
func operation(result proto.Message) (*Ydb_Operations.Operation, error) {
	op := &Ydb_Operations.Operation{Ready: true, Status: Ydb.StatusIds_SUCCESS}
	if result != nil {
		packed, err := anypb.New(result)
		if err != nil {
			return nil, fmt.Errorf("wire: packing a result: %w", err)
		}
		op.Result = packed
	}
	return op, nil
}

// failure splits an error of a handler in two: what the client gets as a YDB
// status, or as a gRPC error. Exactly one of the results is set.
func failure(method string, err error) (*issue.Error, error) {
	var ours *issue.Error
	if errors.As(err, &ours) {
		return ours, nil
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return nil, status.FromContextError(err).Err()
	}
	if s, ok := status.FromError(err); ok {
		if s.Code() != codes.Unimplemented {
			return nil, err
		}
		return issue.Unsupported("ydbembed does not implement %s", strings.TrimPrefix(method, "/")), nil
	}
	return session.From(err), nil
}

// refusal makes the response message of a method that carries e. Every response
// of YDB has a status and issues, at the top or in its operation.
func refusal(method string, e *issue.Error) (proto.Message, error) {
	name := protoreflect.FullName(strings.ReplaceAll(strings.TrimPrefix(method, "/"), "/", "."))
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(name)
	if err != nil {
		return nil, fmt.Errorf("wire: looking up method %s: %w", method, err)
	}
	response, err := protoregistry.GlobalTypes.FindMessageByName(found.(protoreflect.MethodDescriptor).Output().FullName())
	if err != nil {
		return nil, fmt.Errorf("wire: looking up the response of %s: %w", method, err)
	}
	m := response.New()
	setOutcome(m, e.Status, e.Proto())
	return m.Interface(), nil
}

func setOutcome(m protoreflect.Message, code Ydb.StatusIds_StatusCode, issues []*Ydb_Issue.IssueMessage) {
	fields := m.Descriptor().Fields()
	if f := fields.ByName("operation"); f != nil {
		op := &Ydb_Operations.Operation{Ready: true, Status: code, Issues: issues}
		m.Set(f, protoreflect.ValueOfMessage(op.ProtoReflect()))
		return
	}
	if f := fields.ByName("ready"); f != nil {
		m.Set(f, protoreflect.ValueOfBool(true))
	}
	m.Set(fields.ByName("status"), protoreflect.ValueOfEnum(code.Number()))
	list := m.Mutable(fields.ByName("issues")).List()
	for _, i := range issues {
		list.Append(protoreflect.ValueOfMessage(i.ProtoReflect()))
	}
}
