package coord

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"

	"github.com/taskfleet/taskfleet/internal/testdb"
)

// onEmbedded runs a test on a node of an embedded server, whose faults play the
// defects of the SDK, on the virtual clock.
func onEmbedded(t *testing.T, test func(t *testing.T, e *testdb.Embedded, node string)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := testdb.Start(t)
		test(t, e, e.CreateNode())
	})
}

// Swallowed statuses, ydbembed answering.
func TestStatusesOfAServerAreSeen(t *testing.T) {
	onEmbedded(t, func(t *testing.T, e *testdb.Embedded, node string) {
		s := join(t, e.DB, node, Config{})
		for kind, call := range map[string]func() error{
			"AcquireSemaphore":  func() error { _, err := s.Acquire(t.Context(), "a", Request{Timeout: time.Second}); return err },
			"DescribeSemaphore": func() error { _, _, err := s.Owners(t.Context(), "a"); return err },
			"CreateSemaphore":   func() error { return s.Ensure(t.Context(), "a") },
			"UpdateSemaphore":   func() error { return s.SetData(t.Context(), "a", nil) },
		} {
			fault := e.Faults().Fail(kind, Ydb.StatusIds_UNAUTHORIZED)
			var refusal *StatusError
			require.ErrorAs(t, call(), &refusal, kind)
			require.Equal(t, Ydb.StatusIds_UNAUTHORIZED, refusal.Status, kind)
			require.Equal(t, 1, fault.Hits(), kind)
		}
		_, err := s.Acquire(t.Context(), "a", Request{Timeout: time.Second})
		require.NoError(t, err, "the session is none the worse")
	})
}

// The stop of a session that never arrives: what it held is free at once all the same.
func TestClosedSessionsHoldNothing(t *testing.T) {
	t.Parallel()
	testdb.Test(t, func(t *testing.T, d *testdb.Database) {
		node := d.CreateNode()
		next := join(t, d.DB, node, Config{})
		for range 20 {
			s, err := Open(t.Context(), d.DB, node, Config{SessionTimeout: time.Minute})
			require.NoError(t, err)
			_, err = s.Acquire(t.Context(), "p", Request{Exclusive: true, Timeout: time.Second})
			require.NoError(t, err)
			require.NoError(t, s.Close(t.Context()))
			lease, err := next.Acquire(t.Context(), "p", Request{Exclusive: true, Timeout: 5 * time.Second})
			require.NoError(t, err)
			require.NoError(t, lease.Release(t.Context()))
		}
	})
}

// The hot re-attach to a session that has expired.
func TestAnExpiredSessionIsAttachedToNoMore(t *testing.T) {
	onEmbedded(t, func(t *testing.T, e *testdb.Embedded, node string) {
		s := join(t, e.DB, node, Config{SessionTimeout: 20 * time.Second, ReconnectDelay: 50 * time.Millisecond})
		lease, err := s.Acquire(t.Context(), "p", Request{Exclusive: true})
		require.NoError(t, err)
		starts := e.Faults().Count("SessionStart")
		require.True(t, e.Faults().ExpireCoordinationSession(node, s.ID()))
		ended(t, lease.Context(), 5*time.Second)
		require.ErrorIs(t, context.Cause(lease.Context()), ErrSessionLost)
		other := join(t, e.DB, node, Config{})
		_, err = other.Acquire(t.Context(), "p", Request{Exclusive: true, Timeout: time.Second})
		require.NoError(t, err)
		require.LessOrEqual(t, starts.Hits(), 4, "the other's among them")
	})
}

// Hung calls: the server swallows the request.
func TestACallWithoutAnAnswerEnds(t *testing.T) {
	onEmbedded(t, func(t *testing.T, e *testdb.Embedded, node string) {
		s := join(t, e.DB, node, Config{CallTimeout: 300 * time.Millisecond})
		for kind, call := range map[string]func() error{
			"DescribeSemaphore": func() error { _, _, err := s.Owners(t.Context(), "a"); return err },
			"UpdateSemaphore":   func() error { return s.SetData(t.Context(), "a", nil) },
		} {
			fault := e.Faults().Hold(kind)
			require.ErrorIs(t, call(), ErrNoAnswer, kind)
			fault.Stop()
		}
		require.NoError(t, s.Context().Err())
	})
}

// Leaked waiters: an acquire is cancelled while its stream is broken.
func TestACancelledAcquireLeavesNoWaiterOnAServer(t *testing.T) {
	onEmbedded(t, func(t *testing.T, e *testdb.Embedded, node string) {
		owner, s := join(t, e.DB, node, Config{}), join(t, e.DB, node, Config{})
		held, err := owner.Acquire(t.Context(), "p", Request{Exclusive: true})
		require.NoError(t, err)
		asked := e.Faults().Count("AcquireSemaphore")
		ctx, cancel := context.WithCancel(t.Context())
		result := make(chan error, 1)
		go func() {
			_, err := s.Acquire(ctx, "p", Request{Exclusive: true, Timeout: time.Hour})
			result <- err
		}()
		require.NoError(t, asked.Wait(t.Context(), 1))
		starts := e.Faults().Hold("SessionStart")
		require.True(t, e.Faults().DisconnectCoordinationSession(node, s.ID()))
		require.NoError(t, starts.Wait(t.Context(), 1))
		cancel()
		starts.Stop()
		require.ErrorIs(t, <-result, context.Canceled)
		require.NoError(t, held.Release(t.Context()))
		third := join(t, e.DB, node, Config{})
		_, err = third.Acquire(t.Context(), "p", Request{Exclusive: true, Timeout: 5 * time.Second})
		require.NoError(t, err, "nobody stands before it")
	})
}
