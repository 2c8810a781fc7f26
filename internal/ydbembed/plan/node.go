package plan

import (
	"github.com/taskfleet/taskfleet/internal/ydbembed/store"
	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
)

// Node is a source of rows: one of the types below.
type Node interface{ node() }

type (
	// One makes a single empty row: a SELECT without FROM.
	One struct{}
	// Rows makes one row for each list of expressions: VALUES.
	Rows struct{ Rows [][]*Expr }
	// AsTable makes a row of each struct of a list.
	AsTable struct{ List *Expr }
	// Ref reads a named select.
	Ref struct{ Named *Named }
	// Scan reads a table. Its rows have the width of the table.
	Scan struct {
		Table   *store.Table
		Path    *Path
		Need    []bool
		Reverse bool

		limit   *Expr // for EXPLAIN: the rows that are wanted, when the scan alone decides
		ordered bool  // for EXPLAIN: the order is asked for
	}
	// Filter keeps the rows for which Pred is true.
	Filter struct {
		Input Node
		Pred  *Expr
	}
	// Project computes new rows.
	Project struct {
		Input Node
		Exprs []*Expr
	}
	// Lookup joins each row of Left with the rows of a table that have the key,
	// or key prefix, that Keys compute. Each distinct key is read once. The rows
	// are Left's followed by the table's.
	Lookup struct {
		Left     Node
		Table    *store.Table
		Keys     []*Expr
		Residual *Expr // what else must hold for a match, over the joined row; nil for nothing
		Need     []bool
		Kind     JoinKind
	}
	// HashJoin joins two sources by equal keys; Right is held in memory.
	HashJoin struct {
		Left, Right         Node
		LeftKeys, RightKeys []*Expr
		Residual            *Expr
		RightWidth          int
		Kind                JoinKind
	}
	// Cross makes all pairs; Right is held in memory.
	Cross struct {
		Left, Right Node
	}
	// Aggregate makes one row for each distinct Keys: the keys, then the
	// aggregates. Without keys it makes exactly one row.
	Aggregate struct {
		Input Node
		Keys  []*Expr
		Aggs  []Agg
	}
	// Distinct drops repeated rows.
	Distinct struct{ Input Node }
	// Sort orders rows; with Limit it is a TopSort and keeps only what is wanted.
	Sort struct {
		Input Node
		Keys  []SortKey
		Limit *Expr // rows wanted, offset included; nil for all
		Skip  *Expr // the OFFSET that Limit must be raised by; nil for none
	}
	// Limit skips Offset rows and ends after Count rows; each may be nil.
	Limit struct {
		Input         Node
		Count, Offset *Expr
	}
	// Union appends sources; Maps tells where each result column stands in the arm, -1 for NULL.
	Union struct {
		Arms []Node
		Maps [][]int
	}
)

func (*One) node()       {}
func (*Rows) node()      {}
func (*AsTable) node()   {}
func (*Ref) node()       {}
func (*Scan) node()      {}
func (*Filter) node()    {}
func (*Project) node()   {}
func (*Lookup) node()    {}
func (*HashJoin) node()  {}
func (*Cross) node()     {}
func (*Aggregate) node() {}
func (*Distinct) node()  {}
func (*Sort) node()      {}
func (*Limit) node()     {}
func (*Union) node()     {}

// SortKey is one key of an order.
type SortKey struct {
	Expr *Expr
	Desc bool
}

// JoinKind tells the joins apart.
type JoinKind uint8

// The joins that ydbembed runs.
const (
	Inner    JoinKind = iota
	Left              // rows without a match get NULLs
	LeftOnly          // rows without a match
	LeftSemi          // rows with a match, once
)

// Agg is one aggregate of an Aggregate node.
type Agg struct {
	Kind     AggKind
	Arg      *Expr // nil for COUNT(*)
	By       *Expr // of MAX_BY and MIN_BY
	Distinct bool
	Type     *types.Type
}

// AggKind names an aggregate function.
type AggKind uint8

// The aggregate functions.
const (
	Count AggKind = iota
	CountIf
	Min
	Max
	Sum
	Avg
	Some
	AggList
	MinBy
	MaxBy
	BoolAnd
	BoolOr
)
