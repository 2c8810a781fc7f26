package exec

import (
	"github.com/taskfleet/taskfleet/internal/ydbembed/issue"
	"github.com/taskfleet/taskfleet/internal/ydbembed/limits"
	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
)

// What the run keeps beside the values themselves, in bytes.
const (
	entryBytes = 64  // an entry of a map, without its key
	protoBytes = 150 // a value as a message, while it is on its way to the client
)

// holding is what one operator keeps in memory until it closes.
type holding struct {
	budget *limits.Budget
	memory int
	wire   int
}

func (r *run) holding() holding { return holding{budget: r.frame.Budget} }

// add charges n bytes.
func (h *holding) add(n int) error {
	h.memory += n
	return h.budget.Hold(n)
}

// row charges a row that is kept.
func (h *holding) row(row []types.Value) error { return h.add(types.RowMemory(row)) }

// key charges an entry of a map.
func (h *holding) key(name string) error { return h.add(entryBytes + len(name)) }

// materialize charges a row that one step hands to the next as a whole, which
// has a limit of its own.
func (h *holding) materialize(row []types.Value) error {
	n, _ := types.WireSize(row)
	if h.wire += n; h.wire > limits.Intermediate {
		return issue.IntermediateTooLarge(h.wire, limits.Intermediate)
	}
	return h.row(row)
}

// free gives everything back.
func (h *holding) free() {
	h.budget.Release(h.memory)
	h.memory = 0
}

// emit sends a row of a result.
func (r *run) emit(set int, row []types.Value) error {
	if r.rows++; r.keeps > 0 && r.rows > r.keeps {
		return r.sink.Row(set, row) // it only marks the set as cut off
	}
	bytes, values := types.WireSize(row)
	if err := r.frame.Budget.Result(bytes); err != nil {
		return err
	}
	charge := r.frame.Budget.Hold
	if r.keeps == 0 {
		r.frame.Budget.Row()
		charge = r.frame.Budget.Make
	}
	if err := charge(values * protoBytes); err != nil {
		return err
	}
	return r.sink.Row(set, row)
}

// begin sends the columns of the next result set and returns its index.
func (r *run) begin(columns []Column) (set int, err error) {
	set = r.sets
	r.sets++
	r.rows = 0
	return set, r.sink.Columns(set, columns)
}
