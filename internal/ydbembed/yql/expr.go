package yql

// Precedence levels from the loosest to the tightest, as in YQL: XOR binds
// tighter than AND, NOT as tight as a sign, || tighter than *.
const (
	levelOr = iota
	levelAnd
	levelXor
	levelCondition // = != IS IN LIKE BETWEEN: one of them, or a row of equalities
	levelCompare
	levelCoalesce // ?? and the bit operators
	levelAdd
	levelMultiply
	levelConcat
	levelUnary
)

// levelSigns are the operators of the levels that are written in signs.
var levelSigns = map[int][]string{
	levelCompare:  {"<", "<=", ">", ">="},
	levelAdd:      {"+", "-"},
	levelMultiply: {"*", "/", "%"},
	levelConcat:   {"||"},
}

// levelWords are the operators of the levels that are written in words.
var levelWords = map[int]string{levelOr: "OR", levelAnd: "AND", levelXor: "XOR"}

// expr reads an expression.
func (p *parser) expr() Expr {
	p.enter()
	defer p.leave()
	return p.binary(levelOr)
}

// binary reads operands of the level and the operators between them.
func (p *parser) binary(level int) Expr {
	switch level {
	case levelCondition:
		return p.condition()
	case levelCoalesce:
		return p.coalesce()
	case levelUnary:
		return p.unary()
	}
	x := p.binary(level + 1)
	for n := 0; ; n++ {
		node, op := p.node(), p.operator(level)
		if op == "" {
			return x
		}
		p.chain(n)
		x = &Binary{Node: node, Op: op, X: x, Y: p.binary(level + 1)}
	}
}

// operator reads an operator of the level, or returns "".
func (p *parser) operator(level int) string {
	if word, ok := levelWords[level]; ok {
		if p.acceptWords(word) {
			return word
		}
		return ""
	}
	for _, sign := range levelSigns[level] {
		if p.accept(sign) {
			return sign
		}
	}
	return ""
}

// coalesce reads x ?? y, which groups to the right, and refuses bit operators.
func (p *parser) coalesce() Expr {
	operands := []Expr{p.binary(levelAdd)}
	var nodes []Node
	for n := 0; ; n++ {
		p.refuseBitOperator()
		if !p.is("?") {
			break
		}
		p.chain(n)
		nodes = append(nodes, p.node())
		p.advance()
		if !p.is("?") {
			p.refuse(nodes[n].Pos, "A trailing ? (a type or a lambda argument) in an expression")
		}
		p.advance()
		operands = append(operands, p.binary(levelAdd))
	}
	last := len(operands) - 1
	x := operands[last]
	for i := last - 1; i >= 0; i-- {
		x = &Binary{Node: nodes[i], Op: "??", X: operands[i], Y: x}
	}
	return x
}

// refuseBitOperator leaves the parser at a bit operator; >> is two tokens.
func (p *parser) refuseBitOperator() {
	for _, op := range []string{"<<", "|<<", "&", "|", "^"} {
		if p.is(op) {
			p.refuse(p.pos(), "The bit operator "+op)
		}
	}
	if p.is(">") && p.isSign(p.peek(1), ">") {
		p.refuse(p.pos(), "The bit operator >>")
	}
}

// unary reads at most one sign, as YQL does.
func (p *parser) unary() Expr {
	node := p.node()
	switch {
	case p.is("-") && p.peek(1).kind == tokenInteger:
		if x := p.negativeLiteral(node); x != nil {
			return x
		}
	case p.is("-") || p.is("+") || p.is("~"):
	case p.words("NOT"):
		p.advance()
		return &Unary{Node: node, Op: "NOT", X: p.postfix()}
	default:
		return p.postfix()
	}
	op := p.raw(p.advance())
	return &Unary{Node: node, Op: op, X: p.postfix()}
}

// negativeLiteral reads -5 as a constant, unless the kind has no sign.
func (p *parser) negativeLiteral(node Node) Expr {
	mark := p.at
	p.advance()
	lit := p.integerLiteral(node, true)
	if !lit.Type.Kind.IsSigned() || p.is(".") {
		p.at = mark
		return nil
	}
	return lit
}

// postfix reads a primary expression and the member accesses behind it.
func (p *parser) postfix() Expr {
	x := p.primary()
	for n := 0; ; n++ {
		node := p.node()
		switch {
		case p.is("["):
			p.refuse(node.Pos, "Element access with [ ]")
		case p.is("("):
			p.refuse(node.Pos, "Calling an expression")
		case p.words("COLLATE"):
			p.refuse(node.Pos, "COLLATE")
		case p.words("OVER"):
			p.refuse(node.Pos, "OVER (window functions)")
		case !p.accept("."):
			return x
		}
		p.chain(n)
		x = &Member{Node: node, X: x, Name: p.accessName()}
	}
}

// accessName reads what stands behind a dot: a name or a tuple index.
func (p *parser) accessName() string {
	if t := p.token(); t.kind == tokenInteger {
		p.advance()
		return p.raw(t)
	}
	return p.identifier("a member name")
}
