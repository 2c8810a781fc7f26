package store

import (
	"maps"
	"slices"

	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
)

// model is the store as the simplest code that could be right: every version
// of the table as a map of its own, and transactions that keep lists.
type model struct {
	versions []map[string]Row // by number of commit
	changed  [][]string       // keys that the commit wrote
}

func newModel() *model {
	return &model{versions: []map[string]Row{{}}, changed: [][]string{nil}}
}

func (m *model) seq() int { return len(m.versions) - 1 }

// modelTx is a transaction of the model.
type modelTx struct {
	m     *model
	table *Table
	mode  Mode
	snap  int // -1 before the first read
	ops   []modelOp
	locks []func(key string) bool // what was read
}

type modelOp struct {
	key  string
	kind writeKind
	row  Row
	set  []bool
}

func (m *model) begin(t *Table, mode Mode) *modelTx {
	return &modelTx{m: m, table: t, mode: mode, snap: -1}
}

func (tx *modelTx) read(lock func(key string) bool) {
	if tx.snap < 0 {
		tx.snap = tx.m.seq()
	}
	tx.locks = append(tx.locks, lock)
}

// over applies the transaction's writes of one key to a row, nil for none.
func (tx *modelTx) over(key string, row Row) Row {
	for _, op := range tx.ops {
		switch {
		case op.key != key:
		case op.kind == putWrite:
			row = op.row
		case op.kind == deleteWrite:
			row = nil
		default:
			next := make(Row, len(op.row))
			for i, c := range tx.table.Columns {
				switch {
				case op.set[i] || tx.table.IsKey(i):
					next[i] = op.row[i]
				case row != nil:
					next[i] = row[i]
				case c.Default != nil:
					next[i] = *c.Default
				}
			}
			row = next
		}
	}
	return row
}

// known tells whether the own writes alone tell what the row is.
func (tx *modelTx) known(key string) bool {
	return slices.ContainsFunc(tx.ops, func(op modelOp) bool { return op.key == key && op.kind != mergeWrite })
}

func (tx *modelTx) get(key string) Row {
	if tx.known(key) {
		return tx.over(key, nil)
	}
	tx.read(func(k string) bool { return k == key })
	return tx.over(key, tx.m.versions[tx.snap][key])
}

// scan returns the rows of a range and how many of them, up to limit, have to
// be taken from below the own writes.
func (tx *modelTx) scan(inside func(key string) bool, reverse bool, limit int) (rows []Row, taken int) {
	tx.read(inside)
	base := tx.m.versions[tx.snap]
	all := maps.Clone(base)
	for _, op := range tx.ops {
		all[op.key] = nil
	}
	keys := slices.Sorted(maps.Keys(all))
	if reverse {
		slices.Reverse(keys)
	}
	for _, k := range keys {
		if len(rows) == limit || !inside(k) {
			continue
		}
		if base[k] != nil && !tx.known(k) {
			taken++
		}
		if row := tx.over(k, base[k]); row != nil {
			rows = append(rows, row)
		}
	}
	return rows, taken
}

// commit tells whether the transaction must conflict; if not, it takes effect.
func (tx *modelTx) commit() (conflict bool) {
	if len(tx.ops) == 0 {
		return false
	}
	if tx.snap >= 0 {
		for _, keys := range tx.m.changed[tx.snap+1:] {
			if slices.ContainsFunc(keys, tx.minds) {
				return true
			}
		}
	}
	next := maps.Clone(tx.m.versions[tx.m.seq()])
	var keys []string
	for _, op := range tx.ops {
		if slices.Contains(keys, op.key) {
			continue
		}
		keys = append(keys, op.key)
		next[op.key] = tx.over(op.key, next[op.key])
		if next[op.key] == nil {
			delete(next, op.key)
		}
	}
	tx.m.versions = append(tx.m.versions, next)
	tx.m.changed = append(tx.m.changed, keys)
	return false
}

// minds tells whether another's write of the key since the snapshot is a conflict.
func (tx *modelTx) minds(key string) bool {
	if tx.mode == SnapshotReadWrite {
		return slices.ContainsFunc(tx.ops, func(op modelOp) bool { return op.key == key })
	}
	return slices.ContainsFunc(tx.locks, func(lock func(string) bool) bool { return lock(key) })
}

// modelKey is a key's place in the model: sorted as text it sorts as the table.
func modelKey(key []types.Value) string {
	b := []byte{byte('0' + key[0].Uint()), '.'}
	if !key[1].IsNull() {
		b[1] = byte('0' + key[1].Int())
	}
	return string(b)
}

// insideOf returns the range as a test on model keys.
func insideOf(r Range) func(key string) bool {
	side := func(key string, b *Bound) int { // of the key against the bound
		for i, v := range b.Prefix {
			c := byte('.')
			if i == 0 {
				c = byte('0' + v.Uint())
			} else if !v.IsNull() {
				c = byte('0' + v.Int())
			}
			if key[i] != c {
				return int(key[i]) - int(c)
			}
		}
		return 0
	}
	return func(key string) bool {
		if r.From != nil {
			if c := side(key, r.From); c < 0 || c == 0 && !r.From.Inclusive {
				return false
			}
		}
		if r.To != nil {
			if c := side(key, r.To); c > 0 || c == 0 && !r.To.Inclusive {
				return false
			}
		}
		return true
	}
}
