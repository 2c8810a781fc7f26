package exec

import (
	"github.com/taskfleet/taskfleet/internal/ydbembed/plan"
	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
)

// kept is what a run remembers of a named select.
type kept struct {
	rows   [][]types.Value
	loaded bool
	scalar *types.Value
	set    *plan.Set
}

func (r *run) kept(n *plan.Named) *kept {
	if r.named[n.ID] == nil {
		r.named[n.ID] = &kept{}
	}
	return r.named[n.ID]
}

// load computes a named select once.
func (r *run) load(n *plan.Named) (*kept, error) {
	k := r.kept(n)
	if k.loaded {
		return k, nil
	}
	held := r.holding() // until the run ends
	rows, err := r.collect(n.Source, held.materialize)
	if err != nil {
		return nil, err
	}
	k.rows, k.loaded = rows, true
	return k, nil
}

// openNamed reads a named select, shared when it is used more than once.
func (r *run) openNamed(n *plan.Named) (rows, error) {
	if !n.Keep {
		return r.open(n.Source)
	}
	k, err := r.load(n)
	if err != nil {
		return nil, err
	}
	return &listRows{list: k.rows}, nil
}

// prepare computes what must show the tables as they were before a write.
func (r *run) prepare(list []*plan.Named) error {
	for _, n := range list {
		if _, err := r.load(n); err != nil {
			return err
		}
	}
	return nil
}

// scalar is plan.Frame.Scalar.
func (r *run) scalar(n *plan.Named) (types.Value, error) {
	k := r.kept(n)
	if k.scalar != nil {
		return *k.scalar, nil
	}
	defer r.frame.Budget.Unnest(r.frame.Budget.Nest())
	it, err := r.openNamed(n)
	if err != nil {
		return types.NullValue, err
	}
	defer it.close()
	row, ok, err := it.next()
	if err != nil {
		return types.NullValue, err
	}
	v := types.NullValue
	if ok {
		v = row[0]
	}
	k.scalar = &v
	return v, r.frame.Budget.Hold(v.Memory())
}

// set is plan.Frame.Set.
func (r *run) set(n *plan.Named) (*plan.Set, error) {
	k := r.kept(n)
	if k.set != nil {
		return k.set, nil
	}
	defer r.frame.Budget.Unnest(r.frame.Budget.Nest())
	it, err := r.openNamed(n)
	if err != nil {
		return nil, err
	}
	defer it.close()
	s, held := plan.NewSet(), r.holding()
	for {
		row, ok, err := it.next()
		if err != nil {
			return nil, err
		}
		if !ok {
			k.set = s
			return s, nil
		}
		if err := held.materialize(row[:1]); err != nil {
			return nil, err
		}
		if err := s.Add(r.frame, row[0]); err != nil {
			return nil, err
		}
	}
}
