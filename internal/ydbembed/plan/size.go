package plan

import (
	"strings"

	"github.com/taskfleet/taskfleet/internal/ydbembed/issue"
	"github.com/taskfleet/taskfleet/internal/ydbembed/limits"
	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
)

// What the parts of a plan take in memory, in bytes, estimated.
const (
	exprBytes   = 400 // an expression, its closure and its part of the tree
	columnBytes = 150 // a column of a source or of a result
	maxShown    = 1 << 10
)

// grow counts n bytes of the plan. A short text may stand for a large plan: a
// star for all columns of many tables.
func (c *compiler) grow(n int) error {
	if c.q.size += n; c.q.size > limits.Plan {
		return issue.TooComplex(limits.Plan)
	}
	return nil
}

// sized counts an expression. Its text, which holds those of its parts, is cut
// off where nobody would read on.
func (c *compiler) sized(x *Expr) (*Expr, error) {
	if len(x.Text) > maxShown {
		x.Text = strings.Clone(strings.ToValidUTF8(x.Text[:maxShown], "")) + "..."
	}
	return x, c.grow(exprBytes + len(x.Text))
}

// result checks the types of a result: a type of many parts may stand in it many times.
func (c *compiler) result(columns []Column) error {
	parts := 0
	for _, col := range columns {
		parts += maxTypeParts - typeParts(col.Type, maxTypeParts)
	}
	return c.grow(parts * columnBytes)
}

// typesSize is what the types of parameters take in a key of the cache and in a plan.
func typesSize(params map[string]*types.Type) (n int, ok bool) {
	for name, t := range params {
		left := typeParts(t, maxTypeParts+1)
		if left <= 0 {
			return n, false
		}
		n += len(name) + (maxTypeParts+1-left)*columnBytes
	}
	return n, true
}
