package yql

import "strings"

// startsSelect tells whether a select begins here; one in parentheses does not
// count, since it may be an operand.
func (p *parser) startsSelect() bool {
	return p.anyWord("SELECT", "FROM", "PROCESS", "REDUCE") || p.words("DISCARD", "SELECT") ||
		p.words("VALUES") && p.isSign(p.peek(1), "(") || p.words("WITH") && p.peek(1).kind == tokenWord
}

// selectExpr reads a whole select: arms joined by UNION, their order and limit.
// It may begin with a parenthesis.
func (p *parser) selectExpr() *Select {
	p.enter()
	defer p.leave()
	if p.is("(") {
		node := p.node()
		p.advance()
		sub := p.selectExpr()
		p.expect(")")
		if !p.words("UNION") {
			p.refuseSetOperator()
			return sub
		}
		return p.unionFrom(SelectArm{Node: node, Sub: sub})
	}
	return p.unionFrom(p.selectArm())
}

// unionFrom reads what follows the first arm of a select.
func (p *parser) unionFrom(first SelectArm) *Select {
	s := &Select{Node: first.Node, Arms: []SelectArm{first}}
	for {
		last := s.Arms[len(s.Arms)-1]
		tail := p.pos()
		if last.Sub == nil {
			p.selectTail(s)
		}
		p.refuseSetOperator()
		if !p.words("UNION") {
			return s
		}
		if s.OrderBy != nil || s.Limit != nil {
			p.fail(tail, "ORDER BY and LIMIT within UNION are only allowed after the last SELECT or in parentheses")
		}
		p.union(s)
	}
}

// union reads UNION [ALL] and the next arm.
func (p *parser) union(s *Select) {
	pos := p.pos()
	p.expectWords("UNION")
	distinct := !p.acceptWords("ALL")
	if distinct {
		p.acceptWords("DISTINCT")
	}
	if len(s.Arms) > 1 && distinct != s.Distinct {
		p.refuse(pos, "Mixing UNION and UNION ALL")
	}
	s.Distinct = distinct
	node := p.node()
	if !p.accept("(") {
		s.Arms = append(s.Arms, p.selectArm())
		return
	}
	sub := p.selectExpr()
	p.expect(")")
	s.Arms = append(s.Arms, SelectArm{Node: node, Sub: sub})
}

func (p *parser) refuseSetOperator() {
	if p.anyWord("INTERSECT", "EXCEPT") {
		p.refuse(p.pos(), strings.ToUpper(p.raw(p.token())))
	}
}

// selectTail reads ORDER BY, LIMIT and OFFSET.
func (p *parser) selectTail(s *Select) {
	if p.words("ASSUME") {
		p.refuse(p.pos(), "ASSUME ORDER BY")
	}
	if p.acceptWords("ORDER", "BY") {
		for {
			item := OrderItem{Expr: p.expr()}
			if p.acceptWords("DESC") {
				item.Desc = true
			} else {
				p.acceptWords("ASC")
			}
			s.OrderBy = append(s.OrderBy, item)
			if !p.accept(",") {
				break
			}
		}
	}
	if p.acceptWords("LIMIT") {
		s.Limit = p.expr()
		if p.is(",") {
			p.refuse(p.pos(), "LIMIT with a comma (write LIMIT n OFFSET m)")
		}
		if p.acceptWords("OFFSET") {
			s.Offset = p.expr()
		}
	}
	if p.words("INTO", "RESULT") {
		p.refuse(p.pos(), "INTO RESULT")
	}
}

// selectArm reads one SELECT up to HAVING.
func (p *parser) selectArm() SelectArm {
	arm := SelectArm{Node: p.node()}
	switch {
	case p.words("FROM"):
		p.refuse(arm.Pos, "FROM before SELECT")
	case p.words("WITH"):
		p.refuse(arm.Pos, "WITH (common table expressions)")
	case p.anyWord("PROCESS", "REDUCE", "DISCARD", "VALUES"):
		p.refuse(arm.Pos, strings.ToUpper(p.raw(p.token()))+" as a select")
	}
	p.expectWords("SELECT")
	if p.words("STREAM") {
		p.refuse(p.pos(), "SELECT STREAM")
	}
	arm.Distinct = p.acceptWords("DISTINCT")
	if !arm.Distinct {
		p.acceptWords("ALL")
	}
	arm.Items = p.selectItems()
	if p.words("WITHOUT") {
		p.refuse(p.pos(), "WITHOUT")
	}
	if p.acceptWords("FROM") {
		arm.From = p.source()
	}
	if p.acceptWords("WHERE") {
		arm.Where = p.expr()
	}
	if p.words("GROUP") {
		arm.GroupBy = p.groupBy()
	}
	if p.acceptWords("HAVING") {
		arm.Having = p.expr()
	}
	if p.words("WINDOW") {
		p.refuse(p.pos(), "WINDOW")
	}
	return arm
}

// selectItems reads what stands between SELECT and FROM.
func (p *parser) selectItems() []SelectItem {
	items := []SelectItem{p.selectItem()}
	for p.accept(",") {
		if p.endsItems() {
			break
		}
		items = append(items, p.selectItem())
	}
	return items
}

// endsItems tells whether a comma that was just read was a trailing one.
func (p *parser) endsItems() bool {
	return p.token().kind == tokenEOF || p.is(")") || p.is(";") ||
		p.anyWord("FROM", "WHERE", "HAVING", "LIMIT", "UNION") || p.words("ORDER", "BY") || p.words("GROUP", "BY")
}

func (p *parser) selectItem() SelectItem {
	item := SelectItem{Node: p.node()}
	if p.accept("*") {
		item.Star = true
		return item
	}
	if first := p.token(); (first.kind == tokenWord || first.kind == tokenQuoted) &&
		p.isSign(p.peek(1), ".") && p.isSign(p.peek(2), "*") {
		item.Star, item.Table = true, p.identifier("a table")
		p.at += 2
		return item
	}
	item.Expr = p.expr()
	item.Alias = p.alias()
	return item
}

// groupBy reads GROUP BY and its expressions.
func (p *parser) groupBy() []SelectItem {
	p.expectWords("GROUP")
	if p.words("COMPACT") {
		p.refuse(p.pos(), "GROUP COMPACT BY")
	}
	p.expectWords("BY")
	var items []SelectItem
	for {
		if p.words("GROUPING", "SETS") || p.anyWord("ROLLUP", "CUBE", "HOP") {
			p.refuse(p.pos(), "GROUP BY "+strings.ToUpper(p.raw(p.token())))
		}
		item := SelectItem{Node: p.node(), Expr: p.expr()}
		if p.acceptWords("AS") {
			item.Alias = p.identifier("an alias")
		}
		items = append(items, item)
		if !p.accept(",") {
			return items
		}
	}
}
