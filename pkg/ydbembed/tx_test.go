package ydbembed_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Query"
	"github.com/ydb-platform/ydb-go-sdk/v3"
	"github.com/ydb-platform/ydb-go-sdk/v3/query"
)

// TestConflicts runs a transaction that reads, lets another client commit, and
// then writes and commits.
func TestConflicts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		read, other, write string
		settings           query.TransactionSettings
		conflict           bool
	}{
		"point": {
			read: "SELECT v FROM kv WHERE k = 2", other: "UPSERT INTO kv (k, v) VALUES (2, 'theirs')",
			write: "UPSERT INTO kv (k, v) VALUES (9, 'mine')", conflict: true,
		},
		"another point": {
			read: "SELECT v FROM kv WHERE k = 2", other: "UPSERT INTO kv (k, v) VALUES (3, 'theirs')",
			write: "UPSERT INTO kv (k, v) VALUES (9, 'mine')",
		},
		"range": {
			read: "SELECT COUNT(*) FROM kv WHERE k >= 2 AND k < 4", other: "DELETE FROM kv WHERE k = 3",
			write: "UPSERT INTO kv (k, v) VALUES (9, 'mine')", conflict: true,
		},
		"outside the range": {
			read: "SELECT COUNT(*) FROM kv WHERE k >= 2 AND k < 4", other: "DELETE FROM kv WHERE k = 4",
			write: "UPSERT INTO kv (k, v) VALUES (9, 'mine')",
		},
		"phantom": {
			read: "SELECT COUNT(*) FROM kv WHERE k > 5", other: "UPSERT INTO kv (k, v) VALUES (7, 'theirs')",
			write: "UPSERT INTO kv (k, v) VALUES (9, 'mine')", conflict: true,
		},
		"blind writers": {
			read: "UPSERT INTO kv (k, v) VALUES (2, 'mine')", other: "UPSERT INTO kv (k, v) VALUES (2, 'theirs')",
			write: "UPSERT INTO kv (k, v) VALUES (3, 'mine')",
		},
		"update of one row": {
			read: "UPDATE kv SET v = 'mine' WHERE k = 2", other: "UPDATE kv SET v = 'theirs' WHERE k = 2",
			write: "UPSERT INTO kv (k, v) VALUES (9, 'mine')", conflict: true,
		},
		"update of different rows": {
			read: "UPDATE kv SET v = 'mine' WHERE k = 2", other: "UPDATE kv SET v = 'theirs' WHERE k = 3",
			write: "UPSERT INTO kv (k, v) VALUES (9, 'mine')",
		},
		"reader only": {
			read: "SELECT COUNT(*) FROM kv", other: "UPSERT INTO kv (k, v) VALUES (7, 'theirs')", write: "SELECT 1",
		},
		"snapshot read-write, read": {
			read: "SELECT v FROM kv WHERE k = 2", other: "UPSERT INTO kv (k, v) VALUES (2, 'theirs')",
			write:    "UPSERT INTO kv (k, v) VALUES (9, 'mine')",
			settings: query.TxSettings(query.WithSnapshotReadWrite()),
		},
		"snapshot read-write, write": {
			read: "SELECT v FROM kv WHERE k = 2", other: "UPSERT INTO kv (k, v) VALUES (2, 'theirs')",
			write:    "UPSERT INTO kv (k, v) VALUES (2, 'mine')",
			settings: query.TxSettings(query.WithSnapshotReadWrite()), conflict: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, db := setup(t)
			kv(t, db, 4)
			other := connect(t, server)
			attempts := 0
			err := db.Query().DoTx(t.Context(), func(ctx context.Context, tx query.TxActor) error {
				attempts++
				if err := tx.Exec(ctx, c.read); err != nil {
					return err
				}
				if attempts == 1 {
					exec(t, other, c.other)
				}
				return tx.Exec(ctx, c.write)
			}, query.WithTxSettings(c.settings))
			require.NoError(t, err)
			want := 1
			if c.conflict {
				want = 2
			}
			require.Equal(t, want, attempts)
		})
	}
}

func TestConflictHasYDBsIssue(t *testing.T) {
	t.Parallel()
	_, db := setup(t)
	kv(t, db, 1)
	err := db.Query().Do(t.Context(), func(ctx context.Context, s query.Session) error {
		tx, err := s.Begin(ctx, query.TxSettings(query.WithSerializableReadWrite()))
		if err != nil {
			return err
		}
		if err := tx.Exec(ctx, "SELECT v FROM kv WHERE k = 1"); err != nil {
			return err
		}
		exec(t, db, "UPSERT INTO kv (k, v) VALUES (1, 'theirs')")
		err = tx.Exec(ctx, "UPSERT INTO kv (k, v) VALUES (2, 'mine')", query.WithCommit())
		require.True(t, ydb.IsOperationErrorTransactionLocksInvalidated(err), "%v", err)
		require.ErrorContains(t, err, "Transaction locks invalidated. Table: `/local/kv`")
		return nil
	})
	require.NoError(t, err)
}

func TestWaysToCommit(t *testing.T) {
	t.Parallel()
	write := func(ctx context.Context, tx query.TxActor, options ...query.ExecuteOption) error {
		return tx.Exec(ctx, "UPSERT INTO kv (k, v) VALUES (1, 'new')", options...)
	}
	for name, run := range map[string]func(ctx context.Context, db *ydb.Driver) error{
		"by the client": func(ctx context.Context, db *ydb.Driver) error {
			return db.Query().DoTx(ctx, func(ctx context.Context, tx query.TxActor) error { return write(ctx, tx) })
		},
		"with the last statement": func(ctx context.Context, db *ydb.Driver) error {
			return db.Query().DoTx(ctx, func(ctx context.Context, tx query.TxActor) error {
				return write(ctx, tx, query.WithCommit())
			})
		},
		"of a lazy transaction": func(ctx context.Context, db *ydb.Driver) error {
			return db.Query().DoTx(ctx, func(ctx context.Context, tx query.TxActor) error {
				if _, err := tx.QueryRow(ctx, "SELECT COUNT(*) FROM kv"); err != nil {
					return err
				}
				return write(ctx, tx)
			}, query.WithLazyTx(true))
		},
		"of a lazy transaction with the last statement": func(ctx context.Context, db *ydb.Driver) error {
			return db.Query().DoTx(ctx, func(ctx context.Context, tx query.TxActor) error {
				return write(ctx, tx, query.WithCommit())
			}, query.WithLazyTx(true))
		},
		"by itself": func(ctx context.Context, db *ydb.Driver) error {
			return db.Query().Exec(ctx, "UPSERT INTO kv (k, v) VALUES (1, 'new')")
		},
		"in one request": func(ctx context.Context, db *ydb.Driver) error {
			return db.Query().Exec(ctx, "UPSERT INTO kv (k, v) VALUES (1, 'new')",
				query.WithTxControl(query.SerializableReadWriteTxControl(query.CommitTx())))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, db := setup(t)
			kv(t, db, 0)
			require.NoError(t, run(t.Context(), db))
			require.EqualValues(t, 1, number(t, db, "SELECT COUNT(*) FROM kv WHERE v = 'new'"))
		})
	}
}

func TestRollback(t *testing.T) {
	t.Parallel()
	_, db := setup(t)
	kv(t, db, 0)
	err := db.Query().DoTx(t.Context(), func(ctx context.Context, tx query.TxActor) error {
		require.NoError(t, tx.Exec(ctx, "UPSERT INTO kv (k, v) VALUES (1, 'mine')"))
		row, err := tx.QueryRow(ctx, "SELECT COUNT(*) AS n FROM kv")
		require.NoError(t, err)
		var n uint64
		require.NoError(t, row.Scan(&n))
		require.EqualValues(t, 1, n, "a transaction sees its own writes")
		require.Zero(t, number(t, db, "SELECT COUNT(*) FROM kv"), "and nobody else does")
		return context.Canceled
	})
	require.ErrorIs(t, err, context.Canceled)
	require.Zero(t, number(t, db, "SELECT COUNT(*) FROM kv"))
}

func TestErrorEndsTheTransaction(t *testing.T) {
	t.Parallel()
	server, db := setup(t)
	kv(t, db, 1)
	client := rawClient(t, server)
	session := client.session()
	for name, bad := range map[string]string{
		"runtime": "INSERT INTO kv (k) VALUES (1)", "compile": "SELECT nope FROM kv", "parse": "SELEKT",
	} {
		tx, _ := client.begin(session, serializable())
		require.Equal(t, Ydb.StatusIds_SUCCESS, client.status(in(text(session, "UPSERT INTO kv (k) VALUES (5)"), tx, false)), name)
		require.NotEqual(t, Ydb.StatusIds_SUCCESS, client.status(in(text(session, bad), tx, false)), name)
		require.Equal(t, Ydb.StatusIds_NOT_FOUND, client.status(in(text(session, "SELECT 1"), tx, false)), name)
		require.Equal(t, Ydb.StatusIds_NOT_FOUND, client.commit(session, tx), name)
	}
	require.EqualValues(t, 1, number(t, db, "SELECT COUNT(*) FROM kv"))
}

func TestOpenTransactionsAreBounded(t *testing.T) {
	t.Parallel()
	server, _ := setup(t)
	client := rawClient(t, server)
	session := client.session()
	for range 10 {
		_, status := client.begin(session, serializable())
		require.Equal(t, Ydb.StatusIds_SUCCESS, status)
	}
	_, status := client.begin(session, serializable())
	require.Equal(t, Ydb.StatusIds_BAD_SESSION, status)
	_, status = client.begin(client.session(), staleReadOnly())
	require.Equal(t, Ydb.StatusIds_BAD_REQUEST, status, "this mode is for one query")
}

func TestAbandonedSnapshotsMakeRoom(t *testing.T) {
	t.Parallel()
	server, _ := setup(t)
	client := rawClient(t, server)
	session := client.session()
	var last string
	for range 30 {
		parts := client.run(begin(text(session, "SELECT 1"), snapshotReadOnly(), false))
		last = parts[0].GetTxMeta().GetId()
		require.NotEmpty(t, last)
	}
	require.Equal(t, Ydb.StatusIds_SUCCESS, client.status(in(text(session, "SELECT 1"), last, true)))
}

func TestTxMetaTellsWhatIsOpen(t *testing.T) {
	t.Parallel()
	server, db := setup(t)
	kv(t, db, 1)
	client := rawClient(t, server)
	session := client.session()
	id := func(req *Ydb_Query.ExecuteQueryRequest) string { return client.run(req)[0].GetTxMeta().GetId() }

	require.Empty(t, id(text(session, "SELECT 1")))
	require.Empty(t, id(begin(text(session, "SELECT 1"), serializable(), true)))
	tx := id(begin(text(session, "SELECT * FROM kv"), serializable(), false))
	require.NotEmpty(t, tx)
	require.Equal(t, tx, id(in(text(session, "SELECT * FROM kv"), tx, false)))
	require.Empty(t, id(in(text(session, "SELECT * FROM kv"), tx, true)))
	require.Equal(t, Ydb.StatusIds_NOT_FOUND, client.commit(session, tx))
}

func TestSnapshotStandsStill(t *testing.T) {
	t.Parallel()
	server, db := setup(t)
	kv(t, db, 2)
	other := connect(t, server)
	err := db.Query().DoTx(t.Context(), func(ctx context.Context, tx query.TxActor) error {
		for i := range 2 {
			row, err := tx.QueryRow(ctx, "SELECT COUNT(*) FROM kv")
			if err != nil {
				return err
			}
			var n uint64
			require.NoError(t, row.Scan(&n))
			require.EqualValues(t, 2, n)
			if i == 0 {
				exec(t, other, "UPSERT INTO kv (k) VALUES (50)")
			}
		}
		return nil
	}, query.WithTxSettings(query.TxSettings(query.WithSnapshotReadOnly())))
	require.NoError(t, err)
}
