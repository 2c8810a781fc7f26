package yql

import (
	"strings"

	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
)

// call reads the arguments of a function. Constructors of constants, lists,
// tuples and structs become their own nodes.
func (p *parser) call(node Node, name string) Expr {
	p.expect("(")
	c := &Call{Node: node, Name: name}
	if p.accept("*") {
		p.expect(")")
		c.Star = true
		return p.callTail(c)
	}
	if strings.EqualFold(name, "DECIMAL") {
		p.refuse(node.Pos, "The type Decimal")
	}
	if kind, ok := types.PrimitiveByName(name); ok {
		return p.constant(node, kind)
	}
	if absentTypes[strings.ToUpper(name)] {
		p.refuse(node.Pos, "The type "+name)
	}
	takesType := strings.EqualFold(name, "Nothing") || strings.EqualFold(name, "ListCreate")
	c.Distinct = p.acceptWords("DISTINCT")
	if !c.Distinct {
		p.acceptWords("ALL")
	}
	var names []string
	p.list(")", func() {
		if takesType {
			c.Args = append(c.Args, &TypeArg{Node: p.node(), Type: p.typeName()})
			return
		}
		c.Args = append(c.Args, p.expr())
		if p.acceptWords("AS") {
			names = append(names, p.identifier("a member name"))
		}
	})
	return p.callTail(p.construct(c, names))
}

// construct turns AsStruct, AsList and AsTuple into their nodes.
func (p *parser) construct(c *Call, names []string) Expr {
	switch strings.ToUpper(c.Name) {
	case "ASSTRUCT":
		if len(names) != len(c.Args) {
			p.fail(c.Pos, "AsStruct requires a name for every member")
		}
		return &StructExpr{Node: c.Node, Names: names, Items: c.Args}
	case "ASLIST":
		if len(names) == 0 {
			return &ListExpr{Node: c.Node, Items: c.Args}
		}
	case "ASTUPLE":
		if len(names) == 0 {
			return &TupleExpr{Node: c.Node, Items: c.Args}
		}
	}
	if len(names) > 0 {
		p.refuse(c.Pos, "Named arguments of the function "+c.Name)
	}
	return c
}

// callTail refuses what may follow a call of an aggregate in YQL.
func (p *parser) callTail(x Expr) Expr {
	switch {
	case p.words("FILTER") && p.isSign(p.peek(1), "("):
		p.refuse(p.pos(), "FILTER (WHERE ..) of an aggregate")
	case p.words("IGNORE", "NULLS"), p.words("RESPECT", "NULLS"):
		p.refuse(p.pos(), "IGNORE NULLS and RESPECT NULLS")
	}
	return x
}

// constant reads the rest of Timestamp("2024-01-01T00:00:00Z") and its like.
func (p *parser) constant(node Node, kind types.Kind) Expr {
	t := p.token()
	if t.kind != tokenString {
		p.fail(t.pos(), "Expected literal string as argument in %s function", kind)
	}
	p.advance()
	text, suffix := p.unquoteString(t)
	if suffix != 0 {
		p.fail(t.pos(), "Expected literal string without suffix as argument in %s function", kind)
	}
	p.accept(",")
	p.expect(")")
	return &Literal{Node: node, Type: types.Primitive(kind), Value: p.parseValue(kind, text, t.pos())}
}
