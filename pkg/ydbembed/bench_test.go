package ydbembed_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/ydb-platform/ydb-go-sdk/v3"
	"github.com/ydb-platform/ydb-go-sdk/v3/query"

	"github.com/taskfleet/taskfleet/pkg/ydbembed"
)

// BenchmarkQuery measures whole round trips of the SDK, on disk.
func BenchmarkQuery(b *testing.B) {
	ctx := b.Context()
	server, err := ydbembed.Start(ctx, ydbembed.Config{Dir: b.TempDir()})
	require.NoError(b, err)
	defer server.Close()
	db, err := ydb.Open(ctx, server.DSN())
	require.NoError(b, err)
	defer db.Close(ctx)
	require.NoError(b, db.Query().Exec(ctx, "CREATE TABLE kv (k Uint64 NOT NULL, v Utf8, PRIMARY KEY (k))"))
	params := func(k uint64) query.ExecuteOption {
		return query.WithParameters(ydb.ParamsBuilder().Param("$k").Uint64(k).Param("$v").Text("value").Build())
	}
	for name, run := range map[string]func(ctx context.Context, k uint64) error{
		"select one": func(ctx context.Context, _ uint64) error { return db.Query().Exec(ctx, "SELECT 1") },
		"point read": func(ctx context.Context, k uint64) error {
			return db.Query().Exec(ctx, "SELECT v FROM kv WHERE k = $k", params(k%1000))
		},
		"upsert": func(ctx context.Context, k uint64) error {
			return db.Query().Exec(ctx, "UPSERT INTO kv (k, v) VALUES ($k, $v)", params(k))
		},
		"interactive": func(ctx context.Context, k uint64) error {
			return db.Query().DoTx(ctx, func(ctx context.Context, tx query.TxActor) error {
				if err := tx.Exec(ctx, "SELECT v FROM kv WHERE k = $k", params(k)); err != nil {
					return err
				}
				return tx.Exec(ctx, "UPSERT INTO kv (k, v) VALUES ($k, $v)", params(k))
			})
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.RunParallel(func(pb *testing.PB) {
				for k := uint64(0); pb.Next(); k++ {
					if err := run(ctx, k); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}
