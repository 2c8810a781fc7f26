package ydbconn

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
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
		Ydb.StatusIds_BAD_REQUEST:         Fatal,
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

func TestClassifyOther(t *testing.T) {
	t.Parallel()
	require.Equal(t, None, Classify(nil))
	require.Equal(t, Fatal, Classify(errors.New("something else")))
	require.Equal(t, Unknown, Classify(wrap(context.Canceled)))
	require.Equal(t, Unknown, Classify(wrap(context.DeadlineExceeded)))
	for class, label := range map[Class]string{
		None: "none", Retry: "retry", Conflict: "conflict", Unknown: "unknown", Precondition: "precondition", Fatal: "fatal",
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
