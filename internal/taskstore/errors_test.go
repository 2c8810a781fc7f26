package taskstore_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-sdk/v3"
	"google.golang.org/grpc/codes"

	"github.com/taskfleet/taskfleet/internal/taskstore"
	"github.com/taskfleet/taskfleet/pkg/migrate"
	"github.com/taskfleet/taskfleet/pkg/task"
)

// TestErrorsThatRepeatAreRefusals: those that speak of the rows, and only those.
func TestErrorsThatRepeatAreRefusals(t *testing.T) {
	t.Parallel()
	b := setupFaulty(t, taskstore.Options{})
	for code, refused := range map[Ydb.StatusIds_StatusCode]bool{
		Ydb.StatusIds_PRECONDITION_FAILED: true,
		Ydb.StatusIds_BAD_REQUEST:         true,
		Ydb.StatusIds_GENERIC_ERROR:       false,
		Ydb.StatusIds_UNAUTHORIZED:        false,
		Ydb.StatusIds_SCHEME_ERROR:        false,
		Ydb.StatusIds_UNSUPPORTED:         false,
		Ydb.StatusIds_INTERNAL_ERROR:      false,
		Ydb.StatusIds_NOT_FOUND:           false,
		Ydb.StatusIds_EXTERNAL_ERROR:      false,
	} {
		b.Faults().Fail("ExecuteQuery", code)
		_, err := b.store.Raise(t.Context(), []uint16{1}, "w")
		require.True(t, ydb.IsOperationError(err, code), "%v", err)
		require.Equal(t, refused, errors.Is(err, task.ErrRefused), "%v", err)
		_, err = b.store.Raise(t.Context(), []uint16{1}, "w")
		require.NoError(t, err)
	}
	b.Faults().FailTransport("ExecuteQuery", codes.Unimplemented)
	_, err := b.store.Raise(t.Context(), []uint16{1}, "w")
	require.Error(t, err)
	require.NotErrorIs(t, err, task.ErrRefused)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = b.store.Raise(ended, []uint16{1}, "w")
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, task.ErrRefused)
}

// TestAMessageThatIsTooLargeIsRefused by gRPC, before the database sees it.
func TestAMessageThatIsTooLargeIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t, taskstore.Options{})
	store := taskstore.New(b.Connect(ydb.WithGrpcMaxMessageSize(64<<10)), taskstore.Options{Folder: b.Folder})
	batch := task.Batch{ID: "batch", Tasks: []task.Task{{ID: "a", Kind: "k", Payload: make([]byte, 100<<10)}}}
	_, err := store.Enqueue(t.Context(), batch)
	require.ErrorIs(t, err, task.ErrRefused)
	_, err = b.store.Enqueue(t.Context(), batch)
	require.NoError(t, err)
	_, err = store.Claim(t.Context(), request(b.own(1), []task.Key{{Rank: 255, ID: "a"}}))
	require.ErrorIs(t, err, task.ErrRefused, "the answer is too large")
}

// TestAnOlderSchemaSaysNothingAboutRows: a refusal would send tasks to dead_tasks.
func TestAnOlderSchemaSaysNothingAboutRows(t *testing.T) {
	t.Parallel()
	b := setup(t, taskstore.Options{})
	owned := b.own(1)
	for range migrate.Version {
		_, err := migrate.Down(t.Context(), b.DB, migrate.Options{Folder: b.Folder})
		require.NoError(t, err)
		_, err = b.store.Claim(t.Context(), request(owned, []task.Key{{Rank: 255, ID: "a"}}))
		require.Error(t, err)
		require.NotErrorIs(t, err, task.ErrRefused)
	}
}
