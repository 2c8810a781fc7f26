package exec

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/taskfleet/taskfleet/internal/ydbembed/issue"
	"github.com/taskfleet/taskfleet/internal/ydbembed/limits"
	"github.com/taskfleet/taskfleet/internal/ydbembed/plan"
	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
)

// Column is a result column.
type Column = plan.Column

// Sink takes the results: for each result set its columns, then its rows. Sets
// come in the order of the statements. A row may be kept, and must not be changed.
type Sink interface {
	Columns(set int, columns []Column) error
	Row(set int, row []types.Value) error
}

// Keeper is a Sink that keeps what it takes until the query has ended, at most
// MaxRows rows of a set. Other sinks must let a row go before they return.
type Keeper interface{ MaxRows() int }

// Run executes a compiled query in a transaction, which it neither commits nor
// rolls back; after an error the caller must roll it back, for a part of the
// statements may have written. Parameters go by name without $; those that the
// text does not know are ignored. now is the time of the whole text.
//
// Errors are *issue.Error, but for those of the store (store.ConflictError and
// its kin) and of the sink, which come as they are.
func Run(ctx context.Context, q *plan.Query, params map[string]types.Value, tx *Tx, now time.Time, sink Sink, st *Stats) (err error) {
	defer func() {
		if p := recover(); p != nil {
			slog.Error("query panicked", "panic", p, "stack", string(debug.Stack()))
			err = issue.From(fmt.Errorf("exec: running a query: %v", p))
		}
	}()
	values, err := arguments(q, params)
	if err != nil {
		return err
	}
	if st == nil {
		st = &Stats{}
	}
	budget := limits.NewBudget(tx.pool)
	defer budget.Close()
	r := &run{tx: tx, sink: sink, st: st, frame: q.NewFrame(ctx, now, values, budget), named: make([]*kept, q.NamedCount)}
	if k, ok := sink.(Keeper); ok {
		r.keeps = k.MaxRows()
	}
	r.frame.Scalar, r.frame.Set = r.scalar, r.set
	defer func() { st.PeakMemory = max(st.PeakMemory, budget.Peak()) }()
	for _, s := range q.Statements {
		if err := r.frame.CheckContext(); err != nil {
			return err
		}
		if err := r.statement(s); err != nil {
			return err
		}
	}
	return nil
}

// arguments puts the passed values in the order of the plan.
func arguments(q *plan.Query, params map[string]types.Value) ([]types.Value, error) {
	values := make([]types.Value, len(q.Params))
	for i, p := range q.Params {
		v, ok := params[p.Name]
		if !ok && p.Used && !p.Type.IsOptional() {
			return nil, issue.BadRequest("Missing value for parameter: $%s", p.Name)
		}
		values[i] = v
	}
	return values, nil
}

// run is one run of a query.
type run struct {
	tx    *Tx
	sink  Sink
	st    *Stats
	frame *plan.Frame
	named []*kept // by plan.Named.ID
	sets  int     // result sets that were begun
	rows  int     // of the last of them
	keeps int     // rows of a set that the sink keeps, 0 when it streams
}

func (r *run) statement(s plan.Statement) error {
	switch s := s.(type) {
	case *plan.Select:
		return r.send(s)
	case *plan.Write:
		return r.write(s)
	case *plan.Update:
		return r.update(s)
	case *plan.Delete:
		return r.delete(s)
	}
	return issue.Unsupported("Statement is not supported: %T", s)
}

// send streams the rows of a SELECT to the client.
func (r *run) send(s *plan.Select) error {
	set, err := r.begin(s.Result)
	if err != nil {
		return err
	}
	it, err := r.open(s.Source)
	if err != nil {
		return err
	}
	defer it.close()
	for {
		row, ok, err := it.next()
		if err != nil || !ok {
			return err
		}
		if err := r.frame.Alive(); err != nil {
			return err
		}
		if err := r.emit(set, row); err != nil {
			return err
		}
	}
}

// collect reads a source to its end. Each row is charged by keep.
func (r *run) collect(n plan.Node, keep func(row []types.Value) error) ([][]types.Value, error) {
	it, err := r.open(n)
	if err != nil {
		return nil, err
	}
	defer it.close()
	var out [][]types.Value
	for {
		row, ok, err := it.next()
		if err != nil || !ok {
			return out, err
		}
		if err := r.frame.Alive(); err != nil {
			return nil, err
		}
		if err := keep(row); err != nil {
			return nil, err
		}
		out = append(out, row)
	}
}
