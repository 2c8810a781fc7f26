package yql

import "strings"

// joinWords are the joins as they are written, longer ones first. OUTER may
// stand before JOIN in LEFT, RIGHT and FULL.
var joinWords = []struct {
	words []string
	kind  JoinKind
}{
	{[]string{"LEFT", "ONLY"}, LeftOnly},
	{[]string{"LEFT", "SEMI"}, LeftSemi},
	{[]string{"LEFT"}, LeftJoin},
	{[]string{"RIGHT", "ONLY"}, RightOnly},
	{[]string{"RIGHT", "SEMI"}, RightSemi},
	{[]string{"RIGHT"}, RightJoin},
	{[]string{"FULL"}, FullJoin},
	{[]string{"EXCLUSION"}, ExclusionJoin},
	{[]string{"CROSS"}, CrossJoin},
	{[]string{"INNER"}, InnerJoin},
}

// source reads what stands in FROM, joins included.
func (p *parser) source() TableExpr {
	left := p.singleSource()
	for n := 0; ; n++ {
		node := p.node()
		kind, ok := p.joinKind()
		if !ok {
			return left
		}
		p.chain(n)
		j := &Join{Node: node, Kind: kind, Left: left, Right: p.singleSource()}
		switch {
		case kind == CrossJoin:
		case p.acceptWords("ON"):
			j.On = p.expr()
		case p.acceptWords("USING"):
			if p.is("(") {
				j.Using = p.nameList("a column name")
			} else {
				j.Using = []string{p.identifier("a column name")}
			}
		default:
			p.unexpected("ON or USING")
		}
		left = j
	}
}

// joinKind reads the words up to JOIN.
func (p *parser) joinKind() (JoinKind, bool) {
	switch {
	case p.is(","):
		p.refuse(p.pos(), "A comma between sources (write CROSS JOIN)")
	case p.words("NATURAL"):
		p.refuse(p.pos(), "NATURAL JOIN")
	case p.acceptWords("JOIN"):
		return InnerJoin, true
	}
	for _, j := range joinWords {
		if !p.acceptWords(j.words...) {
			continue
		}
		if j.kind == LeftJoin || j.kind == RightJoin || j.kind == FullJoin {
			p.acceptWords("OUTER")
		}
		p.expectWords("JOIN")
		return j.kind, true
	}
	return InnerJoin, false
}

// singleSource reads one source of FROM with its alias.
func (p *parser) singleSource() TableExpr {
	node := p.node()
	switch {
	case p.words("ANY"):
		p.refuse(node.Pos, "ANY in a join")
	case p.is("$"):
		name := p.paramName()
		if p.is("(") {
			p.refuse(node.Pos, "A subquery template as a source")
		}
		return &FromNamed{Node: node, Name: name, Alias: p.sourceAlias()}
	case p.is("("):
		p.advance()
		sub := p.selectExpr()
		p.expect(")")
		return &FromSelect{Node: node, Select: sub, Alias: p.sourceAlias()}
	case p.token().kind == tokenWord && p.isSign(p.peek(1), "("):
		return p.tableFunction(node)
	}
	return &FromTable{Node: node, Table: p.tableName(), Alias: p.sourceAlias()}
}

// tableFunction reads AS_TABLE(list); YQL's other table functions are refused.
func (p *parser) tableFunction(node Node) TableExpr {
	name := p.identifier("a table")
	if !strings.EqualFold(name, "AS_TABLE") {
		p.refuse(node.Pos, "The table function "+strings.ToUpper(name))
	}
	p.expect("(")
	from := &FromAsTable{Node: node, Expr: p.expr()}
	p.accept(",")
	p.expect(")")
	from.Alias = p.sourceAlias()
	return from
}

// sourceAlias reads a source's alias and refuses the clauses that YQL allows
// around it.
func (p *parser) sourceAlias() string {
	p.refuseSourceClause()
	alias := p.alias()
	p.refuseSourceClause()
	return alias
}

func (p *parser) refuseSourceClause() {
	if p.anyWord("WITH", "FLATTEN", "SAMPLE", "TABLESAMPLE", "MATCH_RECOGNIZE") {
		p.refuse(p.pos(), strings.ToUpper(p.raw(p.token()))+" of a source")
	}
}
