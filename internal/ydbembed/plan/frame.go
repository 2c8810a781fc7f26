package plan

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/taskfleet/taskfleet/internal/ydbembed/issue"
	"github.com/taskfleet/taskfleet/internal/ydbembed/limits"
	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
)

// Frame is what one run of a query knows beside its rows. It is used by one
// goroutine.
type Frame struct {
	Ctx    context.Context
	Now    time.Time     // the one time of CurrentUtcTimestamp and its kin
	Params []types.Value // by position in Query.Params
	Budget *limits.Budget

	// Scalar gives the value of a select used as a value: the first column of
	// its first row, NULL without rows. Set gives its first column as a set.
	// Both are computed once per run.
	Scalar func(n *Named) (types.Value, error)
	Set    func(n *Named) (*Set, error)

	memo  []types.Value // by Expr slot: values that are the same for the whole run
	known []bool
	list  map[int]*Set // sets of constant lists, by slot
	steps uint
}

// NewFrame returns the frame of one run.
func (q *Query) NewFrame(ctx context.Context, now time.Time, params []types.Value, b *limits.Budget) *Frame {
	return &Frame{
		Ctx: ctx, Now: now, Params: params, Budget: b,
		memo: make([]types.Value, q.slots), known: make([]bool, q.slots), list: map[int]*Set{},
	}
}

// Alive tells, every so many calls, whether the run was called off.
func (f *Frame) Alive() error {
	if f.steps++; f.steps%256 != 0 {
		return nil
	}
	return f.CheckContext()
}

// CheckContext returns TIMEOUT or CANCELLED when the run was called off.
func (f *Frame) CheckContext() error {
	switch f.Ctx.Err() {
	case nil:
		return nil
	case context.DeadlineExceeded:
		return issue.Timeout()
	}
	return issue.Cancelled()
}

// Eval computes an expression over a row. Rows are not changed and not kept.
type Eval func(f *Frame, row []types.Value) (types.Value, error)

// Expr is a compiled expression.
type Expr struct {
	Type *types.Type
	Eval Eval
	// Const marks what is the same for every row of a run.
	Const bool
	// Literal is set for constants that a write may convert to the type of the
	// column: bare integers and plain strings.
	Literal *types.Value
	// Text is how EXPLAIN shows the expression.
	Text string

	column int // position in the row plus one, when it is a column as it stands
}

// True tells whether the expression is TRUE for the row; NULL is not.
func (e *Expr) True(f *Frame, row []types.Value) (bool, error) {
	v, err := e.Eval(f, row)
	return err == nil && !v.IsNull() && v.Bool(), err
}

// Set is a hashed set of values, for IN.
type Set struct {
	values  map[string]types.Value
	HasNull bool
}

// NewSet returns an empty set.
func NewSet() *Set { return &Set{values: map[string]types.Value{}} }

// Add puts a value in and charges it to the run.
func (s *Set) Add(f *Frame, v types.Value) error {
	if hasNull(v) {
		s.HasNull = true
		return nil
	}
	const entryBytes = 64
	key := HashKey(v)
	if _, ok := s.values[key]; ok {
		return nil
	}
	s.values[key] = v
	return f.Budget.Hold(entryBytes + len(key) + v.Memory())
}

// Has tells whether a value that holds no NULL is in.
func (s *Set) Has(v types.Value) bool {
	_, ok := s.values[HashKey(v)]
	return ok
}

// Values lists the distinct values, in no order.
func (s *Set) Values() []types.Value { return slices.Collect(maps.Values(s.values)) }

// Len returns the number of distinct values.
func (s *Set) Len() int { return len(s.values) }

func hasNull(v types.Value) bool {
	if v.IsNull() {
		return true
	}
	if v.Kind() == types.Tuple {
		for _, item := range v.Items() {
			if hasNull(item) {
				return true
			}
		}
	}
	return false
}
