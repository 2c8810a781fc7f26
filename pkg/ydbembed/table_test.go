package ydbembed_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-sdk/v3"
	"github.com/ydb-platform/ydb-go-sdk/v3/table"
	"github.com/ydb-platform/ydb-go-sdk/v3/table/options"
	"github.com/ydb-platform/ydb-go-sdk/v3/table/result/named"
	"github.com/ydb-platform/ydb-go-sdk/v3/table/types"
)

func TestTableService(t *testing.T) {
	t.Parallel()
	_, db := setup(t)
	err := db.Table().Do(t.Context(), func(ctx context.Context, s table.Session) error {
		if err := s.KeepAlive(ctx); err != nil {
			return err
		}
		if err := s.ExecuteSchemeQuery(ctx, "CREATE TABLE kv (k Uint64 NOT NULL, v Utf8, PRIMARY KEY (k))"); err != nil {
			return err
		}
		tx, err := s.BeginTransaction(ctx, table.TxSettings(table.WithSerializableReadWrite()))
		if err != nil {
			return err
		}
		if _, err := tx.Execute(ctx, "DECLARE $k AS Uint64; UPSERT INTO kv (k, v) VALUES ($k, 'a');",
			table.NewQueryParameters(table.ValueParam("$k", types.Uint64Value(1)))); err != nil {
			return err
		}
		if _, err := tx.CommitTx(ctx); err != nil {
			return err
		}
		statement, err := s.Prepare(ctx, "DECLARE $k AS Uint64; SELECT v FROM kv WHERE k = $k;")
		if err != nil {
			return err
		}
		_, rows, err := statement.Execute(ctx, table.DefaultTxControl(),
			table.NewQueryParameters(table.ValueParam("$k", types.Uint64Value(1))))
		if err != nil {
			return err
		}
		require.NoError(t, rows.NextResultSetErr(ctx))
		require.True(t, rows.NextRow())
		var v string
		require.NoError(t, rows.ScanNamed(named.OptionalWithDefault("v", &v)))
		require.Equal(t, "a", v)

		explanation, err := s.Explain(ctx, "SELECT v FROM kv WHERE k = 1")
		if err != nil {
			return err
		}
		require.Contains(t, explanation.Plan, "TablePointLookup")
		return nil
	}, table.WithIdempotent())
	require.NoError(t, err)
}

func TestTableServiceCutsLongResults(t *testing.T) {
	t.Parallel()
	_, db := setup(t)
	kv(t, db, 0)
	fill(t, db, 1001, 10)
	for text, cut := range map[string]bool{"SELECT k FROM kv": true, "SELECT k FROM kv WHERE k < 1000": false} {
		err := db.Table().Do(t.Context(), func(ctx context.Context, s table.Session) error {
			_, rows, err := s.Execute(ctx, table.OnlineReadOnlyTxControl(), text, nil, options.WithIgnoreTruncated())
			if err != nil {
				return err
			}
			require.NoError(t, rows.NextResultSetErr(ctx))
			require.Equal(t, 1000, rows.CurrentResultSet().RowCount())
			require.Equal(t, cut, rows.CurrentResultSet().Truncated(), text)
			return nil
		})
		require.NoError(t, err)
	}
}

func TestTableServiceDropsTables(t *testing.T) {
	t.Parallel()
	_, db := setup(t)
	kv(t, db, 0)
	drop := func(ctx context.Context, s table.Session) error { return s.DropTable(ctx, "/local/kv") }
	require.NoError(t, db.Table().Do(t.Context(), drop))
	err := db.Table().Do(t.Context(), drop)
	require.True(t, ydb.IsOperationErrorSchemeError(err), "%v", err)
	err = db.Table().Do(t.Context(), func(ctx context.Context, s table.Session) error {
		control := table.TxControl(table.BeginTx(table.WithStaleReadOnly()))
		_, _, err := s.Execute(ctx, control, "SELECT 1", nil)
		return err
	})
	require.True(t, ydb.IsOperationError(err, Ydb.StatusIds_BAD_REQUEST), "the mode wants its commit: %v", err)
}

func TestBulkUpsert(t *testing.T) {
	t.Parallel()
	_, db := setup(t)
	kv(t, db, 0)
	rows := types.ListValue(
		types.StructValue(types.StructFieldValue("k", types.Uint64Value(1)), types.StructFieldValue("v", types.TextValue("a"))),
		types.StructValue(types.StructFieldValue("k", types.Uint64Value(2)), types.StructFieldValue("v", types.TextValue("b"))),
	)
	require.NoError(t, db.Table().BulkUpsert(t.Context(), "/local/kv", table.BulkUpsertDataRows(rows)))
	require.EqualValues(t, 2, number(t, db, "SELECT COUNT(*) FROM kv"))
	err := db.Table().BulkUpsert(t.Context(), "/local/nope", table.BulkUpsertDataRows(rows))
	require.True(t, ydb.IsOperationErrorSchemeError(err), "%v", err)
}

func TestDescribeTable(t *testing.T) {
	t.Parallel()
	_, db := setup(t)
	exec(t, db, `CREATE TABLE t (
		a Uint16 NOT NULL, b Utf8, at Timestamp, n Int32 DEFAULT 7,
		PRIMARY KEY (a, b)
	) WITH (AUTO_PARTITIONING_BY_LOAD = ENABLED, AUTO_PARTITIONING_MIN_PARTITIONS_COUNT = 4, TTL = Interval("PT1H") ON at)`)
	err := db.Table().Do(t.Context(), func(ctx context.Context, s table.Session) error {
		d, err := s.DescribeTable(ctx, "/local/t")
		if err != nil {
			return err
		}
		require.Equal(t, []string{"a", "b"}, d.PrimaryKey)
		require.Equal(t, "at", d.TimeToLiveSettings.ColumnName)
		require.EqualValues(t, 3600, d.TimeToLiveSettings.ExpireAfterSeconds)
		require.EqualValues(t, 4, d.PartitioningSettings.MinPartitionsCount)
		require.Equal(t, options.FeatureEnabled, d.PartitioningSettings.PartitioningByLoad)
		require.Equal(t, []string{"Uint16", "Optional<Utf8>", "Optional<Timestamp>", "Optional<Int32>"}, []string{
			d.Columns[0].Type.Yql(), d.Columns[1].Type.Yql(), d.Columns[2].Type.Yql(), d.Columns[3].Type.Yql(),
		})
		return nil
	})
	require.NoError(t, err)
}

func TestTableServiceRefusesByName(t *testing.T) {
	t.Parallel()
	_, db := setup(t)
	err := db.Table().Do(t.Context(), func(ctx context.Context, s table.Session) error {
		return s.CopyTable(ctx, "/local/b", "/local/a")
	})
	require.True(t, ydb.IsOperationError(err, Ydb.StatusIds_UNSUPPORTED), "%v", err)
	require.ErrorContains(t, err, "ydbembed does not implement Ydb.Table.V1.TableService/CopyTable")
}
