package wire

import (
	"context"
	"strings"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Table"
	"google.golang.org/grpc"

	"github.com/taskfleet/taskfleet/internal/ydbembed/exec"
	"github.com/taskfleet/taskfleet/internal/ydbembed/issue"
	"github.com/taskfleet/taskfleet/internal/ydbembed/session"
	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
)

const maxSetRows = 1000 // of a result set; the rest is cut off and marked

func (t *tableService) ExecuteDataQuery(ctx context.Context, req *Ydb_Table.ExecuteDataQueryRequest) (*Ydb_Table.ExecuteDataQueryResponse, error) {
	request, err := t.dataQuery(req.GetSessionId(), req.GetQuery())
	if err != nil {
		return nil, err
	}
	if request.Control, err = tableControl(req.GetTxControl()); err != nil {
		return nil, err
	}
	if err := setParams(&request, req.GetParameters()); err != nil {
		return nil, err
	}
	rows := &collector{}
	outcome, err := t.sessions.Execute(ctx, request, rows)
	if err != nil {
		return nil, err
	}
	result := &Ydb_Table.ExecuteQueryResult{
		ResultSets: rows.sets,
		TxMeta:     &Ydb_Table.TransactionMeta{Id: outcome.TxID},
		QueryMeta:  queryMeta(request.Text, outcome),
	}
	if mode := req.GetCollectStats(); mode >= Ydb_Table.QueryStatsCollection_STATS_COLLECTION_BASIC {
		result.QueryStats = statsProto(outcome, mode >= Ydb_Table.QueryStatsCollection_STATS_COLLECTION_FULL)
	}
	if err := grpc.SetTrailer(ctx, consumedUnits(outcome)); err != nil {
		return nil, err
	}
	op, err := operation(result)
	if err != nil {
		return nil, err
	}
	op.Issues = issue.Proto(outcome.Plan.Warnings)
	return &Ydb_Table.ExecuteDataQueryResponse{Operation: op}, nil
}

func (t *tableService) ExplainDataQuery(_ context.Context, req *Ydb_Table.ExplainDataQueryRequest) (*Ydb_Table.ExplainDataQueryResponse, error) {
	outcome, err := t.compile(req.GetSessionId(), req.GetYqlText())
	if err != nil {
		return nil, err
	}
	op, err := operation(&Ydb_Table.ExplainQueryResult{QueryPlan: outcome.Plan.ExplainJSON(), QueryAst: outcome.Plan.ExplainAST()})
	return &Ydb_Table.ExplainDataQueryResponse{Operation: op}, err
}

func (t *tableService) PrepareDataQuery(_ context.Context, req *Ydb_Table.PrepareDataQueryRequest) (*Ydb_Table.PrepareDataQueryResponse, error) {
	outcome, err := t.compile(req.GetSessionId(), req.GetYqlText())
	if err != nil {
		return nil, err
	}
	meta := queryMeta(req.GetYqlText(), outcome)
	op, err := operation(&Ydb_Table.PrepareQueryResult{QueryId: meta.GetId(), ParametersTypes: meta.GetParametersTypes()})
	return &Ydb_Table.PrepareDataQueryResponse{Operation: op}, err
}

func (t *tableService) compile(sessionID, text string) (*session.Outcome, error) {
	s, err := t.sessions.Get(sessionID)
	if err != nil {
		return nil, err
	}
	s.Touch()
	return t.sessions.Compile(session.Request{Text: text})
}

// preparedPrefix begins the id of a prepared query; its text follows. Plans are
// cached by text anyway, so there is nothing to remember.
const preparedPrefix = "text:"

func queryMeta(text string, o *session.Outcome) *Ydb_Table.QueryMeta {
	meta := &Ydb_Table.QueryMeta{Id: preparedPrefix + text, ParametersTypes: map[string]*Ydb.Type{}}
	for _, p := range o.Plan.Params {
		meta.ParametersTypes["$"+p.Name] = p.Type.Proto()
	}
	return meta
}

func (t *tableService) dataQuery(sessionID string, q *Ydb_Table.Query) (session.Request, error) {
	request := session.Request{SessionID: sessionID, Kind: "ExecuteDataQuery", Text: q.GetYqlText(), DataOnly: true}
	if id := q.GetId(); id != "" {
		text, ok := strings.CutPrefix(id, preparedPrefix)
		if !ok {
			return request, issue.New(Ydb.StatusIds_NOT_FOUND, 0, "Prepared query not found: %s", id)
		}
		request.Text = text
	}
	switch {
	case sessionID == "":
		return request, issue.BadRequest("Session id is empty")
	case request.Text == "":
		return request, issue.BadRequest("Query text is empty")
	}
	return request, nil
}

func tableControl(c *Ydb_Table.TransactionControl) (session.Control, error) {
	out := session.Control{ID: c.GetTxId(), Commit: c.GetCommitTx()}
	if begin := c.GetBeginTx(); begin != nil {
		mode, err := tableMode(begin)
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

// collector keeps a whole result, as the table service sends it.
type collector struct {
	sets    []*Ydb.ResultSet
	columns []exec.Column
}

// MaxRows makes it an exec.Keeper.
func (c *collector) MaxRows() int { return maxSetRows }

// Transaction is not needed: the outcome tells it.
func (c *collector) Transaction(string) {}

// Columns begins a result set.
func (c *collector) Columns(_ int, columns []exec.Column) error {
	c.columns = columns
	c.sets = append(c.sets, &Ydb.ResultSet{Columns: columnsProto(columns)})
	return nil
}

// Row adds a row to the last set, or marks the set as cut off.
func (c *collector) Row(_ int, row []types.Value) error {
	set := c.sets[len(c.sets)-1]
	if len(set.Rows) == maxSetRows {
		set.Truncated = true
		return nil
	}
	set.Rows = append(set.Rows, rowProto(c.columns, row))
	return nil
}
