package ydbembed_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Query"
	"github.com/ydb-platform/ydb-go-sdk/v3"
	"github.com/ydb-platform/ydb-go-sdk/v3/meta"
	"github.com/ydb-platform/ydb-go-sdk/v3/query"
	"github.com/ydb-platform/ydb-go-sdk/v3/table/types"
	"google.golang.org/grpc/metadata"

	"github.com/taskfleet/taskfleet/pkg/ydbembed"
)

func TestCreateWriteRead(t *testing.T) {
	t.Parallel()
	_, db := setup(t)
	kv(t, db, 3)
	result, err := db.Query().Query(t.Context(), "SELECT k, v FROM kv WHERE k >= 2 ORDER BY k")
	require.NoError(t, err)
	var got []string
	for set, err := range result.ResultSets(t.Context()) {
		require.NoError(t, err)
		for row, err := range set.Rows(t.Context()) {
			require.NoError(t, err)
			var k uint64
			var v *string
			require.NoError(t, row.Scan(&k, &v))
			got = append(got, fmt.Sprint(k, *v))
		}
	}
	require.Equal(t, []string{"2old", "3old"}, got)
}

func TestEmptyResultKeepsItsColumns(t *testing.T) {
	t.Parallel()
	_, db := setup(t)
	kv(t, db, 0)
	set, err := db.Query().QueryResultSet(t.Context(), "SELECT k, v FROM kv")
	require.NoError(t, err)
	require.Equal(t, []string{"k", "v"}, set.Columns())
	require.Equal(t, []types.Type{types.TypeUint64, types.Optional(types.TypeUTF8)}, set.ColumnTypes())
}

func TestSeveralResultSetsComeInOrder(t *testing.T) {
	t.Parallel()
	_, db := setup(t)
	kv(t, db, 2)
	result, err := db.Query().Query(t.Context(), "SELECT COUNT(*) AS a FROM kv; SELECT k AS b FROM kv ORDER BY k; SELECT 1 AS c;")
	require.NoError(t, err)
	var columns []string
	for set, err := range result.ResultSets(t.Context()) {
		require.NoError(t, err)
		columns = append(columns, set.Columns()...)
	}
	require.Equal(t, []string{"a", "b", "c"}, columns)
}

// fill makes n rows of about size bytes by one batch.
func fill(t *testing.T, db *ydb.Driver, n, size int) {
	t.Helper()
	rows := make([]types.Value, n)
	for i := range rows {
		rows[i] = types.StructValue(
			types.StructFieldValue("k", types.Uint64Value(uint64(i))),
			types.StructFieldValue("v", types.TextValue(strings.Repeat("x", size))),
		)
	}
	exec(t, db, "UPSERT INTO kv SELECT k, v FROM AS_TABLE($rows)", query.WithParameters(
		ydb.ParamsBuilder().Param("$rows").Any(types.ListValue(rows...)).Build()))
}

func TestBigResultsComeInParts(t *testing.T) {
	t.Parallel()
	server, db := setup(t)
	kv(t, db, 0)
	fill(t, db, 5000, 1000)
	require.EqualValues(t, 5000, number(t, db, "SELECT COUNT(*) FROM kv"))

	client := rawClient(t, server)
	parts := client.run(text(client.session(), "SELECT k, v FROM kv"))
	require.GreaterOrEqual(t, len(parts), 5)
	rows := 0
	for _, p := range parts {
		require.Len(t, p.GetResultSet().GetColumns(), 2)
		require.Equal(t, Ydb.StatusIds_SUCCESS, p.GetStatus())
		rows += len(p.GetResultSet().GetRows())
	}
	require.Equal(t, 5000, rows)

	limited := text(client.session(), "SELECT k, v FROM kv LIMIT 100")
	limited.ResponsePartLimitBytes = 10_000
	require.GreaterOrEqual(t, len(client.run(limited)), 10)
}

func TestExplainAndTheOtherModes(t *testing.T) {
	t.Parallel()
	server, db := setup(t)
	kv(t, db, 1)
	var plan string
	require.NoError(t, db.Query().Exec(t.Context(), "SELECT v FROM kv WHERE k = 1",
		query.WithExecMode(query.ExecModeExplain),
		query.WithStatsMode(query.StatsModeNone, func(s query.Stats) { plan = s.QueryPlan() })))
	require.Contains(t, plan, "TablePointLookup")

	client := rawClient(t, server)
	session := client.session()
	for mode, want := range map[Ydb_Query.ExecMode]Ydb.StatusIds_StatusCode{
		Ydb_Query.ExecMode_EXEC_MODE_PARSE:       Ydb.StatusIds_SUCCESS,
		Ydb_Query.ExecMode_EXEC_MODE_VALIDATE:    Ydb.StatusIds_SCHEME_ERROR,
		Ydb_Query.ExecMode_EXEC_MODE_EXPLAIN:     Ydb.StatusIds_SCHEME_ERROR,
		Ydb_Query.ExecMode_EXEC_MODE_UNSPECIFIED: Ydb.StatusIds_BAD_REQUEST,
	} {
		req := text(session, "SELECT * FROM missing")
		req.ExecMode = mode
		require.Equal(t, want, client.status(req), mode.String())
	}
}

func TestStatisticsAndRequestUnits(t *testing.T) {
	t.Parallel()
	_, db := setup(t)
	kv(t, db, 10)
	var units uint64
	var stats query.Stats
	ctx := meta.WithTrailerCallback(t.Context(), func(md metadata.MD) { units = meta.ConsumedUnits(md) })
	require.NoError(t, db.Query().Exec(ctx, "UPDATE kv SET v = 'new' WHERE k <= 4",
		query.WithStatsMode(query.StatsModeFull, func(s query.Stats) { stats = s })))

	require.GreaterOrEqual(t, units, uint64(4+2*4), "rows read, and twice the rows written")
	require.NotEmpty(t, stats.QueryPlan())
	phase, ok := stats.NextPhase()
	require.True(t, ok)
	access, ok := phase.NextTableAccess()
	require.True(t, ok)
	require.Equal(t, "/local/kv", access.Name)
	require.EqualValues(t, 4, access.Reads.Rows)
	require.EqualValues(t, 4, access.Updates.Rows)
	require.NotZero(t, access.Updates.Bytes)
}

func TestWarningsComeWithTheResult(t *testing.T) {
	t.Parallel()
	server, _ := setup(t)
	client := rawClient(t, server)
	parts := client.run(text("", "DECLARE $x AS Int32?; SELECT 1;"))
	require.Len(t, parts[len(parts)-1].GetIssues(), 1)
	require.Equal(t, "Symbol $x is not used", parts[len(parts)-1].GetIssues()[0].GetMessage())
}

func TestImplicitSessions(t *testing.T) {
	t.Parallel()
	server, _ := setup(t)
	db := connect(t, server, ydb.WithQueryConfigOption(query.AllowImplicitSessions()))
	kv(t, db, 1)
	require.EqualValues(t, 1, number(t, db, "SELECT COUNT(*) FROM kv"))

	client := rawClient(t, server)
	require.Equal(t, Ydb.StatusIds_BAD_REQUEST, client.status(begin(text("", "SELECT 1"), serializable(), false)))
	require.Equal(t, Ydb.StatusIds_SUCCESS, client.status(begin(text("", "SELECT 1"), serializable(), true)))
}

func TestSchemeChangesWantNoTransaction(t *testing.T) {
	t.Parallel()
	server, db := setup(t)
	const ddl = "CREATE TABLE t (k Uint64, PRIMARY KEY (k))"
	err := db.Query().Exec(t.Context(), ddl, query.WithTxControl(query.SerializableReadWriteTxControl(query.CommitTx())))
	require.True(t, ydb.IsOperationError(err, Ydb.StatusIds_PRECONDITION_FAILED), "%v", err)
	require.ErrorContains(t, err, "Scheme operations cannot be executed inside transaction")

	client := rawClient(t, server)
	parts := client.run(text(client.session(), ddl))
	require.Len(t, parts, 1, "a statement without rows still answers")
	require.Equal(t, Ydb.StatusIds_SUCCESS, parts[0].GetStatus())
	require.Equal(t, Ydb.StatusIds_GENERIC_ERROR, client.status(text(client.session(), ddl+"; SELECT 1;")))
}

// TestStatuses pins what clients decide their retries by.
func TestStatuses(t *testing.T) {
	t.Parallel()
	server, db := setup(t)
	kv(t, db, 1)
	client := rawClient(t, server)
	session := client.session()
	for name, c := range map[string]struct {
		req  *Ydb_Query.ExecuteQueryRequest
		want Ydb.StatusIds_StatusCode
		text string
	}{
		"unknown session": {text("ydb://session/3?node_id=1&id=x", "SELECT 1"), Ydb.StatusIds_BAD_SESSION, "Session not found"},
		"unknown tx":      {in(text(session, "SELECT 1"), "none", true), Ydb.StatusIds_NOT_FOUND, "Transaction not found: none"},
		"empty text":      {text(session, ""), Ydb.StatusIds_BAD_REQUEST, "empty"},
		"long text":       {text(session, "SELECT '"+strings.Repeat("x", 200_000)+"'"), Ydb.StatusIds_BAD_REQUEST, "exceeds limit"},
		"no syntax":       {text(session, "SELEKT 1"), Ydb.StatusIds_GENERIC_ERROR, ""},
		"no table":        {text(session, "SELECT * FROM nope"), Ydb.StatusIds_SCHEME_ERROR, "Cannot find table 'db.[/local/nope]'"},
		"key exists":      {text(session, "INSERT INTO kv (k) VALUES (1)"), Ydb.StatusIds_PRECONDITION_FAILED, "Conflict with existing key."},
		"no parameter":    {text(session, "DECLARE $k AS Uint64; SELECT $k"), Ydb.StatusIds_BAD_REQUEST, ""},
		"write in snapshot": {
			begin(text(session, "UPSERT INTO kv (k) VALUES (9)"), snapshotReadOnly(), true), Ydb.StatusIds_GENERIC_ERROR, "read only",
		},
		"stale left open": {begin(text(session, "SELECT 1"), staleReadOnly(), false), Ydb.StatusIds_SUCCESS, ""},
		"stale":           {begin(text(session, "SELECT 1"), staleReadOnly(), true), Ydb.StatusIds_SUCCESS, ""},
		"no mode":         {begin(text(session, "SELECT 1"), &Ydb_Query.TransactionSettings{}, true), Ydb.StatusIds_SUCCESS, ""},
		"strict": {begin(text(session, "SELECT 1"), &Ydb_Query.TransactionSettings{
			TxMode: &Ydb_Query.TransactionSettings_StrictSerializableReadWrite{},
		}, true), Ydb.StatusIds_BAD_REQUEST, "StrictSerializableRW"},
	} {
		parts := client.run(c.req)
		last := parts[len(parts)-1]
		require.Equal(t, c.want, last.GetStatus(), "%s: %v", name, last.GetIssues())
		require.Contains(t, fmt.Sprint(last.GetIssues()), c.text, name)
	}
}

func TestCancelledQueryEndsItsTransaction(t *testing.T) {
	t.Parallel()
	server, db := setup(t)
	kv(t, db, 0)
	fill(t, db, 10_000, 1000) // more than the windows of the connection hold
	client := rawClient(t, server)
	session := client.session()
	tx, status := client.begin(session, serializable())
	require.Equal(t, Ydb.StatusIds_SUCCESS, status)
	require.Equal(t, Ydb.StatusIds_SUCCESS, client.status(in(text(session, "UPSERT INTO kv (k, v) VALUES (0, 'mine')"), tx, false)))

	ctx, cancel := context.WithCancel(t.Context())
	stream, err := client.ExecuteQuery(ctx, in(text(session, "SELECT * FROM kv"), tx, false))
	require.NoError(t, err)
	part, err := stream.Recv()
	require.NoError(t, err)
	require.Equal(t, tx, part.GetTxMeta().GetId(), "the open transaction stands in the first part")
	cancel()
	require.Equal(t, Ydb.StatusIds_NOT_FOUND, client.commit(session, tx))
	require.Zero(t, number(t, db, "SELECT COUNT(*) FROM kv WHERE v = 'mine'"))
}

func TestSessionTakesOneQueryAtATime(t *testing.T) {
	t.Parallel()
	server := start(t, ydbembed.Config{Memory: true})
	db := connect(t, server)
	kv(t, db, 0)
	fill(t, db, 10_000, 1000)
	client := rawClient(t, server)
	session := client.session()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream, err := client.ExecuteQuery(ctx, text(session, "SELECT * FROM kv"))
	require.NoError(t, err)
	_, err = stream.Recv()
	require.NoError(t, err)
	require.Equal(t, Ydb.StatusIds_SESSION_BUSY, client.status(text(session, "SELECT 1")))
	cancel()
	require.Equal(t, Ydb.StatusIds_SUCCESS, client.status(text(session, "SELECT 1")))
}
