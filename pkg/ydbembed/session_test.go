package ydbembed_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Query"

	"github.com/taskfleet/taskfleet/pkg/ydbembed"
)

func TestSessionEndsWithItsStream(t *testing.T) {
	t.Parallel()
	server := start(t, ydbembed.Config{Memory: true})
	client := rawClient(t, server)
	created, err := client.CreateSession(t.Context(), &Ydb_Query.CreateSessionRequest{})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	stream := client.attach(ctx, created.GetSessionId())
	_, err = stream.Recv()
	require.NoError(t, err)

	second := client.attach(t.Context(), created.GetSessionId())
	state, err := second.Recv()
	require.NoError(t, err)
	require.Equal(t, Ydb.StatusIds_BAD_REQUEST, state.GetStatus(), "one stream is enough")
	require.Len(t, server.Faults().Sessions(), 1)

	cancel()
	require.Eventually(t, func() bool { return len(server.Faults().Sessions()) == 0 }, patience, poll)
}

func TestDeletedSessionEndsItsStream(t *testing.T) {
	t.Parallel()
	server := start(t, ydbembed.Config{Memory: true})
	client := rawClient(t, server)
	created, err := client.CreateSession(t.Context(), &Ydb_Query.CreateSessionRequest{})
	require.NoError(t, err)
	stream := client.attach(t.Context(), created.GetSessionId())
	_, err = stream.Recv()
	require.NoError(t, err)
	deleted, err := client.DeleteSession(t.Context(), &Ydb_Query.DeleteSessionRequest{SessionId: created.GetSessionId()})
	require.NoError(t, err)
	require.Equal(t, Ydb.StatusIds_SUCCESS, deleted.GetStatus())
	_, err = stream.Recv()
	require.ErrorIs(t, err, io.EOF)
	deleted, err = client.DeleteSession(t.Context(), &Ydb_Query.DeleteSessionRequest{SessionId: created.GetSessionId()})
	require.NoError(t, err)
	require.Equal(t, Ydb.StatusIds_BAD_SESSION, deleted.GetStatus())
}

func TestEndedSessionIsAnnounced(t *testing.T) {
	t.Parallel()
	server := start(t, ydbembed.Config{Memory: true})
	client := rawClient(t, server)
	created, err := client.CreateSession(t.Context(), &Ydb_Query.CreateSessionRequest{})
	require.NoError(t, err)
	id := created.GetSessionId()
	stream := client.attach(t.Context(), id)
	_, err = stream.Recv()
	require.NoError(t, err)
	tx, _ := client.begin(id, serializable())
	require.NotEmpty(t, tx)

	require.True(t, server.Faults().EndSession(id))
	require.False(t, server.Faults().EndSession(id), "it is gone")
	state, err := stream.Recv()
	require.NoError(t, err)
	require.NotNil(t, state.GetSessionShutdown())
	_, err = stream.Recv()
	require.True(t, errors.Is(err, io.EOF), "%v", err)
	require.Equal(t, Ydb.StatusIds_BAD_SESSION, client.commit(id, tx))
}
