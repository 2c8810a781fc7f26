package exec

import (
	"context"

	"github.com/taskfleet/taskfleet/internal/ydbembed/issue"
	"github.com/taskfleet/taskfleet/internal/ydbembed/limits"
	"github.com/taskfleet/taskfleet/internal/ydbembed/store"
	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
)

// Tx is a transaction of the store that takes no more than YDB lets it write.
type Tx struct {
	*store.Tx
	pool   *limits.Pool
	buffer limits.Account
}

// NewTx makes a Tx that, with all queries that run in it, takes its memory from
// a pool. It ends with Commit or Rollback.
func NewTx(tx *store.Tx, pool *limits.Pool) *Tx {
	return &Tx{Tx: tx, pool: pool, buffer: pool.Account()}
}

// Commit is the store's.
func (tx *Tx) Commit(ctx context.Context) error {
	defer tx.buffer.Close()
	return tx.Tx.Commit(ctx)
}

// Rollback is the store's.
func (tx *Tx) Rollback() {
	tx.Tx.Rollback()
	tx.buffer.Close()
}

// put writes a whole row.
func (tx *Tx) put(t *store.Table, row store.Row, st *store.Access) error {
	if err := tx.admit(t, row); err != nil {
		return err
	}
	tx.Put(t, row, st)
	return nil
}

// merge writes the columns of a row that are set.
func (tx *Tx) merge(t *store.Table, row store.Row, set []bool, st *store.Access) error {
	if err := tx.admit(t, row); err != nil {
		return err
	}
	tx.Merge(t, row, set, st)
	return nil
}

// remove deletes a row.
func (tx *Tx) remove(t *store.Table, key []types.Value, st *store.Access) error {
	if err := tx.charge(types.RowMemory(key)); err != nil {
		return err
	}
	tx.Delete(t, key, st)
	return nil
}

// admit checks a row against the limits of its table and of the transaction.
func (tx *Tx) admit(t *store.Table, row store.Row) error {
	size, key := 0, 0
	for i, v := range row {
		n := cellBytes(v)
		size += n
		switch {
		case t.IsKey(i):
			key += n
		case n > limits.Cell:
			return issue.CellTooLarge(t.Path, n, limits.Cell)
		}
	}
	switch {
	case key > limits.Key:
		return issue.KeyTooLarge(t.Path, key, limits.Key)
	case size > limits.Row:
		return issue.RowTooLarge(t.Path, size, limits.Row)
	}
	return tx.charge(size)
}

func (tx *Tx) charge(n int) error {
	err := tx.buffer.Add(n + entryBytes)
	if used := tx.buffer.Used(); used >= limits.Buffer {
		return issue.BufferTooLarge(int(used), limits.Buffer)
	}
	return err
}

// cellBytes is the size of a value as a table stores it.
func cellBytes(v types.Value) int {
	switch {
	case v.IsNull():
		return 0
	case v.Kind().IsText():
		return len(v.Text())
	}
	return 8
}
