package ydbembed_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/ydb-platform/ydb-go-sdk/v3"
	"github.com/ydb-platform/ydb-go-sdk/v3/query"
	"go.uber.org/goleak"

	"github.com/taskfleet/taskfleet/pkg/ydbembed"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	patience = 30 * time.Second
	poll     = 5 * time.Millisecond
)

// setup starts a server in memory and opens a driver to it.
func setup(t *testing.T) (*ydbembed.Server, *ydb.Driver) {
	t.Helper()
	server := start(t, ydbembed.Config{Memory: true})
	return server, connect(t, server)
}

func start(t *testing.T, cfg ydbembed.Config) *ydbembed.Server {
	t.Helper()
	server, err := ydbembed.Start(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	return server
}

// connect opens a driver that is closed before the server that was started
// before it.
func connect(t *testing.T, server *ydbembed.Server, options ...ydb.Option) *ydb.Driver {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	db, err := ydb.Open(ctx, server.DSN(), options...)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		require.NoError(t, db.Close(ctx))
	})
	return db
}

func exec(t *testing.T, db *ydb.Driver, text string, options ...query.ExecuteOption) {
	t.Helper()
	require.NoError(t, db.Query().Exec(t.Context(), text, options...))
}

// number runs a query for one number.
func number(t *testing.T, db *ydb.Driver, text string, options ...query.ExecuteOption) uint64 {
	t.Helper()
	row, err := db.Query().QueryRow(t.Context(), text, options...)
	require.NoError(t, err)
	var n uint64
	require.NoError(t, row.Scan(&n))
	return n
}

// kv makes a table kv (k Uint64, v Utf8) with keys 1 to rows.
func kv(t *testing.T, db *ydb.Driver, rows int) {
	t.Helper()
	exec(t, db, "CREATE TABLE kv (k Uint64 NOT NULL, v Utf8, PRIMARY KEY (k))")
	for k := range rows {
		exec(t, db, "UPSERT INTO kv (k, v) VALUES ($k, $v)", query.WithParameters(
			ydb.ParamsBuilder().Param("$k").Uint64(uint64(k+1)).Param("$v").Text("old").Build()))
	}
}
