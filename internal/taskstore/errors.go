package taskstore

import (
	"strings"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-sdk/v3"
	"google.golang.org/grpc/codes"

	"github.com/taskfleet/taskfleet/internal/ydbconn"
)

// Codes of issues that decide what a status means.
const (
	issueTypeAnnotation  Ydb.StatusIds_StatusCode = 1030   // the text does not fit the schema
	issueTableMetadata   Ydb.StatusIds_StatusCode = 1050   // so does a table
	issueProgramTooLarge Ydb.StatusIds_StatusCode = 200509 // comes as ABORTED
)

// refused reports whether the same statement would meet err again because of the
// rows that it carries or reads: their number, their size or what is in them. A
// schema, a right or a feature that is missing says nothing about rows.
func refused(err error) bool {
	switch {
	case ydbconn.Classify(err) == ydbconn.Precondition, ydb.IsOperationError(err, Ydb.StatusIds_BAD_REQUEST):
		return true
	case ydb.IsOperationError(err, Ydb.StatusIds_GENERIC_ERROR):
		return !hasIssue(err, issueTypeAnnotation, issueTableMetadata)
	case ydb.IsOperationError(err, Ydb.StatusIds_ABORTED):
		return hasIssue(err, issueProgramTooLarge)
	case ydb.IsTransportError(err, codes.ResourceExhausted):
		return strings.Contains(err.Error(), "message larger than max")
	}
	return false
}

func hasIssue(err error, any ...Ydb.StatusIds_StatusCode) (found bool) {
	ydb.IterateByIssues(err, func(_ string, code Ydb.StatusIds_StatusCode, _ uint32) {
		for _, wanted := range any {
			found = found || code == wanted
		}
	})
	return found
}
