package store

import (
	"slices"
	"time"

	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
)

// Table describes a row table. The store's tables are immutable: a scheme
// change makes a new Table with a higher Version.
type Table struct {
	ID        uint64 // given by the store, never used again
	Version   uint64 // rises with every change of the table
	Path      string // absolute
	Columns   []Column
	Key       []int // indexes into Columns, in key order
	TTL       *TTL  // nil: rows live on
	Settings  []Setting
	CreatedAt time.Time

	NextColumnID uint32 // column numbers are never used again
}

// Column is one column of a table.
type Column struct {
	ID      uint32 // given by the store at CREATE TABLE or ADD COLUMN
	Name    string
	Type    *types.Type // base type, never Optional
	NotNull bool
	Default *types.Value // nil: no DEFAULT
	Family  string

	// Initial is what rows written before the column was added show: its
	// DEFAULT at that moment. The store sets it.
	Initial *types.Value
}

// Setting is a WITH (name = value) that is kept for DescribeTable.
type Setting struct{ Name, Value string }

// TTL tells when rows expire: After the time in Column. Unit is empty for
// Date, Datetime and Timestamp columns, and SECONDS, MILLISECONDS,
// MICROSECONDS or NANOSECONDS for integer columns that count since 1970.
type TTL struct {
	Column string
	After  time.Duration
	Unit   string
}

// ValueType is the type that the column has in results: Optional unless NOT NULL.
func (c Column) ValueType() *types.Type {
	if c.NotNull {
		return c.Type
	}
	return types.OptionalOf(c.Type)
}

// Column returns the position of the named column, or -1.
func (t *Table) Column(name string) int {
	return slices.IndexFunc(t.Columns, func(c Column) bool { return c.Name == name })
}

// IsKey tells whether the column at position i is part of the key.
func (t *Table) IsKey(i int) bool { return slices.Contains(t.Key, i) }

// KeyOf returns the key values of a row, in key order.
func (t *Table) KeyOf(row Row) []types.Value {
	key := make([]types.Value, len(t.Key))
	for i, c := range t.Key {
		key[i] = row[c]
	}
	return key
}
