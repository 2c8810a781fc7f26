package ydbembed_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/ydb-platform/ydb-go-genproto/Ydb_Query_V1"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Query"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/taskfleet/taskfleet/pkg/ydbembed"
)

// raw speaks the query service without the SDK, which hides what it gets.
type raw struct {
	Ydb_Query_V1.QueryServiceClient
	t *testing.T
}

func rawClient(t *testing.T, server *ydbembed.Server) *raw {
	t.Helper()
	cc, err := grpc.NewClient(server.Addr(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, cc.Close()) })
	return &raw{QueryServiceClient: Ydb_Query_V1.NewQueryServiceClient(cc), t: t}
}

// session creates and attaches a session; its stream ends with the test.
func (r *raw) session() string {
	r.t.Helper()
	created, err := r.CreateSession(r.t.Context(), &Ydb_Query.CreateSessionRequest{})
	require.NoError(r.t, err)
	require.Equal(r.t, Ydb.StatusIds_SUCCESS, created.GetStatus())
	stream := r.attach(r.t.Context(), created.GetSessionId())
	state, err := stream.Recv()
	require.NoError(r.t, err)
	require.Equal(r.t, Ydb.StatusIds_SUCCESS, state.GetStatus())
	return created.GetSessionId()
}

func (r *raw) attach(ctx context.Context, id string) Ydb_Query_V1.QueryService_AttachSessionClient {
	r.t.Helper()
	stream, err := r.AttachSession(ctx, &Ydb_Query.AttachSessionRequest{SessionId: id})
	require.NoError(r.t, err)
	return stream
}

func (r *raw) begin(session string, settings *Ydb_Query.TransactionSettings) (string, Ydb.StatusIds_StatusCode) {
	r.t.Helper()
	resp, err := r.BeginTransaction(r.t.Context(), &Ydb_Query.BeginTransactionRequest{SessionId: session, TxSettings: settings})
	require.NoError(r.t, err)
	return resp.GetTxMeta().GetId(), resp.GetStatus()
}

func (r *raw) commit(session, tx string) Ydb.StatusIds_StatusCode {
	r.t.Helper()
	resp, err := r.CommitTransaction(r.t.Context(), &Ydb_Query.CommitTransactionRequest{SessionId: session, TxId: tx})
	require.NoError(r.t, err)
	return resp.GetStatus()
}

// run executes a query and returns all parts of its answer.
func (r *raw) run(req *Ydb_Query.ExecuteQueryRequest) []*Ydb_Query.ExecuteQueryResponsePart {
	r.t.Helper()
	stream, err := r.ExecuteQuery(r.t.Context(), req)
	require.NoError(r.t, err)
	var parts []*Ydb_Query.ExecuteQueryResponsePart
	for {
		part, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			require.NotEmpty(r.t, parts, "a query answers with one part at least")
			return parts
		}
		require.NoError(r.t, err)
		parts = append(parts, part)
	}
}

// status executes a query and returns the status it ends with.
func (r *raw) status(req *Ydb_Query.ExecuteQueryRequest) Ydb.StatusIds_StatusCode {
	r.t.Helper()
	parts := r.run(req)
	return parts[len(parts)-1].GetStatus()
}

func text(session, yql string) *Ydb_Query.ExecuteQueryRequest {
	return &Ydb_Query.ExecuteQueryRequest{
		SessionId: session, ExecMode: Ydb_Query.ExecMode_EXEC_MODE_EXECUTE,
		Query: &Ydb_Query.ExecuteQueryRequest_QueryContent{QueryContent: &Ydb_Query.QueryContent{Text: yql}},
	}
}

func in(req *Ydb_Query.ExecuteQueryRequest, tx string, commit bool) *Ydb_Query.ExecuteQueryRequest {
	req.TxControl = &Ydb_Query.TransactionControl{TxSelector: &Ydb_Query.TransactionControl_TxId{TxId: tx}, CommitTx: commit}
	return req
}

func begin(req *Ydb_Query.ExecuteQueryRequest, settings *Ydb_Query.TransactionSettings, commit bool) *Ydb_Query.ExecuteQueryRequest {
	req.TxControl = &Ydb_Query.TransactionControl{TxSelector: &Ydb_Query.TransactionControl_BeginTx{BeginTx: settings}, CommitTx: commit}
	return req
}

func serializable() *Ydb_Query.TransactionSettings {
	return &Ydb_Query.TransactionSettings{TxMode: &Ydb_Query.TransactionSettings_SerializableReadWrite{
		SerializableReadWrite: &Ydb_Query.SerializableModeSettings{},
	}}
}

func snapshotReadOnly() *Ydb_Query.TransactionSettings {
	return &Ydb_Query.TransactionSettings{TxMode: &Ydb_Query.TransactionSettings_SnapshotReadOnly{
		SnapshotReadOnly: &Ydb_Query.SnapshotModeSettings{},
	}}
}

func staleReadOnly() *Ydb_Query.TransactionSettings {
	return &Ydb_Query.TransactionSettings{TxMode: &Ydb_Query.TransactionSettings_StaleReadOnly{
		StaleReadOnly: &Ydb_Query.StaleModeSettings{},
	}}
}
