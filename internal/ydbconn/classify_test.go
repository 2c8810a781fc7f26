package ydbconn

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Issue"
	"github.com/ydb-platform/ydb-go-sdk/v3/query"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// queryError is what the SDK makes of the fake's answer.
func queryError(t *testing.T, f *fake) error {
	t.Helper()
	endpoint, err := parseURL("test", startFake(t, f))
	require.NoError(t, err)
	db, err := Open(t.Context(), endpoint)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close(context.Background())) }()
	var got error
	require.NoError(t, db.Query().Do(t.Context(), func(ctx context.Context, s query.Session) error {
		got = s.Exec(ctx, "SELECT 1")
		return nil
	}))
	return got
}

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
			err := queryError(t, &fake{status: code})
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
			err := queryError(t, &fake{err: status.Error(code, "by the test")})
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
	transport := func(text string) *fake { return &fake{err: status.Error(codes.ResourceExhausted, text)} }
	answer := func(code Ydb.StatusIds_StatusCode, issues ...*Ydb_Issue.IssueMessage) *fake {
		return &fake{status: code, issues: issues}
	}
	for _, c := range []struct {
		name    string
		fake    *fake
		want    Class
		refused bool
	}{
		{"throttled", transport("too many requests"), Retry, false},
		{"sent too much", transport("trying to send message larger than max (64000001 vs. 64000000)"), BadRows, true},
		{"received too much", transport("grpc: received message larger than max (64000001 vs. 64000000)"), BadRows, true},
		{"received too much, in C++", transport("SERVER: Received message larger than max (64000001 vs. 64000000)"), BadRows, true},
		{"text is not UTF-8", &fake{err: status.Error(codes.Internal, "grpc: error while marshaling: string field contains invalid UTF-8")}, BadRows, true},
		{"connection broke", &fake{err: status.Error(codes.Internal, "stream terminated by RST_STREAM")}, Unknown, false},
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
			err := queryError(t, c.fake)
			require.Equal(t, c.want.String(), Classify(wrap(err)).String(), "%v", err)
			require.Equal(t, c.refused, Refused(wrap(err)))
		})
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
