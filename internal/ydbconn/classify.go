package ydbconn

import (
	"context"
	"errors"
	"regexp"
	"strings"

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
	// BadRows: the size of the statement, of its result or of a row is over a
	// limit, or a value is none. Repeating does not help; with fewer rows the
	// others go through.
	BadRows
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
	case BadRows:
		return "bad_rows"
	}
	return "fatal"
}

// Refused reports whether the same statement would meet err again because of the
// rows that it carries or reads: their number, their size, or what is in them. A
// schema, a right or a feature that is missing says nothing about rows.
func Refused(err error) bool {
	class := Classify(err)
	return class == BadRows || class == Precondition
}

// Classify returns what err means. An error that did not come from YDB is Fatal,
// except an ended context, after which the outcome is unknown.
func Classify(err error) Class {
	switch {
	case err == nil:
		return None
	case badRows(err):
		return BadRows
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

// Codes of issues that decide what a status means.
const (
	issueTypeAnnotation  Ydb.StatusIds_StatusCode = 1030 // the text does not fit the schema
	issueTableMetadata   Ydb.StatusIds_StatusCode = 1050 // so does a table
	issueBadColumnType   Ydb.StatusIds_StatusCode = 2031
	issueNoColumnDefault Ydb.StatusIds_StatusCode = 2032
	issueProgramTooLarge Ydb.StatusIds_StatusCode = 200509
)

var (
	// sizeTexts are how YDB and gRPC say that something is too large.
	sizeTexts = regexp.MustCompile(`(?i)size limit exceeded|exceeded size limit|exceeds limit|larger than (max|the allowed)|too large`)
	// encodingText is what gRPC says of a text that is not UTF-8.
	encodingText = "error while marshaling"
	// callTexts are how YDB says that parameters do not fit the text.
	callTexts = regexp.MustCompile(`(?i)missing value for parameter|type mismatch`)
)

// badRows recognizes what YDB answers to rows: a BAD_REQUEST that is not about
// the text or the types of its parameters, and a size over a limit in any status.
func badRows(err error) bool {
	switch {
	case ydb.IsTransportError(err, codes.ResourceExhausted):
		return sizeTexts.MatchString(ydb.TransportError(err).Error())
	case ydb.IsTransportError(err, codes.Internal):
		return strings.Contains(ydb.TransportError(err).Error(), encodingText)
	}
	if !ydb.IsOperationError(err, Ydb.StatusIds_BAD_REQUEST, Ydb.StatusIds_PRECONDITION_FAILED,
		Ydb.StatusIds_GENERIC_ERROR, Ydb.StatusIds_ABORTED) {
		return false
	}
	size, call := false, false
	ydb.IterateByIssues(err, func(message string, code Ydb.StatusIds_StatusCode, _ uint32) {
		size = size || code == issueProgramTooLarge || sizeTexts.MatchString(message)
		switch code {
		case issueTypeAnnotation, issueTableMetadata, issueBadColumnType, issueNoColumnDefault:
			call = true
		}
		call = call || callTexts.MatchString(message)
	})
	return size || !call && ydb.IsOperationError(err, Ydb.StatusIds_BAD_REQUEST)
}
