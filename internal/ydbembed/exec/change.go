package exec

import (
	"slices"

	"github.com/taskfleet/taskfleet/internal/ydbembed/plan"
	"github.com/taskfleet/taskfleet/internal/ydbembed/store"
	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
)

// changed is a row of a table with the values that a statement computed from it.
type changed struct{ old, values []types.Value }

// affected reads the rows that an UPDATE or DELETE is about, to the end, before
// it changes any.
func (r *run) affected(e *plan.Effect, source plan.Node, values []*plan.Expr, held *holding) ([]changed, error) {
	if err := r.prepare(e.Before); err != nil {
		return nil, err
	}
	rows, err := r.collect(source, held.materialize)
	if err != nil {
		return nil, err
	}
	out := make([]changed, len(rows))
	for i, row := range rows {
		computed, err := r.compute(values, row)
		if err != nil {
			return nil, err
		}
		if err := held.row(computed); err != nil {
			return nil, err
		}
		out[i] = changed{old: row, values: computed}
	}
	return out, nil
}

func (r *run) update(u *plan.Update) error {
	held := r.holding()
	defer held.free()
	list, err := r.affected(&u.Effect, u.Source, u.Values, &held)
	if err != nil {
		return err
	}
	st := r.st.Access(u.Table)
	set := mask(u.Table, u.Columns)
	var images []store.Row
	for _, ch := range list {
		row, err := place(u.Table, u.Columns, ch.values)
		if err != nil {
			return err
		}
		old := ch.old
		if u.On {
			if err := r.frame.Alive(); err != nil {
				return err
			}
			found, ok, err := r.tx.Get(u.Table, u.Table.KeyOf(row), u.Need, st)
			if err != nil {
				return err
			}
			if !ok {
				continue
			}
			old = found
		}
		if err := r.tx.merge(u.Table, row, set, st); err != nil {
			return err
		}
		if u.Returning == nil {
			continue
		}
		image := overlay(old, row, set)
		if err := held.row(image); err != nil {
			return err
		}
		images = append(images, image)
	}
	return r.returned(&u.Effect, images)
}

// overlay is the old row with the columns that were set.
func overlay(old, row store.Row, set []bool) store.Row {
	out := slices.Clone(old)
	for i, isSet := range set {
		if isSet {
			out[i] = row[i]
		}
	}
	return out
}

func (r *run) delete(d *plan.Delete) error {
	held := r.holding()
	defer held.free()
	list, err := r.affected(&d.Effect, d.Source, d.Keys, &held)
	if err != nil {
		return err
	}
	st := r.st.Access(d.Table)
	seen := map[string]bool{}
	var images []store.Row
	for _, ch := range list {
		name := rowKey(ch.values)
		if seen[name] {
			continue
		}
		if err := held.key(name); err != nil {
			return err
		}
		seen[name] = true
		if d.Returning != nil {
			old, ok := ch.old, true
			if d.On {
				if old, ok, err = r.tx.Get(d.Table, ch.values, mask(d.Table, d.Returning), st); err != nil {
					return err
				}
			}
			if ok {
				if err := held.row(old); err != nil {
					return err
				}
				images = append(images, old)
			}
		}
		if err := r.tx.remove(d.Table, ch.values, st); err != nil {
			return err
		}
	}
	return r.returned(&d.Effect, images)
}
