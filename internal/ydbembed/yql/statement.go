package yql

import "strings"

// statement reads one statement.
func (p *parser) statement() Statement {
	node := p.node()
	switch {
	case p.is("$"):
		return p.assign(node)
	case p.is("(") || p.words("SELECT"):
		return &SelectStatement{Node: node, Select: p.selectExpr()}
	case p.words("PRAGMA"):
		return p.pragma(node)
	case p.words("DECLARE"):
		return p.declare(node)
	case p.words("UPSERT", "OBJECT"):
		p.refuse(node.Pos, "UPSERT OBJECT")
	case p.anyWord("INSERT", "UPSERT", "REPLACE"):
		return p.insert(node)
	case p.words("UPDATE"):
		return p.update(node)
	case p.words("DELETE"):
		return p.delete(node)
	case p.words("CREATE", "TABLE"):
		return p.createTable(node)
	case p.words("ALTER", "TABLE"):
		return p.alterTable(node)
	case p.words("DROP", "TABLE"):
		return p.dropTable(node)
	}
	p.refuseStatement()
	p.unexpected("a statement")
	return nil
}

// absentStatements are the statements of YQL that ydbembed lacks, by their
// first word. For those of objects the second word names the object.
var absentStatements = wordSet(`
	ANALYZE BACKUP BATCH COMBINE COMMIT DEFINE DISCARD DO EVALUATE EXPLAIN EXPORT FOR FROM GRANT IF
	IMPORT KILL MATERIALIZE PARALLEL PROCESS REDUCE RESTORE REVOKE ROLLBACK SHOW TRUNCATE USE VALUES WITH`)

// refuseStatement leaves the parser if a statement of YQL stands here.
func (p *parser) refuseStatement() {
	t := p.token()
	if t.kind != tokenWord {
		return
	}
	word, second := strings.ToUpper(p.raw(t)), p.peek(1)
	switch word {
	case "CREATE", "ALTER", "DROP":
		if second.kind == tokenWord {
			p.refuse(t.pos(), word+" "+strings.ToUpper(p.raw(second)))
		}
	case "BATCH", "TRUNCATE", "SHOW", "DISCARD":
		if second.kind == tokenWord {
			word += " " + strings.ToUpper(p.raw(second))
		}
		p.refuse(t.pos(), word)
	default:
		if absentStatements[word] {
			p.refuse(t.pos(), "The statement "+word)
		}
	}
}

// pragma reads PRAGMA name, PRAGMA name = value or PRAGMA name(value, ..).
func (p *parser) pragma(node Node) Statement {
	p.expectWords("PRAGMA")
	s := &Pragma{Node: node, Name: p.identifier("a pragma name")}
	if p.accept(".") {
		s.Name += "." + p.identifier("a pragma name")
	}
	switch {
	case p.accept("="):
		s.Values = []string{p.plainValue()}
	case p.accept("("):
		p.list(")", func() { s.Values = append(s.Values, p.plainValue()) })
	}
	return s
}

// plainValue reads a word, a string or a number and returns its text.
func (p *parser) plainValue() string {
	sign := ""
	if p.accept("-") {
		sign = "-"
	} else {
		p.accept("+")
	}
	t := p.token()
	switch {
	case t.kind == tokenInteger || t.kind == tokenReal:
		p.advance()
		return sign + p.raw(t)
	case sign != "":
	case t.kind == tokenString:
		p.advance()
		text, _ := p.unquoteString(t)
		return text
	case t.kind == tokenWord || t.kind == tokenQuoted:
		return p.identifier("a value")
	case p.is("$"):
		p.refuse(t.pos(), "A parameter as a setting's value")
	}
	p.unexpected("a value")
	return ""
}

// declare reads DECLARE $name AS Type.
func (p *parser) declare(node Node) Statement {
	p.expectWords("DECLARE")
	s := &Declare{Node: node, Name: p.paramName()}
	p.expectWords("AS")
	s.Type = p.typeName()
	if p.is("=") {
		p.refuse(p.pos(), "A default value of DECLARE")
	}
	return s
}

// assign reads $name = expression or select.
func (p *parser) assign(node Node) Statement {
	s := &Assign{Node: node, Name: p.paramName()}
	if p.is(",") {
		p.refuse(p.pos(), "Assigning several names at once")
	}
	p.expect("=")
	if p.startsSelect() {
		s.Select = p.selectExpr()
		return s
	}
	s.Expr = p.expr()
	if sub, ok := s.Expr.(*SubSelect); ok {
		s.Expr, s.Select = nil, sub.Select
		if p.words("UNION") {
			s.Select = p.unionFrom(SelectArm{Node: sub.Node, Sub: sub.Select})
		}
	}
	return s
}
