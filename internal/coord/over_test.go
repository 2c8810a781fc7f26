package coord

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/ydb-platform/ydb-go-sdk/v3/coordination"
	"github.com/ydb-platform/ydb-go-sdk/v3/coordination/options"

	"github.com/taskfleet/taskfleet/internal/lifecycle"
)

// closing is an SDK session between failing its calls and ending its context.
type closing struct{ coordination.Session }

func (closing) Context() context.Context { return context.Background() }

func (closing) AcquireSemaphore(context.Context, string, uint64, ...options.AcquireSemaphoreOption) (coordination.Lease, error) {
	return nil, coordination.ErrSessionClosed
}

func (closing) CreateSemaphore(context.Context, string, uint64, ...options.CreateSemaphoreOption) error {
	return coordination.ErrSessionClosed
}

func (closing) UpdateSemaphore(context.Context, string, ...options.UpdateSemaphoreOption) error {
	return coordination.ErrSessionClosed
}

func (closing) DescribeSemaphore(context.Context, string, ...options.DescribeSemaphoreOption) (*coordination.SemaphoreDescription, error) {
	return nil, coordination.ErrSessionClosed
}

type closingLease struct{ coordination.Lease }

func (closingLease) Release() error { return coordination.ErrSessionClosed }

// The SDK fails the calls of a session before it ends it: for a caller the
// session is lost by then, and what it held with it.
func TestACallThatFailsWithTheSessionEndsIt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		call func(ctx context.Context, s *Session, held *Lease) error
		want error
	}{
		"acquire": {func(ctx context.Context, s *Session, _ *Lease) error {
			_, err := s.Acquire(ctx, "p", Request{})
			return err
		}, ErrSessionLost},
		"ensure":   {func(ctx context.Context, s *Session, _ *Lease) error { return s.Ensure(ctx, "p") }, ErrSessionLost},
		"set data": {func(ctx context.Context, s *Session, _ *Lease) error { return s.SetData(ctx, "p", nil) }, ErrSessionLost},
		"owners": {func(ctx context.Context, s *Session, _ *Lease) error {
			_, _, err := s.Owners(ctx, "p")
			return err
		}, ErrSessionLost},
		"update":  {func(ctx context.Context, _ *Session, held *Lease) error { return held.Update(ctx, nil) }, ErrSessionLost},
		"release": {func(ctx context.Context, _ *Session, held *Lease) error { return held.Release(ctx) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &Session{cfg: Config{}.withDefaults(), sdk: closing{}, tap: &tap{}, group: lifecycle.New(t.Context()), leases: make(map[string]*Lease)}
			s.ctx, s.cancel = context.WithCancelCause(t.Context())
			held := &Lease{session: s, name: "held", sdk: closingLease{}}
			held.ctx, held.cancel = context.WithCancelCause(s.ctx)
			require.ErrorIs(t, c.call(t.Context(), s, held), c.want)
			require.ErrorIs(t, context.Cause(s.Context()), ErrSessionLost)
			require.NoError(t, s.group.Stop(t.Context()))
		})
	}
}

// late grants an acquire at the moment at which its context ends.
type late struct {
	coordination.Session
	end   context.CancelFunc
	lease *lateLease
}

type lateLease struct {
	coordination.Lease
	released int
}

func (l *lateLease) Release() error {
	l.released++
	return nil
}

func (l late) AcquireSemaphore(context.Context, string, uint64, ...options.AcquireSemaphoreOption) (coordination.Lease, error) {
	l.end()
	return l.lease, nil
}

func TestAGrantThatNobodyWaitsForIsGivenBack(t *testing.T) {
	t.Parallel()
	ctx, end := context.WithCancel(t.Context())
	sdk := late{end: end, lease: &lateLease{}}
	s := &Session{cfg: Config{}.withDefaults(), sdk: sdk, tap: &tap{}, group: lifecycle.New(t.Context()), leases: make(map[string]*Lease)}
	s.ctx, s.cancel = context.WithCancelCause(t.Context())
	_, err := s.Acquire(ctx, "p", Request{})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 1, sdk.lease.released)
	require.NoError(t, s.Context().Err(), "the session lives on")
	require.Empty(t, s.leases, "the name is free again")
	require.NoError(t, s.group.Stop(t.Context()))
}
