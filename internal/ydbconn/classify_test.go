package ydbconn

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Issue"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/taskfleet/taskfleet/internal/ydbfake"
)

func TestClassifyStatus(t *testing.T) {
	t.Parallel()
	want := map[Ydb.StatusIds_StatusCode]Class{
		Ydb.StatusIds_SUCCESS:             None,
		Ydb.StatusIds_ABORTED:             Conflict,
		Ydb.StatusIds_UNAVAILABLE:         Retry,
		Ydb.StatusIds_OVERLOADED:          Retry,
		Ydb.StatusIds_BAD_SESSION:         Retry,
		Ydb.StatusIds_SESSION_BUSY:        Retry,
		Ydb.StatusIds_UNDETERMINED:        Unknown,
		Ydb.StatusIds_TIMEOUT:             Unknown,
		Ydb.StatusIds_SESSION_EXPIRED:     Unknown,
		Ydb.StatusIds_CANCELLED:           Unknown,
		Ydb.StatusIds_PRECONDITION_FAILED: Precondition,
		Ydb.StatusIds_ALREADY_EXISTS:      Precondition,
		Ydb.StatusIds_BAD_REQUEST:         BadRows,
		Ydb.StatusIds_UNAUTHORIZED:        Fatal,
		Ydb.StatusIds_INTERNAL_ERROR:      Fatal,
		Ydb.StatusIds_SCHEME_ERROR:        Fatal,
		Ydb.StatusIds_GENERIC_ERROR:       Fatal,
		Ydb.StatusIds_NOT_FOUND:           Fatal,
		Ydb.StatusIds_UNSUPPORTED:         Fatal,
	}
	for code, class := range want {
		t.Run(code.String(), func(t *testing.T) {
			t.Parallel()
			err := ydbfake.Error(t, ydbfake.Answer{Status: code})
			require.Equal(t, class, Classify(err), "%v", err)
			require.Equal(t, class, Classify(wrap(err)))
		})
	}
}

func TestClassifyTransport(t *testing.T) {
	t.Parallel()
	want := map[codes.Code]Class{
		codes.ResourceExhausted: Retry,
		codes.Aborted:           Retry,
		codes.Unavailable:       Unknown,
		codes.Internal:          Unknown,
		codes.Canceled:          Unknown,
		codes.DeadlineExceeded:  Unknown,
		codes.Unimplemented:     Fatal,
		codes.InvalidArgument:   Fatal,
		codes.PermissionDenied:  Fatal,
	}
	for code, class := range want {
		t.Run(code.String(), func(t *testing.T) {
			t.Parallel()
			err := ydbfake.Error(t, ydbfake.Answer{Err: status.Error(code, "by the test")})
			require.Equal(t, class, Classify(err), "%v", err)
		})
	}
}

// TestClassifyByTheIssue holds the classes whose status alone says too little. The
// texts are those of YDB's KQP and data shards, and of gRPC in Go and in C++.
func TestClassifyByTheIssue(t *testing.T) {
	t.Parallel()
	issue := func(code uint32, text string) *Ydb_Issue.IssueMessage {
		return &Ydb_Issue.IssueMessage{IssueCode: code, Message: text, Severity: 1}
	}
	transport := func(code codes.Code, text string) ydbfake.Answer {
		return ydbfake.Answer{Err: status.Error(code, text)}
	}
	answer := func(code Ydb.StatusIds_StatusCode, issues ...*Ydb_Issue.IssueMessage) ydbfake.Answer {
		return ydbfake.Answer{Status: code, Issues: issues}
	}
	for _, c := range []struct {
		name    string
		answer  ydbfake.Answer
		want    Class
		refused bool
	}{
		{"throttled", transport(codes.ResourceExhausted, "too many requests"), Retry, false},
		{"sent too much", transport(codes.ResourceExhausted, "trying to send message larger than max (64000001 vs. 64000000)"), BadRows, true},
		{"received too much", transport(codes.ResourceExhausted, "grpc: received message larger than max (64000001 vs. 64000000)"), BadRows, true},
		{"received too much, in C++", transport(codes.ResourceExhausted, "SERVER: Received message larger than max (64000001 vs. 64000000)"), BadRows, true},
		{"text is not UTF-8", transport(codes.Internal, "grpc: error while marshaling: string field contains invalid UTF-8"), BadRows, true},
		{"connection broke", transport(codes.Internal, "stream terminated by RST_STREAM"), Unknown, false},
		{"result too large", answer(Ydb.StatusIds_PRECONDITION_FAILED,
			issue(1060, "Query result size limit exceeded. (50331700 > 50331648)")), BadRows, true},
		{"materialization too large", answer(Ydb.StatusIds_GENERIC_ERROR,
			issue(0, "Intermediate data materialization exceeded size limit (50331700 > 50331648).")), BadRows, true},
		{"program too large", answer(Ydb.StatusIds_ABORTED, issue(200509, "Program is too big")), BadRows, true},
		{"key too large", answer(Ydb.StatusIds_BAD_REQUEST, &Ydb_Issue.IssueMessage{IssueCode: 1060, Message: "Execution", Issues: []*Ydb_Issue.IssueMessage{
			issue(2017, "Row key size of 1049601 bytes is larger than the allowed threshold 1049600")}}), BadRows, true},
		{"value is none", answer(Ydb.StatusIds_BAD_REQUEST, issue(0, "Bad value of parameter $due: invalid UTF-8")), BadRows, true},
		{"key exists", answer(Ydb.StatusIds_PRECONDITION_FAILED, issue(2012, "Conflict with existing key.")), Precondition, true},
		{"locks", answer(Ydb.StatusIds_ABORTED, issue(2001, "Transaction locks invalidated.")), Conflict, false},
		{"parameter is missing", answer(Ydb.StatusIds_BAD_REQUEST, issue(0, "Missing value for parameter: $x")), Fatal, false},
		{"parameter of another type", answer(Ydb.StatusIds_BAD_REQUEST, issue(0, "Parameter $x type mismatch, expected: Utf8, actual: String")), Fatal, false},
		{"column is missing", answer(Ydb.StatusIds_BAD_REQUEST, issue(2032, "Missing not null column in input: c.")), Fatal, false},
		{"text does not fit", answer(Ydb.StatusIds_GENERIC_ERROR, issue(1030, "Type annotation")), Fatal, false},
		{"something else", answer(Ydb.StatusIds_GENERIC_ERROR, issue(0, "Request exceeded a limit on the number of schema operations, try again later")), Fatal, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			err := ydbfake.Error(t, c.answer)
			require.Equal(t, c.want.String(), Classify(wrap(err)).String(), "%v", err)
			require.Equal(t, c.refused, Refused(wrap(err)))
		})
	}
}

// TestEveryClassHasAnError: tests of loops drive them with these.
func TestEveryClassHasAnError(t *testing.T) {
	t.Parallel()
	errs := ydbfake.OfEachClass(t)
	for class := Retry; class <= Fatal; class++ {
		require.Equal(t, class.String(), Classify(errs[class.String()]).String())
	}
}

func TestClassifyOther(t *testing.T) {
	t.Parallel()
	require.Equal(t, None, Classify(nil))
	require.Equal(t, Fatal, Classify(errors.New("something else")))
	require.Equal(t, Unknown, Classify(wrap(context.Canceled)))
	require.Equal(t, Unknown, Classify(wrap(context.DeadlineExceeded)))
	for class, label := range map[Class]string{
		None: "none", Retry: "retry", Conflict: "conflict", Unknown: "unknown", Precondition: "precondition", BadRows: "bad_rows", Fatal: "fatal",
	} {
		require.Equal(t, label, class.String())
	}
}

func wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("taskstore: writing: %w", err)
}
