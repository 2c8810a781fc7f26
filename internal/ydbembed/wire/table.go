package wire

import (
	"context"
	"strings"

	"github.com/ydb-platform/ydb-go-genproto/Ydb_Table_V1"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Table"

	"github.com/taskfleet/taskfleet/internal/ydbembed/issue"
	"github.com/taskfleet/taskfleet/internal/ydbembed/session"
	"github.com/taskfleet/taskfleet/internal/ydbembed/store"
)

// tableService serves the older API: sessions without a stream and results that
// come in one message, at most a thousand rows of each. What it lacks is
// answered with UNSUPPORTED by the interceptors.
type tableService struct {
	Ydb_Table_V1.UnimplementedTableServiceServer
	sessions *session.Manager
	store    *store.Store
	database string
}

func (t *tableService) CreateSession(context.Context, *Ydb_Table.CreateSessionRequest) (*Ydb_Table.CreateSessionResponse, error) {
	s, err := t.sessions.Create()
	if err != nil {
		return nil, err
	}
	op, err := operation(&Ydb_Table.CreateSessionResult{SessionId: s.ID()})
	return &Ydb_Table.CreateSessionResponse{Operation: op}, err
}

func (t *tableService) DeleteSession(_ context.Context, req *Ydb_Table.DeleteSessionRequest) (*Ydb_Table.DeleteSessionResponse, error) {
	if err := t.sessions.Delete(req.GetSessionId()); err != nil {
		return nil, err
	}
	op, err := operation(nil)
	return &Ydb_Table.DeleteSessionResponse{Operation: op}, err
}

func (t *tableService) KeepAlive(_ context.Context, req *Ydb_Table.KeepAliveRequest) (*Ydb_Table.KeepAliveResponse, error) {
	s, err := t.sessions.Get(req.GetSessionId())
	if err != nil {
		return nil, err
	}
	state := Ydb_Table.KeepAliveResult_SESSION_STATUS_READY
	if s.Touch() {
		state = Ydb_Table.KeepAliveResult_SESSION_STATUS_BUSY
	}
	op, err := operation(&Ydb_Table.KeepAliveResult{SessionStatus: state})
	return &Ydb_Table.KeepAliveResponse{Operation: op}, err
}

func (t *tableService) BeginTransaction(ctx context.Context, req *Ydb_Table.BeginTransactionRequest) (*Ydb_Table.BeginTransactionResponse, error) {
	s, err := t.sessions.Get(req.GetSessionId())
	if err != nil {
		return nil, err
	}
	mode, err := tableMode(req.GetTxSettings())
	if err != nil {
		return nil, err
	}
	id, err := s.Begin(ctx, mode)
	if err != nil {
		return nil, err
	}
	op, err := operation(&Ydb_Table.BeginTransactionResult{TxMeta: &Ydb_Table.TransactionMeta{Id: id}})
	return &Ydb_Table.BeginTransactionResponse{Operation: op}, err
}

func (t *tableService) CommitTransaction(ctx context.Context, req *Ydb_Table.CommitTransactionRequest) (*Ydb_Table.CommitTransactionResponse, error) {
	s, err := t.sessions.Get(req.GetSessionId())
	if err != nil {
		return nil, err
	}
	if err := s.Commit(ctx, req.GetTxId()); err != nil {
		return nil, err
	}
	op, err := operation(&Ydb_Table.CommitTransactionResult{})
	return &Ydb_Table.CommitTransactionResponse{Operation: op}, err
}

func (t *tableService) RollbackTransaction(ctx context.Context, req *Ydb_Table.RollbackTransactionRequest) (*Ydb_Table.RollbackTransactionResponse, error) {
	s, err := t.sessions.Get(req.GetSessionId())
	if err != nil {
		return nil, err
	}
	if err := s.Rollback(ctx, req.GetTxId()); err != nil {
		return nil, err
	}
	op, err := operation(nil)
	return &Ydb_Table.RollbackTransactionResponse{Operation: op}, err
}

func (t *tableService) ExecuteSchemeQuery(ctx context.Context, req *Ydb_Table.ExecuteSchemeQueryRequest) (*Ydb_Table.ExecuteSchemeQueryResponse, error) {
	request := session.Request{SessionID: req.GetSessionId(), Kind: "ExecuteSchemeQuery", Text: req.GetYqlText(), SchemeOnly: true}
	if _, err := t.sessions.Execute(ctx, request, &collector{}); err != nil {
		return nil, err
	}
	op, err := operation(nil)
	return &Ydb_Table.ExecuteSchemeQueryResponse{Operation: op}, err
}

func (t *tableService) DropTable(_ context.Context, req *Ydb_Table.DropTableRequest) (*Ydb_Table.DropTableResponse, error) {
	path, err := absolutePath(t.database, req.GetPath())
	if err != nil {
		return nil, err
	}
	if err := t.store.DropTable(path); err != nil {
		return nil, schemeError(path, err)
	}
	op, err := operation(nil)
	return &Ydb_Table.DropTableResponse{Operation: op}, err
}

// BulkUpsert is an UPSERT of all rows, atomic where YDB's is not.
func (t *tableService) BulkUpsert(ctx context.Context, req *Ydb_Table.BulkUpsertRequest) (*Ydb_Table.BulkUpsertResponse, error) {
	if req.GetDataFormat() != nil {
		return nil, issue.Unsupported("BulkUpsert in Arrow or CSV format is not supported")
	}
	path, err := absolutePath(t.database, req.GetTable())
	if err != nil {
		return nil, err
	}
	if _, ok := t.store.Catalog().Table(path); !ok || strings.Contains(path, "`") {
		return nil, issue.TableNotFound(path)
	}
	request := session.Request{
		Kind: "BulkUpsert", DataOnly: true,
		Text: "UPSERT INTO `" + path + "` SELECT * FROM AS_TABLE($rows);",
	}
	if err := setParams(&request, map[string]*Ydb.TypedValue{"$rows": req.GetRows()}); err != nil {
		return nil, err
	}
	if _, err := t.sessions.Execute(ctx, request, &collector{}); err != nil {
		return nil, err
	}
	op, err := operation(&Ydb_Table.BulkUpsertResult{})
	return &Ydb_Table.BulkUpsertResponse{Operation: op}, err
}

// tableMode reads a transaction mode; without one it is serializable.
func tableMode(settings *Ydb_Table.TransactionSettings) (session.Mode, error) {
	switch m := settings.GetTxMode().(type) {
	case nil, *Ydb_Table.TransactionSettings_SerializableReadWrite:
		return session.Serializable, nil
	case *Ydb_Table.TransactionSettings_SnapshotReadOnly:
		return session.SnapshotReadOnly, nil
	case *Ydb_Table.TransactionSettings_SnapshotReadWrite:
		return session.SnapshotReadWrite, nil
	case *Ydb_Table.TransactionSettings_OnlineReadOnly:
		return session.OnlineReadOnly, nil
	case *Ydb_Table.TransactionSettings_StaleReadOnly:
		return session.StaleReadOnly, nil
	default:
		return 0, issue.BadRequest("Unknown transaction mode: %T", m)
	}
}
