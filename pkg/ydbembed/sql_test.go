package ydbembed_test

import (
	"database/sql"
	"testing"
	"testing/fstest"

	"github.com/pressly/goose/v3"
	"github.com/stretchr/testify/require"
	"github.com/ydb-platform/ydb-go-sdk/v3"
)

// openSQL opens database/sql over the query service.
func openSQL(t *testing.T, db *ydb.Driver, options ...ydb.ConnectorOption) *sql.DB {
	t.Helper()
	connector, err := ydb.Connector(db, options...)
	require.NoError(t, err)
	pool := sql.OpenDB(connector)
	t.Cleanup(func() {
		require.NoError(t, pool.Close())
		require.NoError(t, connector.Close())
	})
	return pool
}

func TestDatabaseSQL(t *testing.T) {
	t.Parallel()
	_, db := setup(t)
	kv(t, db, 3)
	pool := openSQL(t, db, ydb.WithAutoDeclare(), ydb.WithNumericArgs())
	ctx := t.Context()
	require.NoError(t, pool.PingContext(ctx))

	for _, c := range []struct {
		text string
		args []any
		want int64
	}{
		{"UPSERT INTO kv (k, v) VALUES ($1, $2), ($3, $2)", []any{uint64(1), "new", uint64(7)}, 2},
		{"UPDATE kv SET v = $1 WHERE k >= $2", []any{"newer", uint64(2)}, 3},
		{"UPDATE kv SET v = $1 WHERE k = $2", []any{"x", uint64(99)}, 0},
		{"DELETE FROM kv WHERE k = $1", []any{uint64(7)}, 1},
	} {
		result, err := pool.ExecContext(ctx, c.text, c.args...)
		require.NoError(t, err, c.text)
		n, err := result.RowsAffected()
		require.NoError(t, err, c.text)
		require.Equal(t, c.want, n, c.text)
	}

	rows, err := pool.QueryContext(ctx, "SELECT k, v FROM kv WHERE k > $1 ORDER BY k", uint64(1))
	require.NoError(t, err)
	defer rows.Close()
	var got []string
	for rows.Next() {
		var k uint64
		var v sql.NullString
		require.NoError(t, rows.Scan(&k, &v))
		got = append(got, v.String)
	}
	require.NoError(t, rows.Err())
	require.Equal(t, []string{"newer", "newer"}, got)

	none, err := pool.QueryContext(ctx, "SELECT k FROM kv WHERE k = $1", uint64(1000))
	require.NoError(t, err)
	require.False(t, none.Next())
	require.NoError(t, none.Close())
}

func TestDatabaseSQLTransactions(t *testing.T) {
	t.Parallel()
	_, db := setup(t)
	kv(t, db, 0)
	pool := openSQL(t, db)
	for _, commit := range []bool{false, true} {
		tx, err := pool.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		_, err = tx.ExecContext(t.Context(), "UPSERT INTO kv (k) VALUES (1)")
		require.NoError(t, err)
		if commit {
			require.NoError(t, tx.Commit())
		} else {
			require.NoError(t, tx.Rollback())
		}
		var n uint64
		require.NoError(t, pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM kv").Scan(&n))
		require.Equal(t, commit, n == 1)
	}
	tx, err := pool.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelSnapshot, ReadOnly: true})
	require.NoError(t, err)
	var n uint64
	require.NoError(t, tx.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM kv").Scan(&n))
	require.NoError(t, tx.Commit())
}

func TestGoose(t *testing.T) {
	t.Parallel()
	_, db := setup(t)
	pool := openSQL(t, db,
		ydb.WithDefaultQueryMode(ydb.ScriptingQueryMode), ydb.WithFakeTx(ydb.ScriptingQueryMode),
		ydb.WithAutoDeclare(), ydb.WithNumericArgs(), ydb.WithTablePathPrefix("/local/fleet"))
	provider, err := goose.NewProvider(goose.DialectYdB, pool, fstest.MapFS{
		"00001_tasks.sql": {Data: []byte(`-- +goose Up
CREATE TABLE tasks (id Utf8 NOT NULL, n Int64, PRIMARY KEY (id));
-- +goose Down
DROP TABLE tasks;
`)},
		"00002_column.sql": {Data: []byte(`-- +goose Up
ALTER TABLE tasks ADD COLUMN note Utf8;
UPSERT INTO tasks (id, n, note) VALUES ('first', 1, 'made by a migration');
-- +goose Down
ALTER TABLE tasks DROP COLUMN note;
`)},
	})
	require.NoError(t, err)
	ctx := t.Context()

	results, err := provider.Up(ctx)
	require.NoError(t, err)
	require.Len(t, results, 2)
	var note sql.NullString
	require.NoError(t, pool.QueryRowContext(ctx, "SELECT note FROM tasks WHERE id = 'first'").Scan(&note))
	require.Equal(t, "made by a migration", note.String)

	results, err = provider.Up(ctx)
	require.NoError(t, err)
	require.Empty(t, results, "nothing is left to do")

	status, err := provider.Status(ctx)
	require.NoError(t, err)
	require.Equal(t, []goose.State{goose.StateApplied, goose.StateApplied}, []goose.State{status[0].State, status[1].State})

	_, err = provider.Down(ctx)
	require.NoError(t, err)
	version, err := provider.GetDBVersion(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 1, version)
	_, err = provider.DownTo(ctx, 0)
	require.NoError(t, err)
	entries, err := db.Scheme().ListDirectory(ctx, "/local/fleet")
	require.NoError(t, err)
	require.Len(t, entries.Children, 1, "the table of goose")
}
