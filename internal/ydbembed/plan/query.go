package plan

import (
	"github.com/taskfleet/taskfleet/internal/ydbembed/issue"
	"github.com/taskfleet/taskfleet/internal/ydbembed/store"
	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
)

// Query is a compiled text. It is immutable.
type Query struct {
	Params     []Param
	Statements []Statement
	DDL        []DDL // set instead of Statements when the text is DDL
	Warnings   []issue.Issue
	NamedCount int // Named.ID is below it

	size     int // bytes in memory, estimated
	slots    int
	named    []*Named
	database string
}

// IsDDL tells whether the text changes the scheme; such a text has no other statements.
func (q *Query) IsDDL() bool { return len(q.DDL) > 0 }

// ReadOnly tells whether the text writes nothing.
func (q *Query) ReadOnly() bool {
	for _, s := range q.Statements {
		if _, ok := s.(*Select); !ok {
			return false
		}
	}
	return len(q.DDL) == 0
}

// Param is a parameter that the text declares or uses.
type Param struct {
	Name string // without $
	Type *types.Type
	Used bool // the text needs its value
}

// Column is a column of a result or of a source.
type Column struct {
	Name string
	Type *types.Type

	literal *types.Value // the column is this untyped constant in every row
}

// Statement is *Select, *Write, *Update or *Delete.
type Statement interface{ statement() }

type (
	// Select sends its rows to the client.
	Select struct {
		Source Node
		Result []Column
	}
	// Write is INSERT, UPSERT and REPLACE.
	Write struct {
		Effect
		Mode    WriteMode
		Source  Node
		Values  []*Expr // over a row of Source, by position in Effect.Columns
		Columns []int   // table columns that the statement sets
		All     bool    // Columns are all of the table's
	}
	// Update is UPDATE .. SET and UPDATE .. ON.
	Update struct {
		Effect
		Source  Node    // SET: rows of the table; ON: rows of the source
		Columns []int   // table columns that Values are for; with On they begin with the key
		Values  []*Expr // over a row of Source
		On      bool
		Need    []bool // ON: what RETURNING wants of the present row
	}
	// Delete is DELETE .. WHERE and DELETE .. ON.
	Delete struct {
		Effect
		Source Node    // WHERE: rows of the table; ON: rows of the source
		Keys   []*Expr // over a row of Source, in key order
		On     bool
	}
	// Effect is what the writing statements have in common.
	Effect struct {
		Table     *store.Table
		Before    []*Named // to be computed before the statement writes
		Returning []int    // table columns; nil without RETURNING
		Result    []Column // of RETURNING
	}
)

func (*Select) statement() {}
func (*Write) statement()  {}
func (*Update) statement() {}
func (*Delete) statement() {}

// WriteMode tells the forms of INSERT apart.
type WriteMode uint8

// The forms of INSERT.
const (
	InsertAbort WriteMode = iota
	InsertRevert
	InsertIgnore
	Upsert
	Replace
)

// Named is a select with a name ($x = SELECT ..), or one that stands in an
// expression. A Named that is used more than once, or after a write, is
// computed once and kept.
type Named struct {
	ID      int
	Name    string // empty for one in an expression
	Source  Node
	Columns []Column
	Keep    bool // compute once, share the rows

	uses    int
	defined int // index of the statement before which it is defined
	lastUse int // index of the last statement that needs it, -1 for none
	reads   bool
	deps    []*Named
}
