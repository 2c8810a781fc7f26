package coord

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Coordination"
	"github.com/ydb-platform/ydb-go-sdk/v3/coordination/options"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// The SDK returns "timeout" for every refusal of an acquire.
func TestRefusedAcquireSaysWhy(t *testing.T) {
	t.Parallel()
	var srv *scripted
	srv, db := serve(t, func(_ int, s stream) error {
		if err := srv.begin(s, 7); err != nil {
			return err
		}
		return srv.answer(s, func(r *request) *response {
			a := r.GetAcquireSemaphore()
			switch a.GetName() {
			case "refused":
				return acquired(a.GetReqId(), Ydb.StatusIds_UNAUTHORIZED, false)
			case "missing":
				return acquired(a.GetReqId(), Ydb.StatusIds_NOT_FOUND, false)
			case "taken":
				return acquired(a.GetReqId(), Ydb.StatusIds_SUCCESS, false)
			}
			return obey(r)
		})
	})
	s := open(t, db, quick())
	_, err := s.Acquire(t.Context(), "refused", Request{})
	var refusal *StatusError
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, Ydb.StatusIds_UNAUTHORIZED, refusal.Status)
	require.EqualError(t, err, "coord: acquire refused: UNAUTHORIZED: the server's words")
	_, err = s.Acquire(t.Context(), "missing", Request{})
	require.ErrorIs(t, err, ErrNotFound)
	_, err = s.Acquire(t.Context(), "taken", Request{})
	require.ErrorIs(t, err, ErrTimeout)
	lease, err := s.Acquire(t.Context(), "free", Request{})
	require.NoError(t, err)
	require.NoError(t, lease.Release(t.Context()))
	require.ErrorIs(t, context.Cause(lease.Context()), ErrReleased)
	require.EqualValues(t, 7, s.ID())
}

// The SDK returns an empty description of a semaphore that it may not see or
// that does not exist.
func TestRefusedReadSaysWhy(t *testing.T) {
	t.Parallel()
	var srv *scripted
	srv, db := serve(t, func(_ int, s stream) error {
		if err := srv.begin(s, 1); err != nil {
			return err
		}
		return srv.answer(s, func(r *request) *response {
			d := r.GetDescribeSemaphore()
			switch d.GetName() {
			case "missing":
				return described(d.GetReqId(), Ydb.StatusIds_NOT_FOUND, nil)
			case "hidden":
				return described(d.GetReqId(), Ydb.StatusIds_UNAUTHORIZED, nil)
			case "registry":
				return described(d.GetReqId(), Ydb.StatusIds_SUCCESS, &Ydb_Coordination.SemaphoreDescription{
					Name: "registry", Owners: []*Ydb_Coordination.SemaphoreSession{
						{SessionId: 4, OrderId: 9, Data: []byte("late")}, {SessionId: 5, OrderId: 3, Data: []byte("early")},
					},
				})
			}
			return nil
		})
	})
	s := open(t, db, quick())
	_, _, err := s.Owners(t.Context(), "missing")
	require.ErrorIs(t, err, ErrNotFound)
	_, _, err = s.Owners(t.Context(), "hidden")
	var refusal *StatusError
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, Ydb.StatusIds_UNAUTHORIZED, refusal.Status)
	owners, _, err := s.Owners(t.Context(), "registry")
	require.NoError(t, err)
	require.Equal(t, []Owner{{5, 3, []byte("early")}, {4, 9, []byte("late")}}, owners, "in the order in which they came")
}

// The SDK attaches again and again, without a pause, to a session that is gone.
func TestSessionThatIsGoneEndsAtOnce(t *testing.T) {
	t.Parallel()
	for _, code := range []Ydb.StatusIds_StatusCode{Ydb.StatusIds_SESSION_EXPIRED, Ydb.StatusIds_BAD_SESSION, Ydb.StatusIds_NOT_FOUND} {
		t.Run(code.String(), func(t *testing.T) {
			t.Parallel()
			var srv *scripted
			cut := make(chan struct{})
			srv, db := serve(t, func(n int, s stream) error {
				if n > 1 {
					if _, err := srv.receive(s); err != nil {
						return err
					}
					return s.Send(failure(code, "it is gone"))
				}
				if err := srv.begin(s, 1); err != nil {
					return err
				}
				go func() { _ = srv.answer(s, obey) }()
				<-cut
				return nil
			})
			s := open(t, db, Config{SessionTimeout: 30 * time.Second, ReconnectDelay: 100 * time.Millisecond})
			lease, err := s.Acquire(t.Context(), "p", Request{Exclusive: true})
			require.NoError(t, err)
			close(cut)
			ended(t, lease.Context(), 5*time.Second)
			cause := context.Cause(lease.Context())
			require.ErrorIs(t, cause, ErrSessionLost)
			require.ErrorContains(t, cause, code.String()+": it is gone")
			require.LessOrEqual(t, srv.opened(), 4)
			_, err = s.Acquire(t.Context(), "q", Request{})
			require.ErrorIs(t, err, ErrSessionLost)
			_, _, err = s.Owners(t.Context(), "q")
			require.ErrorIs(t, err, ErrSessionLost)
			require.NoError(t, lease.Release(t.Context()), "there is nothing to release")
		})
	}
}

func ended(t *testing.T, ctx context.Context, limit time.Duration) {
	t.Helper()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
		require.FailNow(t, "the context did not end", "within %v", limit)
	}
}

// The SDK opens a stream that the server fails again without a pause.
func TestFailingStreamsAreOpenedWithPauses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var srv *scripted
		var healthy atomic.Bool
		cut := make(chan struct{})
		srv, db := serve(t, func(n int, s stream) error {
			if n > 1 && !healthy.Load() {
				if _, err := srv.receive(s); err != nil {
					return err
				}
				return s.Send(failure(Ydb.StatusIds_UNAVAILABLE, "Link failure"))
			}
			if err := srv.begin(s, 1); err != nil {
				return err
			}
			if n > 1 {
				return srv.answer(s, obey)
			}
			<-cut
			return nil
		})
		s := open(t, db, Config{SessionTimeout: 20 * time.Second, ReconnectDelay: 200 * time.Millisecond})
		<-time.After(time.Second)
		close(cut)
		<-time.After(time.Second + time.Millisecond)
		require.Equal(t, 1+6, srv.opened(), "at its end, and every 200 ms")
		healthy.Store(true)
		_, err := s.Acquire(t.Context(), "p", Request{})
		require.NoError(t, err, "the session lives on")
	})
}

// A server that answers streams with a bare gRPC error kills the SDK's session
// and leaves calls hanging.
func TestCallsEndWithTheSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var srv *scripted
		asked := make(chan struct{})
		srv, db := serve(t, func(n int, s stream) error {
			if n > 1 {
				return status.Error(codes.Unavailable, "draining")
			}
			if err := srv.begin(s, 1); err != nil {
				return err
			}
			if _, err := srv.receive(s); err != nil { // the acquire, which gets no answer
				return err
			}
			close(asked)
			return status.Error(codes.Unavailable, "draining")
		})
		s := open(t, db, quick())
		_, err := s.Acquire(t.Context(), "p", Request{Timeout: time.Hour})
		<-asked
		require.ErrorIs(t, err, ErrSessionLost)
		require.LessOrEqual(t, srv.opened(), 20, "streams are opened with pauses")
	})
}

// The SDK believes in a mute server until its keep-alive, which by default is
// longer than the server keeps the semaphores.
func TestMuteServerEndsTheSessionInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var srv *scripted
		mute := make(chan struct{})
		srv, db := serve(t, func(n int, s stream) error {
			if n > 1 {
				<-s.Context().Done()
				return nil
			}
			if err := srv.begin(s, 1); err != nil {
				return err
			}
			if err := s.Send(ping()); err != nil {
				return err
			}
			if _, err := srv.receive(s); err != nil {
				return err
			}
			close(mute)
			<-s.Context().Done()
			return nil
		})
		cfg := quick()
		cfg.KeepAlive = 10 * cfg.SessionTimeout
		s := open(t, db, cfg)
		<-mute
		ended(t, s.Context(), cfg.SessionTimeout+time.Millisecond)
		require.ErrorIs(t, context.Cause(s.Context()), ErrSessionLost)
		require.ErrorContains(t, context.Cause(s.Context()), "nothing heard of the server for 1.5s", "it was not the SDK that ended it")
	})
}

// An acquire that is cancelled while the stream is opened anew leaves a waiter
// behind on the server.
func TestCancelledAcquireLeavesNoWaiter(t *testing.T) {
	t.Parallel()
	var srv *scripted
	reattached := make(chan struct{})
	goOn := make(chan struct{})
	srv, db := serve(t, func(n int, s stream) error {
		if n == 2 {
			close(reattached)
			<-goOn
		}
		if err := srv.begin(s, 1); err != nil {
			return err
		}
		if n == 1 {
			r, err := srv.receive(s)
			if err != nil {
				return err
			}
			return s.Send(pending(r.GetAcquireSemaphore().GetReqId())) // it waits now; the stream breaks
		}
		return srv.answer(s, func(r *request) *response {
			if a := r.GetAcquireSemaphore(); a != nil {
				return acquired(a.GetReqId(), Ydb.StatusIds_SUCCESS, true) // by now it is an owner
			}
			return obey(r)
		})
	})
	s := open(t, db, Config{SessionTimeout: 10 * time.Second, StartTimeout: 5 * time.Second, ReconnectDelay: 50 * time.Millisecond})
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() {
		_, err := s.Acquire(ctx, "p", Request{Exclusive: true, Timeout: time.Hour})
		result <- err
	}()
	<-reattached
	cancel()
	close(goOn)
	srv.saw(t, "the release", func(r *request) bool { return r.GetReleaseSemaphore().GetName() == "p" })
	require.ErrorIs(t, <-result, context.Canceled)
	require.NoError(t, s.Context().Err())
	_, err := s.Acquire(t.Context(), "p", Request{Exclusive: true})
	require.NoError(t, err, "the name is free again")
}

// Where the withdrawal cannot be confirmed the session is given up: the server
// then forgets the waiter.
func TestUnconfirmedWithdrawalEndsTheSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var srv *scripted
		asked := make(chan struct{})
		srv, db := serve(t, func(_ int, s stream) error {
			if err := srv.begin(s, 1); err != nil {
				return err
			}
			first := true
			return srv.answer(s, func(r *request) *response {
				if a := r.GetAcquireSemaphore(); a != nil && first {
					first = false
					defer close(asked)
					return pending(a.GetReqId())
				}
				if r.GetPong() != nil {
					return nil
				}
				return ping() // alive, but says nothing that matters
			})
		})
		cfg := quick()
		cfg.CallTimeout = 300 * time.Millisecond
		s := open(t, db, cfg)
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() { <-asked; cancel(errors.New("no longer wanted")) }()
		_, err := s.Acquire(ctx, "p", Request{Exclusive: true, Timeout: time.Hour})
		require.ErrorContains(t, err, "no longer wanted")
		require.ErrorIs(t, context.Cause(s.Context()), ErrSessionLost)
		require.ErrorContains(t, context.Cause(s.Context()), "withdraw from p")
	})
}

// Two acquires of one name on one session make the SDK report a timeout of the
// first.
func TestSecondAcquireOfANameIsBusy(t *testing.T) {
	t.Parallel()
	var srv *scripted
	srv, db := serve(t, func(_ int, s stream) error {
		if err := srv.begin(s, 1); err != nil {
			return err
		}
		return srv.answer(s, obey)
	})
	s := open(t, db, quick())
	lease, err := s.Acquire(t.Context(), "p", Request{})
	require.NoError(t, err)
	_, err = s.Acquire(t.Context(), "p", Request{})
	require.ErrorIs(t, err, ErrBusy)
	require.NoError(t, lease.Update(t.Context(), []byte("new")))
	srv.saw(t, "the new data", func(r *request) bool { return string(r.GetAcquireSemaphore().GetData()) == "new" })
	require.NoError(t, lease.Release(t.Context()))
	_, err = s.Acquire(t.Context(), "p", Request{})
	require.NoError(t, err)
}

// The SDK hardly ever tells the server that a session ends, so what it holds
// stays held until it expires.
func TestCloseReleasesWhatIsHeld(t *testing.T) {
	t.Parallel()
	var srv *scripted
	srv, db := serve(t, func(_ int, s stream) error {
		if err := srv.begin(s, 1); err != nil {
			return err
		}
		return srv.answer(s, obey)
	})
	s, err := Open(t.Context(), db, "/local/node", quick())
	require.NoError(t, err)
	for _, name := range []string{"p", "q"} {
		_, err := s.Acquire(t.Context(), name, Request{Exclusive: true})
		require.NoError(t, err)
	}
	require.NoError(t, s.Close(t.Context()))
	require.NoError(t, s.Close(t.Context()))
	for _, name := range []string{"p", "q"} {
		srv.saw(t, "the release of "+name, func(r *request) bool { return r.GetReleaseSemaphore().GetName() == name })
	}
	require.ErrorIs(t, context.Cause(s.Context()), ErrClosed)
	require.ErrorIs(t, context.Cause(s.Context()), ErrSessionLost)
}

// The SDK asks a missing node for a session for ever, thousands of times a second.
func TestMissingNodeIsAnErrorAtOnce(t *testing.T) {
	t.Parallel()
	srv, db := serve(t, func(int, stream) error { return nil })
	srv.nodeless = true
	_, err := Open(t.Context(), db, "/local/node", quick())
	require.ErrorIs(t, err, ErrNodeMissing)
	require.ErrorContains(t, err, "open session of /local/node")
	require.Zero(t, srv.opened())
}

// The node goes away between the look at it and the session.
func TestRefusedSessionIsAnErrorAtOnce(t *testing.T) {
	t.Parallel()
	var srv *scripted
	srv, db := serve(t, func(_ int, s stream) error {
		if _, err := srv.receive(s); err != nil {
			return err
		}
		return s.Send(failure(Ydb.StatusIds_NOT_FOUND, "Kesus not found"))
	})
	_, err := Open(t.Context(), db, "/local/node", Config{SessionTimeout: time.Minute, ReconnectDelay: 30 * time.Second})
	require.ErrorContains(t, err, "NOT_FOUND: Kesus not found")
	require.Equal(t, 1, srv.opened(), "the SDK's next attempt is held back until it notices")
}

func TestOpenIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv, db := serve(t, func(_ int, s stream) error { <-s.Context().Done(); return nil })
		cfg := quick()
		cfg.OpenTimeout = 500 * time.Millisecond
		_, err := Open(t.Context(), db, "/local/node", cfg)
		require.ErrorIs(t, err, ErrNoAnswer)
		require.Positive(t, srv.opened())
	})
}

// The watch of the SDK is silent in some of the ways in which a stream dies; the
// channel tells of changes and of a lost watch alike.
func TestWatchTellsOfChangesAndOfLosses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var srv *scripted
		cut := make(chan struct{})
		srv, db := serve(t, func(n int, s stream) error {
			if err := srv.begin(s, 1); err != nil {
				return err
			}
			go func() {
				_ = srv.answer(s, func(r *request) *response {
					if d := r.GetDescribeSemaphore(); d.GetName() == "changing" {
						_ = s.Send(obey(r))
						return &response{Response: &Ydb_Coordination.SessionResponse_DescribeSemaphoreChanged_{
							DescribeSemaphoreChanged: &Ydb_Coordination.SessionResponse_DescribeSemaphoreChanged{ReqId: d.GetReqId(), OwnersChanged: true},
						}}
					}
					return obey(r)
				})
			}()
			if n == 1 {
				<-cut
				return nil
			}
			<-s.Context().Done()
			return nil
		})
		s := open(t, db, quick())
		_, changed, err := s.Owners(t.Context(), "changing")
		require.NoError(t, err)
		<-changed
		_, changed, err = s.Owners(t.Context(), "quiet")
		require.NoError(t, err)
		close(cut)
		<-changed
		require.NoError(t, s.Context().Err())
	})
}

// The SDK's option for the stop timeout sets another field; every setting here
// reaches its own.
func TestOptionsAreAllSet(t *testing.T) {
	t.Parallel()
	cfg := Config{Description: "d", SessionTimeout: 8 * time.Second}.withDefaults()
	got := sdkOptions(cfg)
	require.Equal(t, "d", got.Description)
	require.Equal(t, 8*time.Second, got.SessionTimeout)
	require.Equal(t, 4800*time.Millisecond, got.SessionKeepAliveTimeout)
	require.Equal(t, time.Second, got.SessionStartTimeout)
	require.Equal(t, time.Second, got.SessionStopTimeout)
	require.Equal(t, 200*time.Millisecond, got.SessionReconnectDelay)
	safe := Config{}.withDefaults()
	require.Less(t, safe.KeepAlive, safe.SessionTimeout)
}

func sdkOptions(cfg Config) options.CreateSessionOptions {
	var o options.CreateSessionOptions
	for _, set := range cfg.options() {
		set(&o)
	}
	return o
}
