package wire

import (
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Query"

	"github.com/taskfleet/taskfleet/internal/ydbembed/exec"
	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
)

const (
	partBytes    = 1 << 20    // of a part when the client names no limit
	maxPartBytes = 50_000_000 // whatever the client names; a row may be larger
	partValues   = 100_000
)

// partWriter sends a result in parts while the query makes it. The last part is
// kept back for what is known only at the end, so that a small result is one
// message.
type partWriter struct {
	send  func(*Ydb_Query.ExecuteQueryResponsePart) error
	limit int

	columnsOnce bool // send columns with the first part of a set only
	txMeta      *Ydb_Query.TransactionMeta
	part        *Ydb_Query.ExecuteQueryResponsePart // nil before the first set
	columns     []exec.Column
	header      []*Ydb.Column
	bytes       int
	values      int
}

func newPartWriter(req *Ydb_Query.ExecuteQueryRequest, send func(*Ydb_Query.ExecuteQueryResponsePart) error) *partWriter {
	w := &partWriter{
		send: send, limit: partBytes,
		columnsOnce: req.GetSchemaInclusionMode() == Ydb_Query.SchemaInclusionMode_SCHEMA_INCLUSION_MODE_FIRST_ONLY,
	}
	if asked := req.GetResponsePartLimitBytes(); asked > 0 {
		w.limit = int(min(asked, maxPartBytes))
	}
	return w
}

// Transaction makes every part carry the id of the transaction that stays open.
func (w *partWriter) Transaction(id string) { w.txMeta = &Ydb_Query.TransactionMeta{Id: id} }

// Columns begins a result set.
func (w *partWriter) Columns(set int, columns []exec.Column) error {
	if err := w.flush(); err != nil {
		return err
	}
	w.columns, w.header = columns, columnsProto(columns)
	w.begin(int64(set), w.header)
	return nil
}

func columnsProto(columns []exec.Column) []*Ydb.Column {
	out := make([]*Ydb.Column, len(columns))
	for i, c := range columns {
		out[i] = &Ydb.Column{Name: c.Name, Type: c.Type.Proto()}
	}
	return out
}

// Row adds a row to the set that was begun last.
func (w *partWriter) Row(set int, row []types.Value) error {
	size, values := types.WireSize(row)
	if len(w.part.ResultSet.Rows) > 0 && (w.bytes+size > w.limit || w.values+values > partValues) {
		if err := w.flush(); err != nil {
			return err
		}
		header := w.header
		if w.columnsOnce {
			header = nil
		}
		w.begin(int64(set), header)
	}
	w.bytes += size
	w.values += values
	w.part.ResultSet.Rows = append(w.part.ResultSet.Rows, rowProto(w.columns, row))
	return nil
}

func rowProto(columns []exec.Column, row []types.Value) *Ydb.Value {
	items := make([]*Ydb.Value, len(row))
	for i, v := range row {
		items[i] = v.Proto(columns[i].Type)
	}
	return &Ydb.Value{Items: items}
}

func (w *partWriter) begin(set int64, header []*Ydb.Column) {
	w.bytes, w.values = 0, 0
	w.part = w.newPart()
	w.part.ResultSetIndex = set
	w.part.ResultSet = &Ydb.ResultSet{Columns: header}
}

func (w *partWriter) newPart() *Ydb_Query.ExecuteQueryResponsePart {
	return &Ydb_Query.ExecuteQueryResponsePart{Status: Ydb.StatusIds_SUCCESS, TxMeta: w.txMeta}
}

func (w *partWriter) flush() error {
	if w.part == nil {
		return nil
	}
	part := w.part
	w.part = nil
	return w.send(part)
}

// last returns the part that closes the stream: the one kept back, or an empty
// one for a query without results. The caller completes and sends it.
func (w *partWriter) last() *Ydb_Query.ExecuteQueryResponsePart {
	if w.part == nil {
		return w.newPart()
	}
	return w.part
}
