// Package yql reads query texts: a lexer, a recursive-descent parser and the
// syntax tree that they make. It checks form only; names and types are the
// planner's. Whatever YQL has and ydbembed has not is refused here by name,
// see Error.Unsupported.
package yql

import "github.com/taskfleet/taskfleet/internal/ydbembed/types"

// Pos is a place in the query text, both numbers from 1, as YDB counts them.
type Pos struct{ Line, Col int }

// Query is a parsed text: its statements in order.
type Query struct {
	Statements []Statement
}

// Statement is one of the statement nodes below.
type Statement interface{ Position() Pos }

// Node carries the position that every tree node has.
type Node struct{ Pos Pos }

// Position returns where the node begins; for a binary operator, a test like IS
// NULL, a member access and a join it is the place of the operator.
func (n Node) Position() Pos { return n.Pos }

type (
	// Pragma is PRAGMA name[=value | (values)]; TablePathPrefix is the one that has an effect.
	Pragma struct {
		Node
		Name   string // as written, e.g. TablePathPrefix
		Values []string
	}
	// Declare is DECLARE $name AS Type.
	Declare struct {
		Node
		Name string // without $
		Type *types.Type
	}
	// Assign is $name = expression, or $name = a select (with or without parentheses).
	Assign struct {
		Node
		Name   string // without $
		Expr   Expr   // exactly one of Expr and Select is set
		Select *Select
	}
	// SelectStatement is a SELECT whose result goes to the client.
	SelectStatement struct {
		Node
		Select *Select
	}
	// Insert is INSERT, UPSERT or REPLACE INTO.
	Insert struct {
		Node
		Mode      InsertMode
		Table     TableName
		Columns   []string // nil: taken by name from the source
		Rows      [][]Expr // VALUES; nil when Select is set
		Select    *Select
		Returning *Returning
	}
	// Update is UPDATE t SET .. [WHERE ..], or UPDATE t ON <source>.
	Update struct {
		Node
		Table     TableName
		Set       []SetItem
		Where     Expr
		On        *Source // ON form; Set and Where are empty
		Returning *Returning
	}
	// Delete is DELETE FROM t [WHERE ..], or DELETE FROM t ON <source>.
	Delete struct {
		Node
		Table     TableName
		Where     Expr
		On        *Source
		Returning *Returning
	}
	// CreateTable is CREATE TABLE [IF NOT EXISTS].
	CreateTable struct {
		Node
		Table       TableName
		IfNotExists bool
		Columns     []ColumnDef
		PrimaryKey  []string
		Settings    []Setting // WITH (..)
	}
	// AlterTable is ALTER TABLE t action, ...
	AlterTable struct {
		Node
		Table   TableName
		Actions []AlterAction
	}
	// DropTable is DROP TABLE [IF EXISTS].
	DropTable struct {
		Node
		Table    TableName
		IfExists bool
	}
)

// InsertMode tells the INSERT forms apart.
type InsertMode uint8

// The INSERT forms.
const (
	InsertAbort  InsertMode = iota // INSERT, INSERT OR ABORT
	InsertRevert                   // INSERT OR REVERT
	InsertIgnore                   // INSERT OR IGNORE
	Upsert
	Replace
)

// Source feeds the ON form of UPDATE and DELETE.
type Source struct {
	Columns []string
	Rows    [][]Expr
	Select  *Select
}

// SetItem is one column = expression of UPDATE.
type SetItem struct {
	Node
	Column string
	Expr   Expr
}

// Returning is RETURNING * or a list of column names.
type Returning struct {
	Node
	All     bool
	Columns []string
}

// TableName is a table as written; View names a secondary index, empty without.
type TableName struct {
	Node
	Path string
	View string
}

// ColumnDef is one column of CREATE TABLE or ADD COLUMN.
type ColumnDef struct {
	Node
	Name    string
	Type    *types.Type
	NotNull bool
	Default Expr // nil without DEFAULT
	Family  string
}

// Setting is one name = value of WITH or SET. Value is the text as YDB keeps
// it: ENABLED, 50, PT1H. On and Unit belong to TTL = <interval> ON col AS unit.
// Lists (PARTITION_AT_KEYS) keep their rows in Keys.
type Setting struct {
	Node
	Name  string // upper case
	Value string
	On    string
	Unit  string // "", SECONDS, MILLISECONDS, MICROSECONDS, NANOSECONDS
	Keys  [][]Expr
}

// AlterAction is one of AddColumn, DropColumn, SetSettings, ResetSettings,
// DropNotNull.
type AlterAction interface{ Position() Pos }

type (
	// AddColumn is ADD [COLUMN] definition.
	AddColumn struct {
		Node
		Column ColumnDef
	}
	// DropColumn is DROP [COLUMN] name.
	DropColumn struct {
		Node
		Name string
	}
	// SetSettings is SET (name = value, ..) or SET name value.
	SetSettings struct {
		Node
		Settings []Setting
	}
	// ResetSettings is RESET (name, ..).
	ResetSettings struct {
		Node
		Names []string // upper case
	}
	// DropNotNull is ALTER COLUMN c DROP NOT NULL.
	DropNotNull struct {
		Node
		Column string
	}
)

// Select is a whole select: UNION [ALL] arms and what orders and limits them.
// A lone arm carries its ORDER BY and LIMIT here too.
type Select struct {
	Node
	Arms     []SelectArm
	Distinct bool // arms joined by UNION without ALL
	OrderBy  []OrderItem
	Limit    Expr
	Offset   Expr
}

// SelectArm is one SELECT core, or a parenthesised select (Sub).
type SelectArm struct {
	Node
	Sub      *Select // when set, nothing else is
	Distinct bool
	Items    []SelectItem
	From     TableExpr // nil without FROM
	Where    Expr
	GroupBy  []SelectItem // expressions with optional aliases
	Having   Expr
}

// SelectItem is an expression with its alias, or a star: * or t.*.
type SelectItem struct {
	Node
	Expr  Expr
	Alias string
	Star  bool
	Table string // of t.*
}

// OrderItem is one key of ORDER BY.
type OrderItem struct {
	Expr Expr
	Desc bool
}

// TableExpr is what stands in FROM: *FromTable, *FromParam, *FromAsTable,
// *FromSelect or *Join.
type TableExpr interface{ Position() Pos }

type (
	// FromTable reads a table.
	FromTable struct {
		Node
		Table TableName
		Alias string
	}
	// FromNamed reads a named expression: FROM $x.
	FromNamed struct {
		Node
		Name  string // without $
		Alias string
	}
	// FromAsTable reads a list of structs: FROM AS_TABLE(expr).
	FromAsTable struct {
		Node
		Expr  Expr
		Alias string
	}
	// FromSelect reads a sub-select in parentheses.
	FromSelect struct {
		Node
		Select *Select
		Alias  string
	}
	// Join joins two sources; exactly one of On and Using is set, but for CROSS.
	Join struct {
		Node
		Kind        JoinKind
		Left, Right TableExpr
		On          Expr
		Using       []string
	}
)

// JoinKind tells the joins apart.
type JoinKind uint8

// The joins. RIGHT and FULL kinds are parsed; the planner refuses what it lacks.
const (
	InnerJoin JoinKind = iota
	LeftJoin
	RightJoin
	FullJoin
	CrossJoin
	LeftOnly
	LeftSemi
	RightOnly
	RightSemi
	ExclusionJoin
)

// Expr is one of the expression nodes below.
type Expr interface{ Position() Pos }

type (
	// Literal is a constant with its type: 5, "x"u, NULL, true, Timestamp("..") .
	// Untyped is set for those that a write may convert to the column's type:
	// bare integers and plain string literals.
	Literal struct {
		Node
		Type    *types.Type
		Value   types.Value
		Untyped bool
	}
	// Param is $name: a parameter or a named expression.
	Param struct {
		Node
		Name string // without $
	}
	// Column is name or table.name.
	Column struct {
		Node
		Table string
		Name  string
	}
	// Unary is Op x, with Op one of: - + NOT ~
	Unary struct {
		Node
		Op string
		X  Expr
	}
	// Binary is x Op y, with Op one of: OR XOR AND = != < <= > >= + - * / % || ??
	// (== is read as =, <> as !=), or "IS DISTINCT FROM", "IS NOT DISTINCT FROM",
	// "LIKE", "NOT LIKE".
	Binary struct {
		Node
		Op   string
		X, Y Expr
	}
	// IsNull is x IS [NOT] NULL.
	IsNull struct {
		Node
		X   Expr
		Not bool
	}
	// Between is x [NOT] BETWEEN lo AND hi.
	Between struct {
		Node
		X, Lo, Hi Expr
		Not       bool
	}
	// In is x [NOT] IN <set>; Set is a Tuple of the listed items, a Param, another
	// expression of a list type, or a SubSelect.
	In struct {
		Node
		X, Set Expr
		Not    bool
	}
	// Case is CASE [x] WHEN a THEN b .. [ELSE c] END.
	Case struct {
		Node
		X     Expr
		Whens []When
		Else  Expr
	}
	// Call is Name(args); names keep their case, module functions are
	// DateTime::FromSeconds. Star is COUNT(*), Distinct is COUNT(DISTINCT x).
	Call struct {
		Node
		Name     string
		Args     []Expr
		Star     bool
		Distinct bool
	}
	// Cast is CAST(x AS Type).
	Cast struct {
		Node
		X    Expr
		Type *types.Type
	}
	// TypeArg is a type standing as an argument, as in Nothing(Utf8?).
	TypeArg struct {
		Node
		Type *types.Type
	}
	// TupleExpr is (a, b) with two items or more, or (a,).
	TupleExpr struct {
		Node
		Items []Expr
	}
	// ListExpr is [a, b].
	ListExpr struct {
		Node
		Items []Expr
	}
	// StructExpr is <|name: expr, ..|> or AsStruct(expr AS name, ..).
	StructExpr struct {
		Node
		Names []string
		Items []Expr
	}
	// Member is x.name on an expression that is not a column reference.
	Member struct {
		Node
		X    Expr
		Name string
	}
	// SubSelect is a select in parentheses used as a value.
	SubSelect struct {
		Node
		Select *Select
	}
)

// When is one WHEN .. THEN .. of CASE.
type When struct{ Cond, Then Expr }
