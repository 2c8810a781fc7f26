package yql

// absentMatches are the text matching operators that ydbembed lacks.
var absentMatches = []string{"ILIKE", "GLOB", "REGEXP", "RLIKE", "MATCH"}

// condition reads a comparison for equality, or one of the tests in words.
func (p *parser) condition() Expr {
	x := p.binary(levelCondition + 1)
	node := p.node()
	switch {
	case p.acceptWords("IS", "NOT", "NULL"), p.acceptWords("NOT", "NULL"), p.acceptWords("NOTNULL"):
		return &IsNull{Node: node, X: x, Not: true}
	case p.acceptWords("IS", "NULL"), p.acceptWords("ISNULL"):
		return &IsNull{Node: node, X: x}
	}
	at := p.at
	not := p.acceptWords("NOT")
	switch {
	case p.acceptWords("IN"):
		p.acceptWords("COMPACT")
		return &In{Node: node, X: x, Set: p.inSet(), Not: not}
	case p.acceptWords("BETWEEN"):
		if p.anyWord("SYMMETRIC", "ASYMMETRIC") {
			p.refuse(p.pos(), "BETWEEN SYMMETRIC")
		}
		lo := p.binary(levelCondition + 1)
		p.expectWords("AND")
		return &Between{Node: node, X: x, Lo: lo, Hi: p.binary(levelCondition + 1), Not: not}
	case p.acceptWords("LIKE"):
		op := "LIKE"
		if not {
			op = "NOT LIKE"
		}
		pattern := p.binary(levelCondition + 1)
		if p.words("ESCAPE") {
			p.refuse(p.pos(), "LIKE .. ESCAPE")
		}
		return &Binary{Node: node, Op: op, X: x, Y: pattern}
	case p.anyWord(absentMatches...):
		p.refuse(p.pos(), "The operator "+p.raw(p.token()))
	}
	p.at = at
	return p.equalities(x)
}

// equalities reads the row of = and != that follows x.
func (p *parser) equalities(x Expr) Expr {
	for n := 0; ; n++ {
		node, op := p.node(), ""
		switch {
		case p.accept("="), p.accept("=="):
			op = "="
		case p.accept("!="), p.accept("<>"):
			op = "!="
		case p.acceptWords("IS", "DISTINCT", "FROM"):
			op = "IS DISTINCT FROM"
		case p.acceptWords("IS", "NOT", "DISTINCT", "FROM"):
			op = "IS NOT DISTINCT FROM"
		default:
			return x
		}
		p.chain(n)
		x = &Binary{Node: node, Op: op, X: x, Y: p.binary(levelCondition + 1)}
	}
}

// inSet reads the right side of IN. A list in parentheses is always a
// TupleExpr, of one item too.
func (p *parser) inSet() Expr {
	node, parenthesis := p.node(), p.is("(")
	x := p.postfix()
	switch x := x.(type) {
	case *TupleExpr, *SubSelect:
		return x
	}
	if parenthesis && p.isSign(p.tokens[p.at-1], ")") { // not ($s).list
		return &TupleExpr{Node: node, Items: []Expr{x}}
	}
	return x
}
