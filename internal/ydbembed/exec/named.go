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
	rows, err := r.collect(n.Source)
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
	return v, nil
}

// set is plan.Frame.Set.
func (r *run) set(n *plan.Named) (*plan.Set, error) {
	k := r.kept(n)
	if k.set != nil {
		return k.set, nil
	}
	it, err := r.openNamed(n)
	if err != nil {
		return nil, err
	}
	defer it.close()
	s := plan.NewSet()
	for {
		row, ok, err := it.next()
		if err != nil {
			return nil, err
		}
		if !ok {
			k.set = s
			return s, nil
		}
		s.Add(row[0])
	}
}
