package exec

import (
	"github.com/taskfleet/taskfleet/internal/ydbembed/plan"
	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
)

// group is one row of an Aggregate while it is made.
type group struct {
	keys   []types.Value
	states []state
}

// state is one aggregate of a group.
type state struct {
	seen  map[string]struct{} // of DISTINCT
	count uint64
	value types.Value // Min, Max, Some, MinBy, MaxBy, Sum of integers
	by    types.Value
	sum   float64
	list  []types.Value
	kept  int // bytes of seen and list
}

// memory is what the aggregate keeps.
func (s *state) memory() int { return s.kept + len(s.value.Text()) + len(s.by.Text()) }

func (r *run) openAggregate(n *plan.Aggregate) (rows, error) {
	in, err := r.open(n.Input)
	if err != nil {
		return nil, err
	}
	defer in.close()
	held := r.holding()
	groups := map[string]*group{}
	var order []*group
	if len(n.Keys) == 0 {
		g := &group{states: make([]state, len(n.Aggs))}
		groups[""], order = g, append(order, g)
	}
	for {
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
		keys, err := r.compute(n.Keys, row)
		if err != nil {
			return nil, err
		}
		name := rowKey(keys)
		g := groups[name]
		if g == nil {
			if err := held.add(groupBytes(name, keys, len(n.Aggs))); err != nil {
				return nil, err
			}
			g = &group{keys: keys, states: make([]state, len(n.Aggs))}
			groups[name], order = g, append(order, g)
		}
		for i := range n.Aggs {
			before := g.states[i].memory()
			if err := r.feed(&g.states[i], &n.Aggs[i], row); err != nil {
				return nil, err
			}
			if more := g.states[i].memory() - before; more != 0 {
				if err := held.add(more); err != nil {
					return nil, err
				}
			}
		}
	}
	out := make([][]types.Value, len(order))
	for i, g := range order {
		out[i] = g.keys
		for j := range n.Aggs {
			out[i] = append(out[i], g.states[j].result(&n.Aggs[j]))
		}
	}
	return &listRows{list: out, held: &held}, nil
}

// groupBytes is what a group takes without what its aggregates keep.
func groupBytes(name string, keys []types.Value, aggs int) int {
	const stateBytes = 256 // a state and the value that is made of it
	return entryBytes + len(name) + types.RowMemory(keys) + aggs*stateBytes
}

// feed takes one row into an aggregate. NULLs do not count.
func (r *run) feed(s *state, a *plan.Agg, row []types.Value) error {
	if a.Arg == nil {
		s.count++
		return nil
	}
	r.frame.Budget.Row()
	v, err := a.Arg.Eval(r.frame, row)
	if err != nil {
		return err
	}
	by := types.NullValue
	if a.By != nil {
		if by, err = a.By.Eval(r.frame, row); err != nil || by.IsNull() {
			return err
		}
	} else if v.IsNull() {
		return nil
	}
	if a.Distinct {
		key := plan.HashKey(v)
		if _, ok := s.seen[key]; ok {
			return nil
		}
		if s.seen == nil {
			s.seen = map[string]struct{}{}
		}
		s.seen[key] = struct{}{}
		s.kept += entryBytes + len(key)
	}
	s.take(a, v, by)
	return nil
}

func (s *state) take(a *plan.Agg, v, by types.Value) {
	first := s.count == 0
	switch a.Kind {
	case plan.CountIf:
		if !v.Bool() {
			return
		}
	case plan.Min:
		if first || types.Compare(v, s.value) < 0 {
			s.value = v
		}
	case plan.Max:
		if first || types.Compare(v, s.value) > 0 {
			s.value = v
		}
	case plan.MinBy:
		if first || types.Compare(by, s.by) < 0 {
			s.value, s.by = v, by
		}
	case plan.MaxBy:
		if first || types.Compare(by, s.by) > 0 {
			s.value, s.by = v, by
		}
	case plan.Some:
		if first {
			s.value = v
		}
	case plan.AggList:
		s.list = append(s.list, v)
		s.kept += v.Memory()
	case plan.BoolAnd:
		s.value = types.BoolValue((first || s.value.Bool()) && v.Bool())
	case plan.BoolOr:
		s.value = types.BoolValue(!first && s.value.Bool() || v.Bool())
	case plan.Sum, plan.Avg:
		s.sum += v.AsFloat()
		s.value = types.UintValue(types.Uint64, s.value.Uint()+v.Uint()) // bits of either sign
	}
	s.count++
}

func (s *state) result(a *plan.Agg) types.Value {
	k := a.Type.Unwrap().Kind
	switch {
	case a.Kind == plan.Count || a.Kind == plan.CountIf:
		return types.UintValue(types.Uint64, s.count)
	case a.Kind == plan.AggList:
		return types.ItemsValue(types.List, s.list)
	case s.count == 0:
		return types.NullValue
	case a.Kind == plan.Avg:
		return types.FloatValue(types.Double, s.sum/float64(s.count))
	case a.Kind == plan.Sum && (k == types.Double || k == types.Float):
		return types.FloatValue(k, s.sum)
	case a.Kind == plan.Sum && (k == types.Int64 || k == types.Interval):
		return types.IntValue(k, int64(s.value.Uint()))
	}
	return s.value
}
