package ydbembed_test

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/ydb-platform/ydb-go-genproto/Ydb_Topic_V1"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"
	"github.com/ydb-platform/ydb-go-sdk/v3"
	"github.com/ydb-platform/ydb-go-sdk/v3/scheme"
	"github.com/ydb-platform/ydb-go-sdk/v3/sugar"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/taskfleet/taskfleet/pkg/ydbembed"
)

func TestDiscoveryAdvertisesWhatWasDialled(t *testing.T) {
	t.Parallel()
	server, db := setup(t)
	endpoints, err := db.Discovery().Discover(t.Context())
	require.NoError(t, err)
	require.Len(t, endpoints, 1)
	require.Equal(t, server.Addr(), endpoints[0].Address())

	_, port, err := net.SplitHostPort(server.Addr())
	require.NoError(t, err)
	byName, err := ydb.Open(t.Context(), "grpc://localhost:"+port+"/local")
	require.NoError(t, err)
	endpoints, err = byName.Discovery().Discover(t.Context())
	require.NoError(t, err)
	require.Equal(t, "localhost:"+port, endpoints[0].Address())
	require.NoError(t, byName.Close(t.Context()))

	who, err := db.Discovery().WhoAmI(t.Context())
	require.NoError(t, err)
	require.Equal(t, "root@builtin", who.User)
}

func TestUnknownDatabaseIsRefused(t *testing.T) {
	t.Parallel()
	server := start(t, ydbembed.Config{Memory: true})
	_, err := ydb.Open(t.Context(), "grpc://"+server.Addr()+"/other")
	require.ErrorContains(t, err, "Requested database unknown: /other; this server has /local")
}

func TestDirectories(t *testing.T) {
	t.Parallel()
	_, db := setup(t)
	ctx := t.Context()
	require.NoError(t, db.Scheme().MakeDirectory(ctx, "/local/a/b"))
	require.NoError(t, db.Scheme().MakeDirectory(ctx, "/local/a/b"), "a directory that exists is fine")

	root, err := db.Scheme().ListDirectory(ctx, "/local")
	require.NoError(t, err)
	require.Equal(t, scheme.EntryDatabase, root.Type)
	require.Len(t, root.Children, 1)
	require.Equal(t, "a", root.Children[0].Name)

	entry, err := db.Scheme().DescribePath(ctx, "/local/a/b")
	require.NoError(t, err)
	require.Equal(t, scheme.EntryDirectory, entry.Type)

	require.True(t, ydb.IsOperationError(db.Scheme().RemoveDirectory(ctx, "/local/a"), Ydb.StatusIds_PRECONDITION_FAILED))
	require.NoError(t, db.Scheme().RemoveDirectory(ctx, "/local/a/b"))
	_, err = db.Scheme().DescribePath(ctx, "/local/a/b")
	require.True(t, ydb.IsOperationErrorSchemeError(err), "%v", err)
	_, err = db.Scheme().ListDirectory(ctx, "/elsewhere")
	require.True(t, ydb.IsOperationErrorSchemeError(err), "%v", err)

	err = db.Scheme().ModifyPermissions(ctx, "/local/a")
	require.True(t, ydb.IsOperationError(err, Ydb.StatusIds_UNSUPPORTED), "%v", err)
	require.ErrorContains(t, err, "ModifyPermissions")
}

func TestTablesAreListed(t *testing.T) {
	t.Parallel()
	_, db := setup(t)
	ctx := t.Context()
	exec(t, db, "CREATE TABLE `dir/kv` (k Uint64 NOT NULL, v Utf8, PRIMARY KEY (k))")
	ok, err := sugar.IsTableExists(ctx, db.Scheme(), "/local/dir/kv")
	require.NoError(t, err)
	require.True(t, ok)
	ok, err = sugar.IsTableExists(ctx, db.Scheme(), "/local/dir/other")
	require.NoError(t, err)
	require.False(t, ok)
}

func TestUnknownServicesAreUnimplemented(t *testing.T) {
	t.Parallel()
	server := start(t, ydbembed.Config{Memory: true})
	cc, err := grpc.NewClient(server.Addr(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer cc.Close()
	_, err = Ydb_Topic_V1.NewTopicServiceClient(cc).CreateTopic(t.Context(), &Ydb_Topic.CreateTopicRequest{})
	require.Equal(t, codes.Unimplemented, status.Code(err))
}
