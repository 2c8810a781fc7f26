package session

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/require"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"go.uber.org/goleak"

	"github.com/taskfleet/taskfleet/internal/ydbembed/exec"
	"github.com/taskfleet/taskfleet/internal/ydbembed/issue"
	"github.com/taskfleet/taskfleet/internal/ydbembed/store"
	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rows is a sink that counts, and panics when told to.
type rows struct {
	n     int
	tx    string
	panic bool
}

func (r *rows) Transaction(id string)            { r.tx = id }
func (r *rows) Columns(int, []exec.Column) error { return nil }
func (r *rows) Row(int, []types.Value) error {
	if r.panic {
		panic("sink")
	}
	r.n++
	return nil
}

func setup(t *testing.T) (*Manager, *clockwork.FakeClock) {
	t.Helper()
	db, err := store.Open(store.Options{TTLInterval: -1})
	require.NoError(t, err)
	clock := clockwork.NewFakeClockAt(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	m := New(Config{Store: db, Database: "/local", Clock: clock})
	t.Cleanup(func() {
		m.Close()
		require.NoError(t, db.Close())
	})
	_, err = m.Execute(t.Context(), Request{Text: "CREATE TABLE t (k Uint64 NOT NULL, PRIMARY KEY (k))"}, &rows{})
	require.NoError(t, err)
	return m, clock
}

func requireStatus(t *testing.T, want Ydb.StatusIds_StatusCode, err error) {
	t.Helper()
	var e *issue.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, want, e.Status, "%v", err)
}

func create(t *testing.T, m *Manager) *Session {
	t.Helper()
	s, err := m.Create()
	require.NoError(t, err)
	return s
}

func TestIdleSessionsExpire(t *testing.T) {
	t.Parallel()
	m, clock := setup(t)
	loose, attached, used := create(t, m), create(t, m), create(t, m)
	_, err := m.Attach(attached.ID())
	require.NoError(t, err)

	clock.Advance(sessionIdle - time.Second)
	require.False(t, used.Touch())
	clock.Advance(time.Second)
	m.Sweep()
	_, err = m.Get(loose.ID())
	requireStatus(t, Ydb.StatusIds_BAD_SESSION, err)
	require.Len(t, m.IDs(), 2)
	require.NoError(t, attached.ctx.Err())
}

func TestIdleTransactionsRollBack(t *testing.T) {
	t.Parallel()
	m, clock := setup(t)
	s := create(t, m)
	id, err := s.Begin(t.Context(), Serializable)
	require.NoError(t, err)
	sink := &rows{}
	_, err = m.Execute(t.Context(), Request{SessionID: s.ID(), Text: "SELECT 1", Control: Control{Begin: true, Mode: SnapshotReadOnly}}, sink)
	require.NoError(t, err)

	clock.Advance(readOnlyIdle)
	m.Sweep()
	requireStatus(t, Ydb.StatusIds_NOT_FOUND, s.Commit(t.Context(), sink.tx))
	clock.Advance(txIdle - readOnlyIdle)
	m.Sweep()
	requireStatus(t, Ydb.StatusIds_NOT_FOUND, s.Commit(t.Context(), id))
}

func TestSessionsAreBounded(t *testing.T) {
	t.Parallel()
	m, _ := setup(t)
	for range maxSessions {
		create(t, m)
	}
	_, err := m.Create()
	requireStatus(t, Ydb.StatusIds_OVERLOADED, err)
}

func TestPanicEndsTheQueryOnly(t *testing.T) {
	t.Parallel()
	m, _ := setup(t)
	s := create(t, m)
	_, err := m.Execute(t.Context(), Request{SessionID: s.ID(), Text: "SELECT 1"}, &rows{panic: true})
	requireStatus(t, Ydb.StatusIds_INTERNAL_ERROR, err)
	_, err = m.Execute(t.Context(), Request{SessionID: s.ID(), Text: "SELECT 1"}, &rows{})
	require.NoError(t, err, "the session goes on")

	err = guard(func() error { panic("boom") })
	requireStatus(t, Ydb.StatusIds_INTERNAL_ERROR, err)
	var p *PanicError
	require.ErrorAs(t, err, &p)
	require.NotEmpty(t, p.Stack)
}

func TestEndedSessionStopsItsQuery(t *testing.T) {
	t.Parallel()
	m, _ := setup(t)
	s := create(t, m)
	ctx, leave, err := s.enter(t.Context())
	require.NoError(t, err)
	require.True(t, s.Touch(), "busy")
	require.NoError(t, m.Delete(s.ID()))
	<-ctx.Done()
	requireStatus(t, Ydb.StatusIds_BAD_SESSION, answer(context.Cause(ctx)))
	leave()
	_, _, err = s.enter(t.Context())
	requireStatus(t, Ydb.StatusIds_BAD_SESSION, err)
}

func TestClosedManagerRefuses(t *testing.T) {
	t.Parallel()
	m, _ := setup(t)
	s := create(t, m)
	m.Close()
	<-s.Done()
	<-s.ShuttingDown()
	_, err := m.Create()
	requireStatus(t, Ydb.StatusIds_UNAVAILABLE, err)
}

func TestErrorsOfTheStoreGetTheirStatus(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want Ydb.StatusIds_StatusCode
	}{
		{&store.ConflictError{Table: "/local/t"}, Ydb.StatusIds_ABORTED},
		{store.ErrSchemeChanged, Ydb.StatusIds_ABORTED},
		{store.ErrUndetermined, Ydb.StatusIds_UNDETERMINED},
		{fmt.Errorf("%w: %w", store.ErrUndetermined, store.ErrNoSpace), Ydb.StatusIds_UNDETERMINED},
		{store.ErrNoSpace, Ydb.StatusIds_UNAVAILABLE},
		{store.ErrStalled, Ydb.StatusIds_UNAVAILABLE},
		{store.ErrFailed, Ydb.StatusIds_UNAVAILABLE},
		{&store.FileError{File: "000007.sst", Problem: "is damaged"}, Ydb.StatusIds_INTERNAL_ERROR},
		{store.ErrReadOnly, Ydb.StatusIds_GENERIC_ERROR},
		{store.ErrClosed, Ydb.StatusIds_UNAVAILABLE},
		{errors.New("what"), Ydb.StatusIds_INTERNAL_ERROR},
	} {
		requireStatus(t, c.want, answer(c.err))
	}
	require.NoError(t, answer(nil))
	require.ErrorIs(t, answer(context.Canceled), context.Canceled)
}

func TestRequestUnits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cpu    time.Duration
		access []store.Access
		want   uint64
	}{
		"nothing":           {0, nil, 0},
		"YDB's own example": {5921 * time.Microsecond, []store.Access{{ReadRows: 2, ReadBytes: 16, UpdateRows: 2, UpdateBytes: 2456}}, 8},
		"processor":         {15 * time.Millisecond, []store.Access{{ReadRows: 3}}, 10},
		"bytes read":        {0, []store.Access{{ReadRows: 1, ReadBytes: 4097}}, 2},
		"deletes":           {0, []store.Access{{DeleteRows: 3}}, 6},
		"bytes are summed":  {0, []store.Access{{UpdateRows: 1, UpdateBytes: 600}, {UpdateRows: 1, UpdateBytes: 400}}, 4},
	} {
		require.Equal(t, c.want, RequestUnits(c.cpu, c.access), name)
	}
}

func TestProcessorTimeCountsWorkNotWaiting(t *testing.T) {
	t.Parallel()
	waited := make(chan struct{})
	time.AfterFunc(50*time.Millisecond, func() { close(waited) })
	require.Less(t, onThread(func() { <-waited }), 45*time.Millisecond)
	sum := 0
	require.Positive(t, onThread(func() {
		for i := range 20_000_000 {
			sum += i
		}
	}), sum)
}
