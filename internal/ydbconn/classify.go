package ydbconn

import (
	"context"
	"errors"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	ydb "github.com/ydb-platform/ydb-go-sdk/v3"
	"google.golang.org/grpc/codes"
)

const (
	codeUnauthorized     = Ydb.StatusIds_UNAUTHORIZED
	grpcUnauthenticated  = codes.Unauthenticated
	grpcPermissionDenied = codes.PermissionDenied
)

// Class is what an error of YDB means for the caller of a write.
type Class uint8

// The classes of errors.
const (
	// None: there is no error.
	None Class = iota
	// Retry: nothing was done, and the same call may go through later.
	Retry
	// Conflict: another transaction came first; nothing was done. Read again, then retry.
	Conflict
	// Unknown: the call may have been done or not. Repeat it only if it is idempotent.
	Unknown
	// Precondition: nothing was done, and the data says no. Repeating does not help.
	Precondition
	// Fatal: the call, the schema, the rights or the server is wrong. Nothing was done.
	Fatal
)

// String returns the class's label in logs and metrics.
func (c Class) String() string {
	switch c {
	case None:
		return "none"
	case Retry:
		return "retry"
	case Conflict:
		return "conflict"
	case Unknown:
		return "unknown"
	case Precondition:
		return "precondition"
	}
	return "fatal"
}

// Classify tells what err means. An error that did not come from YDB is Fatal,
// except an ended context, after which the outcome is unknown.
func Classify(err error) Class {
	switch {
	case err == nil:
		return None
	case ydb.IsOperationError(err, Ydb.StatusIds_ABORTED):
		return Conflict
	case ydb.IsOperationError(err, Ydb.StatusIds_UNAVAILABLE, Ydb.StatusIds_OVERLOADED,
		Ydb.StatusIds_BAD_SESSION, Ydb.StatusIds_SESSION_BUSY):
		return Retry
	case ydb.IsOperationError(err, Ydb.StatusIds_UNDETERMINED, Ydb.StatusIds_TIMEOUT,
		Ydb.StatusIds_SESSION_EXPIRED, Ydb.StatusIds_CANCELLED):
		return Unknown
	case ydb.IsOperationError(err, Ydb.StatusIds_PRECONDITION_FAILED, Ydb.StatusIds_ALREADY_EXISTS):
		return Precondition
	case ydb.IsOperationError(err):
		return Fatal
	case ydb.IsTransportError(err, codes.ResourceExhausted, codes.Aborted):
		return Retry
	case ydb.IsTransportError(err, codes.Unavailable, codes.Internal, codes.Canceled, codes.DeadlineExceeded, codes.Unknown):
		return Unknown
	case ydb.IsTransportError(err):
		return Fatal
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return Unknown
	}
	return Fatal
}
