package plan

import "github.com/taskfleet/taskfleet/internal/ydbembed/yql"

// orBound recognises the written-out form of a tuple comparison,
//
//	a > x OR (a = x AND b > y)           which is (a, b) > (x, y)
//	a > x OR (a = x AND (b > y OR ..))   and deeper, either direction, last >= too
//	a > x OR a = x AND b > y OR a = x AND b = y AND c > z
//
// and takes the bound from it.
func (ch *choosing) orBound(e *yql.Binary, index int) error {
	op, start, values, ok := ch.orTuple(e)
	if !ok {
		return nil
	}
	exprs := make([]*Expr, len(values))
	for i, v := range values {
		x, err := ch.fits(start+i, v)
		if err != nil || x == nil {
			return err
		}
		exprs[i] = x
	}
	ch.bound(op, start, exprs, index, true)
	return nil
}

// orTuple reads a term as a comparison of consecutive key columns with values.
func (ch *choosing) orTuple(e yql.Expr) (op string, start int, values []yql.Expr, ok bool) {
	terms := flatten(e, "OR", nil)
	if len(terms) == 1 {
		return ch.strictTerm(terms[0])
	}
	op, start, values, ok = ch.strictTerm(terms[0])
	if !ok || len(values) != 1 || len(op) != 1 {
		return "", 0, nil, false
	}
	// What follows begins with "a = x" in every term; without it, the rest is
	// the comparison of the columns behind a.
	var rest yql.Expr
	for _, t := range terms[1:] {
		parts := flatten(t, "AND", nil)
		if len(parts) < 2 || !ch.equal(parts[0], start, values[0]) {
			return "", 0, nil, false
		}
		tail := parts[1]
		for _, p := range parts[2:] {
			tail = &yql.Binary{Op: "AND", X: tail, Y: p}
		}
		if rest == nil {
			rest = tail
		} else {
			rest = &yql.Binary{Op: "OR", X: rest, Y: tail}
		}
	}
	op2, start2, values2, ok := ch.orTuple(rest)
	if !ok || start2 != start+1 || op2[0] != op[0] {
		return "", 0, nil, false
	}
	return op2, start, append([]yql.Expr{values[0]}, values2...), true
}

// strictTerm reads column op constant, either way round.
func (ch *choosing) strictTerm(e yql.Expr) (op string, start int, values []yql.Expr, ok bool) {
	b, isBinary := e.(*yql.Binary)
	if !isBinary || mirror[b.Op] == "" || b.Op == "=" {
		return "", 0, nil, false
	}
	if k := ch.key(b.X); k >= 0 && isConst(b.Y) {
		return b.Op, k, []yql.Expr{b.Y}, true
	}
	if k := ch.key(b.Y); k >= 0 && isConst(b.X) {
		return mirror[b.Op], k, []yql.Expr{b.X}, true
	}
	return "", 0, nil, false
}

// equal tells whether a term is: key column = the value.
func (ch *choosing) equal(e yql.Expr, key int, value yql.Expr) bool {
	b, ok := e.(*yql.Binary)
	if !ok || b.Op != "=" {
		return false
	}
	return ch.key(b.X) == key && sameExpr(b.Y, value) || ch.key(b.Y) == key && sameExpr(b.X, value)
}
