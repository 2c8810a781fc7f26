package exec

import (
	"github.com/taskfleet/taskfleet/internal/ydbembed/issue"
	"github.com/taskfleet/taskfleet/internal/ydbembed/plan"
	"github.com/taskfleet/taskfleet/internal/ydbembed/store"
	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
)

// write runs INSERT, UPSERT and REPLACE. The whole source is read before the
// first row is written.
func (r *run) write(w *plan.Write) error {
	held := r.holding()
	defer held.free()
	list, err := r.input(&w.Effect, w.Source, w.Values, &held)
	if err != nil {
		return err
	}
	st := r.st.Access(w.Table)
	images := make([]store.Row, len(list))
	for i, values := range list {
		if images[i], err = place(w.Table, w.Columns, values); err != nil {
			return err
		}
		defaults(w, images[i])
		if err := held.row(images[i]); err != nil {
			return err
		}
	}
	switch w.Mode {
	case plan.InsertAbort, plan.InsertRevert, plan.InsertIgnore:
		if images, err = r.fresh(w, images, st, &held); err != nil {
			return err
		}
	default:
		if images, err = lastWins(w.Table, images, &held); err != nil {
			return err
		}
	}
	if w.Mode == plan.Upsert && !w.All {
		return r.merge(w, images, st)
	}
	for _, row := range images {
		if err := r.tx.put(w.Table, row, st); err != nil {
			return err
		}
	}
	return r.returned(&w.Effect, images)
}

// lastWins drops the rows whose key comes again later in the batch.
func lastWins(t *store.Table, images []store.Row, held *holding) ([]store.Row, error) {
	places := make(map[string]int, len(images))
	out := images[:0]
	for _, row := range images {
		name := rowKey(t.KeyOf(row))
		if i, ok := places[name]; ok {
			out[i] = row
			continue
		}
		if err := held.key(name); err != nil {
			return nil, err
		}
		places[name] = len(out)
		out = append(out, row)
	}
	return out, nil
}

// input computes the rows to write, and before them what must show the tables unchanged.
func (r *run) input(e *plan.Effect, source plan.Node, values []*plan.Expr, held *holding) ([][]types.Value, error) {
	if err := r.prepare(e.Before); err != nil {
		return nil, err
	}
	it, err := r.open(source)
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
		computed, err := r.compute(values, row)
		if err != nil {
			return nil, err
		}
		if err := held.materialize(computed); err != nil {
			return nil, err
		}
		out = append(out, computed)
	}
}

// place puts values at the places of their columns in a row of the table.
func place(t *store.Table, columns []int, values []types.Value) (store.Row, error) {
	row := make(store.Row, len(t.Columns))
	for i, c := range columns {
		if values[i].IsNull() && t.Columns[c].NotNull {
			return nil, issue.NullIntoNotNull(t.Columns[c].Name).Under(issue.CodeExecution)
		}
		row[c] = values[i]
	}
	return row, nil
}

// defaults fills the columns that the statement does not set. An UPSERT sets no
// others than the key's: the row may be there already.
func defaults(w *plan.Write, row store.Row) {
	if w.All {
		return
	}
	set := mask(w.Table, w.Columns)
	for i, c := range w.Table.Columns {
		if !set[i] && c.Default != nil && (w.Mode != plan.Upsert || w.Table.IsKey(i)) {
			row[i] = *c.Default
		}
	}
}

func mask(t *store.Table, columns []int) []bool {
	out := make([]bool, len(t.Columns))
	for _, c := range columns {
		out[c] = true
	}
	return out
}

// fresh checks the keys of an INSERT and returns the rows to write: all, none
// (OR REVERT), or the new ones (OR IGNORE).
func (r *run) fresh(w *plan.Write, images []store.Row, st *store.Access, held *holding) ([]store.Row, error) {
	seen := make(map[string]bool, len(images))
	out := images[:0:0]
	need := make([]bool, len(w.Table.Columns))
	for _, row := range images {
		if err := r.frame.Alive(); err != nil {
			return nil, err
		}
		key := w.Table.KeyOf(row)
		name := rowKey(key)
		_, exists, err := r.tx.Get(w.Table, key, need, st)
		switch {
		case err != nil:
			return nil, err
		case w.Mode == plan.InsertRevert && (exists || seen[name]):
			return nil, nil
		case w.Mode == plan.InsertIgnore && (exists || seen[name]):
			continue
		case exists:
			return nil, issue.KeyExists()
		case seen[name]:
			return nil, issue.DuplicateKeys()
		}
		if err := held.key(name); err != nil {
			return nil, err
		}
		seen[name] = true
		out = append(out, row)
	}
	return out, nil
}

// merge runs an UPSERT of some columns; it reads only for RETURNING.
func (r *run) merge(w *plan.Write, images []store.Row, st *store.Access) error {
	set := mask(w.Table, w.Columns)
	for _, k := range w.Table.Key {
		set[k] = true // it may come from its DEFAULT
	}
	for _, row := range images {
		if err := r.tx.merge(w.Table, row, set, st); err != nil {
			return err
		}
	}
	if w.Returning == nil {
		return nil
	}
	need := mask(w.Table, w.Returning)
	held := r.holding()
	defer held.free()
	for i, row := range images {
		full, ok, err := r.tx.Get(w.Table, w.Table.KeyOf(row), need, st)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if err := held.materialize(full); err != nil {
			return err
		}
		images[i] = full
	}
	return r.returned(&w.Effect, images)
}

// returned sends the result of RETURNING, if the statement has it.
func (r *run) returned(e *plan.Effect, images []store.Row) error {
	if e.Returning == nil {
		return nil
	}
	set, err := r.begin(e.Result)
	if err != nil {
		return err
	}
	for _, row := range images {
		out := make([]types.Value, len(e.Returning))
		for i, c := range e.Returning {
			out[i] = row[c]
		}
		if err := r.emit(set, out); err != nil {
			return err
		}
	}
	return nil
}
