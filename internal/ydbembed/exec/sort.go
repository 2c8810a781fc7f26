package exec

import (
	"container/heap"
	"slices"

	"github.com/taskfleet/taskfleet/internal/ydbembed/plan"
	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
)

// sorted is a row with its sort keys and its place in the input, which keeps
// the order of equal rows.
type sorted struct {
	keys  []types.Value
	row   []types.Value
	place int
}

// topHeap keeps the first rows of an order; the last of them is at the top.
type topHeap struct {
	node *plan.Sort
	rows []sorted
	held holding
}

func (h *topHeap) Len() int           { return len(h.rows) }
func (h *topHeap) Less(i, j int) bool { return h.compare(h.rows[i], h.rows[j]) > 0 }
func (h *topHeap) Swap(i, j int)      { h.rows[i], h.rows[j] = h.rows[j], h.rows[i] }
func (h *topHeap) Push(x any)         { h.rows = append(h.rows, x.(sorted)) }
func (h *topHeap) Pop() any {
	last := h.rows[len(h.rows)-1]
	h.rows = h.rows[:len(h.rows)-1]
	return last
}

func (h *topHeap) compare(a, b sorted) int {
	for i, k := range h.node.Keys {
		c := types.Compare(a.keys[i], b.keys[i])
		if k.Desc {
			c = -c
		}
		if c != 0 {
			return c
		}
	}
	return a.place - b.place
}

func (r *run) openSort(n *plan.Sort) (rows, error) {
	wanted, err := r.wanted(n)
	if err != nil {
		return nil, err
	}
	if wanted == 0 {
		return &listRows{}, nil
	}
	in, err := r.open(n.Input)
	if err != nil {
		return nil, err
	}
	defer in.close()
	exprs := make([]*plan.Expr, len(n.Keys))
	for i, k := range n.Keys {
		exprs[i] = k.Expr
	}
	h := &topHeap{node: n, held: r.holding()}
	for place := 0; ; place++ {
		row, ok, err := in.next()
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		if err := r.frame.Alive(); err != nil {
			return nil, err
		}
		keys, err := r.compute(exprs, row)
		if err != nil {
			return nil, err
		}
		if err := h.add(sorted{keys, row, place}, wanted); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(h.rows, h.compare)
	out := make([][]types.Value, len(h.rows))
	for i, s := range h.rows {
		out[i] = s.row
	}
	return &listRows{list: out, held: &h.held}, nil
}

// add keeps a row while it is among the first; without a limit all are kept.
func (h *topHeap) add(s sorted, wanted uint64) error {
	switch {
	case wanted == ^uint64(0):
		h.rows = append(h.rows, s)
	case uint64(len(h.rows)) < wanted:
		heap.Push(h, s)
	case h.compare(s, h.rows[0]) < 0:
		more := s.memory() - h.rows[0].memory()
		h.rows[0] = s
		heap.Fix(h, 0)
		return h.held.add(more)
	default:
		return nil
	}
	return h.held.add(s.memory())
}

// memory is what the row takes in the heap and in the list that is made of it.
func (s sorted) memory() int {
	return types.RowMemory(s.keys) + types.RowMemory(s.row) + entryBytes
}

// wanted is how many of the first rows are needed, all ones for all.
func (r *run) wanted(n *plan.Sort) (uint64, error) {
	all := ^uint64(0)
	if n.Limit == nil {
		return all, nil
	}
	v, err := n.Limit.Eval(r.frame, nil)
	if err != nil || v.IsNull() {
		return all, err
	}
	wanted := v.Uint()
	if n.Skip != nil {
		v, err := n.Skip.Eval(r.frame, nil)
		if err != nil {
			return 0, err
		}
		if wanted+v.Uint() < wanted {
			return all, nil
		}
		wanted += v.Uint()
	}
	return wanted, nil
}
