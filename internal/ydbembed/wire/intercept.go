package wire

import (
	"context"
	"errors"
	"fmt"
	"path"
	"runtime/debug"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Query"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Table"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/taskfleet/taskfleet/internal/ydbembed/fault"
	"github.com/taskfleet/taskfleet/internal/ydbembed/issue"
	"github.com/taskfleet/taskfleet/internal/ydbembed/session"
)

// callOf describes a request for the faults: the method's short name and the
// query text, when it has one.
func callOf(method string, req any) fault.Call {
	call := fault.Call{Kind: path.Base(method)}
	switch r := req.(type) {
	case *Ydb_Query.ExecuteQueryRequest:
		call.Text = r.GetQueryContent().GetText()
	case *Ydb_Table.ExecuteDataQueryRequest:
		call.Text = r.GetQuery().GetYqlText()
	case *Ydb_Table.ExecuteSchemeQueryRequest:
		call.Text = r.GetYqlText()
	}
	return call
}

// unary runs a unary call: faults first, then the handler. It turns errors into
// responses and keeps a panic from ending the server.
func (s *Server) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	resp, err := func() (resp any, err error) {
		defer recoverAs(&err)
		lost := s.cfg.Faults.Before(ctx, callOf(info.FullMethod, req))
		if lost != nil && !errors.Is(lost, fault.ErrLost) {
			return nil, lost
		}
		if resp, err = handler(ctx, req); err == nil {
			err = lost
		}
		return resp, err
	}()
	if err == nil {
		return resp, nil
	}
	refused, err := s.refuse(info.FullMethod, err)
	if err != nil {
		return nil, err
	}
	return refusal(info.FullMethod, refused)
}

// stream does for streams what unary does for unary calls.
func (s *Server) stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	var wrapped grpc.ServerStream = &faultStream{ServerStream: ss, method: info.FullMethod, faults: s.cfg.Faults}
	if info.IsClientStream { // coordination sessions are the only ones
		wrapped = &coordinationStream{ServerStream: ss, faults: s.cfg.Faults}
	}
	err := func() (err error) {
		defer recoverAs(&err)
		return handler(srv, wrapped)
	}()
	if err == nil {
		return nil
	}
	refused, err := s.refuse(info.FullMethod, err)
	if err != nil {
		return err
	}
	if info.IsClientStream { // a coordination session has told its client already
		return status.Error(codes.Internal, refused.Error())
	}
	m, err := refusal(info.FullMethod, refused)
	if err != nil {
		return err
	}
	return wrapped.SendMsg(m)
}

// refuse logs what is the server's own fault and splits the error as failure does.
func (s *Server) refuse(method string, err error) (*issue.Error, error) {
	var crash *session.PanicError
	if errors.As(err, &crash) {
		s.cfg.Logger.Error("panic in a call", "method", method, "panic", fmt.Sprint(crash.Value), "stack", string(crash.Stack))
	}
	return failure(method, err)
}

func recoverAs(err *error) {
	if p := recover(); p != nil {
		*err = &session.PanicError{Value: p, Stack: debug.Stack()}
	}
}

// faultStream applies the faults to the request of a server stream.
type faultStream struct {
	grpc.ServerStream
	method string
	faults *fault.Set
}

// RecvMsg lets a fault take the place of the request.
func (s *faultStream) RecvMsg(m any) error {
	if err := s.ServerStream.RecvMsg(m); err != nil {
		return err
	}
	return s.faults.Before(s.Context(), callOf(s.method, m))
}
