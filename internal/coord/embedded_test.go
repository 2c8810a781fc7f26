package coord

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	ydb "github.com/ydb-platform/ydb-go-sdk/v3"
	"github.com/ydb-platform/ydb-go-sdk/v3/coordination"

	"github.com/taskfleet/taskfleet/pkg/ydbembed"
)

const embeddedNode = "/local/node"

// embedded starts a server with a node, whose faults play the defects of the SDK.
func embedded(t *testing.T) (*ydbembed.Server, *ydb.Driver) {
	t.Helper()
	srv, err := ydbembed.Start(t.Context(), ydbembed.Config{Memory: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	db, err := ydb.Open(t.Context(), srv.DSN())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close(context.Background())) })
	require.NoError(t, db.Coordination().CreateNode(t.Context(), embeddedNode, coordination.NodeConfig{}))
	return srv, db
}

func join(t *testing.T, db *ydb.Driver, cfg Config) *Session {
	t.Helper()
	s, err := Open(t.Context(), db, embeddedNode, cfg)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		require.NoError(t, s.Close(ctx))
	})
	return s
}

// Swallowed statuses, ydbembed answering.
func TestStatusesOfAServerAreSeen(t *testing.T) {
	t.Parallel()
	srv, db := embedded(t)
	s := join(t, db, Config{})
	for kind, call := range map[string]func() error{
		"AcquireSemaphore":  func() error { _, err := s.Acquire(t.Context(), "a", Request{Timeout: time.Second}); return err },
		"DescribeSemaphore": func() error { _, _, err := s.Owners(t.Context(), "a"); return err },
		"CreateSemaphore":   func() error { return s.Ensure(t.Context(), "a") },
		"UpdateSemaphore":   func() error { return s.SetData(t.Context(), "a", nil) },
	} {
		fault := srv.Faults().Fail(kind, Ydb.StatusIds_UNAUTHORIZED)
		var refusal *StatusError
		require.ErrorAs(t, call(), &refusal, kind)
		require.Equal(t, Ydb.StatusIds_UNAUTHORIZED, refusal.Status, kind)
		require.Equal(t, 1, fault.Hits(), kind)
	}
	_, err := s.Acquire(t.Context(), "a", Request{Timeout: time.Second})
	require.NoError(t, err, "the session is none the worse")
}

// The stop of a session that never arrives: what it held is free at once all the same.
func TestClosedSessionsHoldNothing(t *testing.T) {
	t.Parallel()
	_, db := embedded(t)
	next := join(t, db, Config{})
	for range 20 {
		s, err := Open(t.Context(), db, embeddedNode, Config{SessionTimeout: time.Minute})
		require.NoError(t, err)
		_, err = s.Acquire(t.Context(), "p", Request{Exclusive: true, Timeout: time.Second})
		require.NoError(t, err)
		require.NoError(t, s.Close(t.Context()))
		lease, err := next.Acquire(t.Context(), "p", Request{Exclusive: true, Timeout: 5 * time.Second})
		require.NoError(t, err)
		require.NoError(t, lease.Release(t.Context()))
	}
}

// The hot re-attach to a session that has expired.
func TestAnExpiredSessionIsAttachedToNoMore(t *testing.T) {
	t.Parallel()
	srv, db := embedded(t)
	s := join(t, db, Config{SessionTimeout: 20 * time.Second, ReconnectDelay: 50 * time.Millisecond})
	lease, err := s.Acquire(t.Context(), "p", Request{Exclusive: true})
	require.NoError(t, err)
	starts := srv.Faults().Count("SessionStart")
	require.True(t, srv.Faults().ExpireCoordinationSession(embeddedNode, s.ID()))
	ended(t, lease.Context(), 5*time.Second)
	require.ErrorIs(t, context.Cause(lease.Context()), ErrSessionLost)
	other := join(t, db, Config{})
	_, err = other.Acquire(t.Context(), "p", Request{Exclusive: true, Timeout: time.Second})
	require.NoError(t, err)
	require.LessOrEqual(t, starts.Hits(), 4, "the other's among them")
}

// Hung calls: the server swallows the request.
func TestACallWithoutAnAnswerEnds(t *testing.T) {
	t.Parallel()
	srv, db := embedded(t)
	s := join(t, db, Config{CallTimeout: 300 * time.Millisecond})
	for kind, call := range map[string]func() error{
		"DescribeSemaphore": func() error { _, _, err := s.Owners(t.Context(), "a"); return err },
		"UpdateSemaphore":   func() error { return s.SetData(t.Context(), "a", nil) },
	} {
		fault := srv.Faults().Hold(kind)
		require.ErrorIs(t, call(), ErrNoAnswer, kind)
		fault.Stop()
	}
	require.NoError(t, s.Context().Err())
}

// Leaked waiters: an acquire is cancelled while its stream is broken.
func TestACancelledAcquireLeavesNoWaiterOnAServer(t *testing.T) {
	t.Parallel()
	srv, db := embedded(t)
	owner, s := join(t, db, Config{}), join(t, db, Config{})
	held, err := owner.Acquire(t.Context(), "p", Request{Exclusive: true})
	require.NoError(t, err)
	asked := srv.Faults().Count("AcquireSemaphore")
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() {
		_, err := s.Acquire(ctx, "p", Request{Exclusive: true, Timeout: time.Hour})
		result <- err
	}()
	require.NoError(t, asked.Wait(t.Context(), 1))
	starts := srv.Faults().Hold("SessionStart")
	require.True(t, srv.Faults().DisconnectCoordinationSession(embeddedNode, s.ID()))
	require.NoError(t, starts.Wait(t.Context(), 1))
	cancel()
	starts.Stop()
	require.ErrorIs(t, <-result, context.Canceled)
	require.NoError(t, held.Release(t.Context()))
	third := join(t, db, Config{})
	_, err = third.Acquire(t.Context(), "p", Request{Exclusive: true, Timeout: 5 * time.Second})
	require.NoError(t, err, "nobody stands before it")
}
