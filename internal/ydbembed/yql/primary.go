package yql

import (
	"strings"

	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
)

// primary reads an expression that no operator splits.
func (p *parser) primary() Expr {
	node, t := p.node(), p.token()
	switch t.kind {
	case tokenInteger:
		return p.integerLiteral(node, false)
	case tokenReal:
		return p.realLiteral()
	case tokenString:
		return p.stringLiteral()
	case tokenQuoted:
		return p.columnOrCall(node)
	case tokenWord:
		return p.wordExpr(node)
	}
	switch {
	case p.is("$"):
		return &Param{Node: node, Name: p.paramName()}
	case p.is("("):
		return p.parenthesis()
	case p.accept("["):
		list := &ListExpr{Node: node}
		p.list("]", func() { list.Items = append(list.Items, p.expr()) })
		return list
	case p.accept("<|"):
		s := &StructExpr{Node: node}
		p.list("|>", func() {
			s.Names = append(s.Names, p.memberName())
			p.expect(":")
			s.Items = append(s.Items, p.expr())
		})
		return s
	case p.is("{"):
		p.refuse(node.Pos, "A dict or set literal")
	}
	p.unexpected("an expression")
	return nil
}

// wordExpr reads an expression that begins with a word.
func (p *parser) wordExpr(node Node) Expr {
	word := strings.ToUpper(p.raw(p.token()))
	called := p.isSign(p.peek(1), "(")
	switch word {
	case "NULL":
		p.advance()
		return &Literal{Node: node, Type: types.Primitive(types.Null)}
	case "TRUE", "FALSE":
		p.advance()
		return &Literal{Node: node, Type: types.Primitive(types.Bool), Value: types.BoolValue(word == "TRUE")}
	case "CASE":
		return p.caseExpr(node)
	case "CAST":
		return p.cast(node)
	case "EXISTS", "BITCAST", "JSON_EXISTS", "JSON_QUERY", "JSON_VALUE", "ROLLUP", "CUBE", "HOP":
		if called {
			p.refuse(node.Pos, word)
		}
	case "VARIANT", "ENUM", "CALLABLE":
		if called {
			p.refuse(node.Pos, word)
		}
	case "CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP", "EMPTY_ACTION":
		p.refuse(node.Pos, word)
	}
	if reserved[word] {
		p.unexpected("an expression")
	}
	return p.columnOrCall(node)
}

// columnOrCall reads name, table.name, name(..) or module::name(..).
func (p *parser) columnOrCall(node Node) Expr {
	quoted := p.token().kind == tokenQuoted
	name := p.identifier("a name")
	if p.accept("::") {
		name += "::" + p.identifier("a function name")
		if !p.is("(") {
			p.refuse(node.Pos, "A function as a value")
		}
		return p.call(node, name)
	}
	switch {
	case p.is("(") && !quoted:
		return p.call(node, name)
	case p.is(".") && !p.isSign(p.peek(1), "*"):
		p.advance()
		return &Column{Node: node, Table: name, Name: p.accessName()}
	}
	return &Column{Node: node, Name: name}
}

// parenthesis reads ( ): a select, an expression, a tuple or a struct.
func (p *parser) parenthesis() Expr {
	node := p.node()
	p.expect("(")
	if p.startsSelect() {
		sub := p.selectExpr()
		p.expect(")")
		return &SubSelect{Node: node, Select: sub}
	}
	items, names, single := p.parenthesisItems(node)
	if p.is("->") {
		p.refuse(p.pos(), "A lambda")
	}
	switch {
	case single && len(names) == 0:
		return items[0]
	case len(names) == 0:
		return &TupleExpr{Node: node, Items: items}
	case len(names) == len(items):
		return &StructExpr{Node: node, Names: names, Items: items}
	}
	p.fail(node.Pos, "Either all or none of the items in parentheses must have names")
	return nil
}

// parenthesisItems reads up to the closing parenthesis. A single item without
// a comma is no tuple.
func (p *parser) parenthesisItems(node Node) (items []Expr, names []string, single bool) {
	if p.accept(",") { // (,) is the empty tuple
		p.expect(")")
		return nil, nil, false
	}
	single = !p.is(")")
	p.list(")", func() {
		x := p.expr()
		if sub, ok := x.(*SubSelect); ok && p.words("UNION") { // ((SELECT ..) UNION ..)
			x = &SubSelect{Node: node, Select: p.unionFrom(SelectArm{Node: sub.Node, Sub: sub.Select})}
		}
		if p.acceptWords("AS") {
			names = append(names, p.identifier("a member name"))
		}
		items = append(items, x)
		single = single && !p.is(",")
	})
	return items, names, single
}

// caseExpr reads CASE [x] WHEN .. THEN .. [ELSE ..] END.
func (p *parser) caseExpr(node Node) Expr {
	p.expectWords("CASE")
	c := &Case{Node: node}
	if !p.words("WHEN") {
		c.X = p.expr()
	}
	for {
		p.expectWords("WHEN")
		cond := p.expr()
		p.expectWords("THEN")
		c.Whens = append(c.Whens, When{Cond: cond, Then: p.expr()})
		if !p.words("WHEN") {
			break
		}
	}
	if p.acceptWords("ELSE") {
		c.Else = p.expr()
	}
	p.expectWords("END")
	return c
}

// cast reads CAST(x AS Type).
func (p *parser) cast(node Node) Expr {
	p.expectWords("CAST")
	p.expect("(")
	c := &Cast{Node: node, X: p.expr()}
	p.expectWords("AS")
	c.Type = p.typeName()
	p.expect(")")
	return c
}
