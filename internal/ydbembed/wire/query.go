package wire

import (
	"context"

	"github.com/ydb-platform/ydb-go-genproto/Ydb_Query_V1"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Query"

	"github.com/taskfleet/taskfleet/internal/ydbembed/issue"
	"github.com/taskfleet/taskfleet/internal/ydbembed/session"
)

// queryService serves sessions, transactions and queries.
type queryService struct {
	Ydb_Query_V1.UnimplementedQueryServiceServer
	sessions *session.Manager
}

func (q *queryService) CreateSession(context.Context, *Ydb_Query.CreateSessionRequest) (*Ydb_Query.CreateSessionResponse, error) {
	s, err := q.sessions.Create()
	if err != nil {
		return nil, err
	}
	return &Ydb_Query.CreateSessionResponse{Status: Ydb.StatusIds_SUCCESS, SessionId: s.ID(), NodeId: nodeID}, nil
}

func (q *queryService) DeleteSession(_ context.Context, req *Ydb_Query.DeleteSessionRequest) (*Ydb_Query.DeleteSessionResponse, error) {
	if err := q.sessions.Delete(req.GetSessionId()); err != nil {
		return nil, err
	}
	return &Ydb_Query.DeleteSessionResponse{Status: Ydb.StatusIds_SUCCESS}, nil
}

// AttachSession is the session's life line: the stream stays open as long as
// the session lives, and the session ends with the stream.
func (q *queryService) AttachSession(req *Ydb_Query.AttachSessionRequest, stream Ydb_Query_V1.QueryService_AttachSessionServer) error {
	s, err := q.sessions.Attach(req.GetSessionId())
	if err != nil {
		return err
	}
	defer q.sessions.Delete(s.ID()) //nolint:errcheck // it may have ended already
	if err := stream.Send(&Ydb_Query.SessionState{Status: Ydb.StatusIds_SUCCESS}); err != nil {
		return err
	}
	select {
	case <-s.Done():
	case <-stream.Context().Done():
		return nil
	}
	select {
	case <-s.ShuttingDown():
		return stream.Send(&Ydb_Query.SessionState{
			Status:      Ydb.StatusIds_SUCCESS,
			SessionHint: &Ydb_Query.SessionState_SessionShutdown{SessionShutdown: &Ydb_Query.SessionShutdownHint{}},
		})
	default:
		return nil
	}
}

func (q *queryService) BeginTransaction(ctx context.Context, req *Ydb_Query.BeginTransactionRequest) (*Ydb_Query.BeginTransactionResponse, error) {
	s, err := q.sessions.Get(req.GetSessionId())
	if err != nil {
		return nil, err
	}
	mode, err := queryMode(req.GetTxSettings())
	if err != nil {
		return nil, err
	}
	id, err := s.Begin(ctx, mode)
	if err != nil {
		return nil, err
	}
	return &Ydb_Query.BeginTransactionResponse{Status: Ydb.StatusIds_SUCCESS, TxMeta: &Ydb_Query.TransactionMeta{Id: id}}, nil
}

func (q *queryService) CommitTransaction(ctx context.Context, req *Ydb_Query.CommitTransactionRequest) (*Ydb_Query.CommitTransactionResponse, error) {
	s, err := q.sessions.Get(req.GetSessionId())
	if err != nil {
		return nil, err
	}
	if err := s.Commit(ctx, req.GetTxId()); err != nil {
		return nil, err
	}
	return &Ydb_Query.CommitTransactionResponse{Status: Ydb.StatusIds_SUCCESS}, nil
}

func (q *queryService) RollbackTransaction(ctx context.Context, req *Ydb_Query.RollbackTransactionRequest) (*Ydb_Query.RollbackTransactionResponse, error) {
	s, err := q.sessions.Get(req.GetSessionId())
	if err != nil {
		return nil, err
	}
	if err := s.Rollback(ctx, req.GetTxId()); err != nil {
		return nil, err
	}
	return &Ydb_Query.RollbackTransactionResponse{Status: Ydb.StatusIds_SUCCESS}, nil
}

func (q *queryService) ExecuteQuery(req *Ydb_Query.ExecuteQueryRequest, stream Ydb_Query_V1.QueryService_ExecuteQueryServer) error {
	if err := checkExecute(req); err != nil {
		return err
	}
	request := session.Request{SessionID: req.GetSessionId(), Kind: "ExecuteQuery", Text: req.GetQueryContent().GetText()}
	if err := setParams(&request, req.GetParameters()); err != nil {
		return err
	}
	if req.GetExecMode() != Ydb_Query.ExecMode_EXEC_MODE_EXECUTE {
		return q.explain(req, request, stream)
	}
	var err error
	if request.Control, err = queryControl(req.GetTxControl()); err != nil {
		return err
	}
	w := newPartWriter(req, stream.Send)
	outcome, err := q.sessions.Execute(stream.Context(), request, w)
	if err != nil {
		return err
	}
	part := w.last()
	part.Issues = issue.Proto(outcome.Plan.Warnings)
	if mode := req.GetStatsMode(); mode >= Ydb_Query.StatsMode_STATS_MODE_BASIC {
		part.ExecStats = statsProto(outcome, mode >= Ydb_Query.StatsMode_STATS_MODE_FULL)
	}
	stream.SetTrailer(consumedUnits(outcome))
	return stream.Send(part)
}

// explain compiles only. The plan stands in the only part, whatever statistics
// were asked for: database/sql looks nowhere else.
func (q *queryService) explain(req *Ydb_Query.ExecuteQueryRequest, request session.Request, stream Ydb_Query_V1.QueryService_ExecuteQueryServer) error {
	if request.SessionID != "" {
		if _, err := q.sessions.Get(request.SessionID); err != nil {
			return err
		}
	}
	part := &Ydb_Query.ExecuteQueryResponsePart{Status: Ydb.StatusIds_SUCCESS}
	if req.GetExecMode() == Ydb_Query.ExecMode_EXEC_MODE_PARSE {
		if err := q.sessions.Parse(request.Text); err != nil {
			return err
		}
		return stream.Send(part)
	}
	outcome, err := q.sessions.Compile(request)
	if err != nil {
		return err
	}
	part.Issues = issue.Proto(outcome.Plan.Warnings)
	if req.GetExecMode() == Ydb_Query.ExecMode_EXEC_MODE_EXPLAIN {
		part.ExecStats = statsProto(outcome, true)
	}
	return stream.Send(part)
}

// checkExecute refuses what a request may ask for and the server has not.
func checkExecute(req *Ydb_Query.ExecuteQueryRequest) error {
	switch {
	case req.GetQueryContent().GetText() == "":
		return issue.BadRequest("Query text is empty")
	case req.GetQueryContent().GetSyntax() == Ydb_Query.Syntax_SYNTAX_PG:
		return issue.Unsupported("PostgreSQL syntax is not supported")
	case req.GetResultSetFormat() == Ydb.ResultSet_FORMAT_ARROW:
		return issue.Unsupported("Results in Arrow format are not supported")
	}
	switch req.GetExecMode() {
	case Ydb_Query.ExecMode_EXEC_MODE_PARSE, Ydb_Query.ExecMode_EXEC_MODE_VALIDATE,
		Ydb_Query.ExecMode_EXEC_MODE_EXPLAIN, Ydb_Query.ExecMode_EXEC_MODE_EXECUTE:
		return nil
	}
	return issue.BadRequest("Unexpected query mode: %s", req.GetExecMode())
}

func queryControl(c *Ydb_Query.TransactionControl) (session.Control, error) {
	if c == nil {
		return session.Control{}, nil
	}
	out := session.Control{ID: c.GetTxId(), Commit: c.GetCommitTx()}
	if begin := c.GetBeginTx(); begin != nil {
		mode, err := queryMode(begin)
		if err != nil {
			return out, err
		}
		out.Begin, out.Mode = true, mode
	}
	if out.ID == "" && !out.Begin {
		return out, issue.BadRequest("Transaction control names no transaction")
	}
	return out, nil
}

// queryMode reads a transaction mode; without one it is serializable.
func queryMode(settings *Ydb_Query.TransactionSettings) (session.Mode, error) {
	switch m := settings.GetTxMode().(type) {
	case nil, *Ydb_Query.TransactionSettings_SerializableReadWrite:
		return session.Serializable, nil
	case *Ydb_Query.TransactionSettings_SnapshotReadOnly:
		return session.SnapshotReadOnly, nil
	case *Ydb_Query.TransactionSettings_SnapshotReadWrite:
		return session.SnapshotReadWrite, nil
	case *Ydb_Query.TransactionSettings_OnlineReadOnly:
		return session.OnlineReadOnly, nil
	case *Ydb_Query.TransactionSettings_StaleReadOnly:
		return session.StaleReadOnly, nil
	case *Ydb_Query.TransactionSettings_ReadCommittedReadWrite:
		return session.ReadCommitted, nil
	case *Ydb_Query.TransactionSettings_StrictSerializableReadWrite:
		return session.StrictSerializable, nil
	default:
		return 0, issue.BadRequest("Unknown transaction mode: %T", m)
	}
}
