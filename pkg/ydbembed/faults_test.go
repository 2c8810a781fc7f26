package ydbembed_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-sdk/v3"
	"github.com/ydb-platform/ydb-go-sdk/v3/coordination"
	"github.com/ydb-platform/ydb-go-sdk/v3/coordination/options"
	"github.com/ydb-platform/ydb-go-sdk/v3/query"
	"google.golang.org/grpc/codes"

	"github.com/taskfleet/taskfleet/pkg/ydbembed"
)

func TestFailedCallIsRetriedByTheClient(t *testing.T) {
	t.Parallel()
	server, db := setup(t)
	kv(t, db, 0)
	all := server.Faults().Count("ExecuteQuery")
	server.Faults().Fail("ExecuteQuery", Ydb.StatusIds_ABORTED)
	server.Faults().Fail("ExecuteQuery", Ydb.StatusIds_OVERLOADED, ydbembed.Containing("UPSERT"))
	exec(t, db, "UPSERT INTO kv (k) VALUES (1)")
	require.Equal(t, 3, all.Hits())
	require.EqualValues(t, 1, number(t, db, "SELECT COUNT(*) FROM kv"))
}

func TestFailureReachesTheClient(t *testing.T) {
	t.Parallel()
	server, db := setup(t)
	fault := server.Faults().Fail("ExecuteQuery", Ydb.StatusIds_PRECONDITION_FAILED, ydbembed.Keep())
	for range 2 {
		err := db.Query().Exec(t.Context(), "SELECT 1")
		require.True(t, ydb.IsOperationError(err, Ydb.StatusIds_PRECONDITION_FAILED), "%v", err)
		require.ErrorContains(t, err, "Injected fault")
	}
	fault.Stop()
	exec(t, db, "SELECT 1")

	server.Faults().FailTransport("ExecuteQuery", codes.ResourceExhausted)
	exec(t, db, "SELECT 1")
	server.Faults().FailTransport("ExecuteQuery", codes.Unavailable)
	err := db.Query().Exec(t.Context(), "SELECT 1")
	require.True(t, ydb.IsTransportError(err, codes.Unavailable), "not idempotent, so not retried: %v", err)
	server.Faults().FailTransport("ExecuteQuery", codes.Unavailable)
	require.NoError(t, db.Query().Do(t.Context(), func(ctx context.Context, s query.Session) error {
		return s.Exec(ctx, "SELECT 1")
	}, query.WithIdempotent()))
}

func TestHeldAndLateCalls(t *testing.T) {
	t.Parallel()
	server, db := setup(t)
	kv(t, db, 0)
	held := server.Faults().Hold("ExecuteQuery", ydbembed.Containing("VALUES (1)"))
	done := make(chan error, 1)
	go func() { done <- db.Query().Exec(context.Background(), "UPSERT INTO kv (k) VALUES (1)") }()
	require.NoError(t, held.Wait(t.Context(), 1))
	require.Zero(t, number(t, db, "SELECT COUNT(*) FROM kv"))
	held.Stop()
	require.NoError(t, <-done)
	require.EqualValues(t, 1, number(t, db, "SELECT COUNT(*) FROM kv"))

	late := server.Faults().Delay("ExecuteQuery", time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { done <- db.Query().Exec(ctx, "UPSERT INTO kv (k) VALUES (2)") }()
	require.NoError(t, late.Wait(t.Context(), 1))
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	require.EqualValues(t, 1, number(t, db, "SELECT COUNT(*) FROM kv"))
}

// TestDroppedAnswer shows the unknown outcome: the commit is there, and its
// client sees a broken connection.
func TestDroppedAnswer(t *testing.T) {
	t.Parallel()
	for kind, write := range map[string]func(ctx context.Context, db *ydb.Driver) error{
		"ExecuteQuery": func(ctx context.Context, db *ydb.Driver) error {
			return db.Query().Exec(ctx, "UPSERT INTO kv (k) VALUES (1)")
		},
		"CommitTransaction": func(ctx context.Context, db *ydb.Driver) error {
			return db.Query().DoTx(ctx, func(ctx context.Context, tx query.TxActor) error {
				return tx.Exec(ctx, "UPSERT INTO kv (k) VALUES (1)")
			})
		},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			server, db := setup(t)
			kv(t, db, 0)
			fault := server.Faults().DropAnswer(kind, ydbembed.Containing("UPSERT"))
			require.Zero(t, number(t, db, "SELECT COUNT(*) FROM kv"), "reads do not spend the fault")
			err := write(t.Context(), db)
			require.True(t, ydb.IsTransportError(err, codes.Unavailable), "%v", err)
			require.Equal(t, 1, fault.Hits())
			require.EqualValues(t, 1, number(t, db, "SELECT COUNT(*) FROM kv"))
		})
	}
}

func TestEndedSessionsAreReplaced(t *testing.T) {
	t.Parallel()
	server, db := setup(t)
	exec(t, db, "SELECT 1")
	before := server.Faults().Sessions()
	require.NotEmpty(t, before)
	require.Equal(t, len(before), server.Faults().EndSessions())
	exec(t, db, "SELECT 1")
	require.NotSubset(t, server.Faults().Sessions(), before)
}

func TestSilentServerAnswersAfterResume(t *testing.T) {
	t.Parallel()
	server, db := setup(t)
	kv(t, db, 0)
	server.Faults().Silence()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.Error(t, db.Query().Exec(ctx, "SELECT 1"))
	done := make(chan error, 1)
	go func() { done <- db.Query().Exec(context.Background(), "UPSERT INTO kv (k) VALUES (1)") }()
	server.Faults().Resume()
	require.NoError(t, <-done)
	require.EqualValues(t, 1, number(t, db, "SELECT COUNT(*) FROM kv"))
}

func TestCoordinationFaults(t *testing.T) {
	t.Parallel()
	server, db := setup(t)
	ctx := t.Context()
	const node = "/local/node"
	require.NoError(t, db.Coordination().CreateNode(ctx, node, coordination.NodeConfig{
		ReadConsistencyMode: coordination.ConsistencyModeStrict, AttachConsistencyMode: coordination.ConsistencyModeStrict,
	}))
	session, err := db.Coordination().Session(ctx, node, options.WithDescription("worker-1"), options.WithSessionTimeout(time.Second))
	require.NoError(t, err)
	sessions := server.Faults().CoordinationSessions()
	require.Len(t, sessions, 1)
	require.Equal(t, "worker-1", sessions[0].Description)
	require.Equal(t, session.SessionID(), sessions[0].ID)

	fault := server.Faults().Fail("AcquireSemaphore", Ydb.StatusIds_PRECONDITION_FAILED, ydbembed.Containing("lock"))
	other, err := session.AcquireSemaphore(ctx, "other", 1, options.WithEphemeral(true))
	require.NoError(t, err)
	require.NoError(t, other.Release())
	_, err = session.AcquireSemaphore(ctx, "lock", coordination.Exclusive, options.WithEphemeral(true))
	require.ErrorIs(t, err, coordination.ErrAcquireTimeout, "that is how the SDK reads a refusal")
	require.Equal(t, 1, fault.Hits())
	_, err = session.AcquireSemaphore(ctx, "lock", coordination.Exclusive, options.WithEphemeral(true))
	require.NoError(t, err)

	require.True(t, server.Faults().ExpireCoordinationSession(node, sessions[0].ID))
	select {
	case <-session.Context().Done():
	case <-time.After(patience):
		t.Fatal("the client did not learn that its session is over")
	}
	require.Empty(t, server.Faults().CoordinationSessions())
}
