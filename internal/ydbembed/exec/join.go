package exec

import (
	"github.com/taskfleet/taskfleet/internal/ydbembed/plan"
	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
)

// hashRows joins by equal keys; the right side is in memory.
type hashRows struct {
	run   *run
	node  *plan.HashJoin
	left  rows
	table map[string][][]types.Value
	held  holding

	row     []types.Value
	matches [][]types.Value
}

func (r *run) openHashJoin(n *plan.HashJoin) (rows, error) {
	h := &hashRows{run: r, node: n, table: map[string][][]types.Value{}, held: r.holding()}
	right, err := r.collect(n.Right, h.held.row)
	if err != nil {
		return nil, err
	}
	for _, row := range right {
		key, ok, err := r.joinKey(n.RightKeys, row)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		if err := h.held.key(key); err != nil {
			return nil, err
		}
		h.table[key] = append(h.table[key], row)
	}
	h.left, err = r.open(n.Left)
	return h, err
}

// joinKey is the text of a row's key; false when a part is NULL.
func (r *run) joinKey(exprs []*plan.Expr, row []types.Value) (string, bool, error) {
	var key []byte
	r.frame.Budget.Row()
	for _, x := range exprs {
		v, err := x.Eval(r.frame, row)
		if err != nil || v.IsNull() {
			return "", false, err
		}
		key = plan.AppendHash(key, v)
	}
	return string(key), true, nil
}

func (h *hashRows) next() ([]types.Value, bool, error) {
	for {
		if len(h.matches) > 0 {
			right := h.matches[0]
			h.matches = h.matches[1:]
			return join(h.row, right), true, nil
		}
		row, ok, err := h.left.next()
		if err != nil || !ok {
			return nil, false, err
		}
		if err := h.run.frame.Alive(); err != nil {
			return nil, false, err
		}
		key, ok, err := h.run.joinKey(h.node.LeftKeys, row)
		if err != nil {
			return nil, false, err
		}
		var found [][]types.Value
		if ok {
			found = h.table[key]
		}
		switch h.node.Kind {
		case plan.Inner:
			h.row, h.matches = row, found
		case plan.Left:
			if len(found) == 0 {
				return join(row, make([]types.Value, h.node.RightWidth)), true, nil
			}
			h.row, h.matches = row, found
		case plan.LeftOnly:
			if len(found) == 0 {
				return row, true, nil
			}
		case plan.LeftSemi:
			if len(found) > 0 {
				return row, true, nil
			}
		}
	}
}

func (h *hashRows) close() {
	h.left.close()
	h.held.free()
}

// crossRows makes all pairs.
type crossRows struct {
	run   *run
	left  rows
	right [][]types.Value
	held  holding
	row   []types.Value
	at    int
}

func (r *run) openCross(n *plan.Cross) (rows, error) {
	held := r.holding()
	right, err := r.collect(n.Right, held.row)
	if err != nil {
		return nil, err
	}
	left, err := r.open(n.Left)
	return &crossRows{run: r, left: left, right: right, held: held, at: len(right)}, err
}

func (c *crossRows) next() ([]types.Value, bool, error) {
	for c.at == len(c.right) {
		row, ok, err := c.left.next()
		if err != nil || !ok {
			return nil, false, err
		}
		c.row, c.at = row, 0
		if len(c.right) == 0 {
			return nil, false, nil
		}
	}
	if err := c.run.frame.Alive(); err != nil {
		return nil, false, err
	}
	c.at++
	return join(c.row, c.right[c.at-1]), true, nil
}

func (c *crossRows) close() {
	c.left.close()
	c.held.free()
}
