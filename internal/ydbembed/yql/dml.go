package yql

// insert reads INSERT, UPSERT or REPLACE INTO.
func (p *parser) insert(node Node) Statement {
	s := &Insert{Node: node, Mode: p.insertMode()}
	p.expectWords("INTO")
	s.Table = p.tableName()
	if p.words("WITH") {
		p.refuse(p.pos(), "WITH of a written table")
	}
	source := p.valuesSource()
	s.Columns, s.Rows, s.Select = source.Columns, source.Rows, source.Select
	s.Returning = p.returning()
	return s
}

func (p *parser) insertMode() InsertMode {
	switch {
	case p.acceptWords("UPSERT"):
		return Upsert
	case p.acceptWords("REPLACE"):
		return Replace
	}
	p.expectWords("INSERT")
	switch {
	case !p.acceptWords("OR"):
	case p.acceptWords("ABORT"):
	case p.acceptWords("REVERT"):
		return InsertRevert
	case p.acceptWords("IGNORE"):
		return InsertIgnore
	default:
		p.unexpected("ABORT, REVERT or IGNORE")
	}
	return InsertAbort
}

// valuesSource reads [(columns)] VALUES .. or [(columns)] SELECT ..
func (p *parser) valuesSource() *Source {
	s := &Source{}
	if p.is("(") && !p.isSign(p.peek(1), "(") && !p.isWord(p.peek(1), "SELECT") {
		s.Columns = p.nameList("a column name")
	}
	switch {
	case p.words("DEFAULT", "VALUES"):
		p.refuse(p.pos(), "DEFAULT VALUES")
	case p.acceptWords("VALUES"):
		s.Rows = p.rows(len(s.Columns))
	case p.is("(") || p.startsSelect():
		s.Select = p.selectExpr()
	default:
		p.unexpected("VALUES or SELECT")
	}
	return s
}

// rows reads (a, ..), (b, ..) with as many items in each as there are columns
// listed, or as in the first row.
func (p *parser) rows(width int) [][]Expr {
	var rows [][]Expr
	for {
		pos := p.pos()
		p.expect("(")
		row := make([]Expr, 0, width)
		p.list(")", func() { row = append(row, p.expr()) })
		if width == 0 {
			width = len(row)
		}
		if len(row) != width || width == 0 {
			p.fail(pos, "VALUES have %d columns, expected: %d", len(row), width)
		}
		rows = append(rows, row)
		if !p.accept(",") || !p.is("(") {
			return rows
		}
	}
}

// update reads UPDATE t SET .. [WHERE ..] or UPDATE t ON source.
func (p *parser) update(node Node) Statement {
	p.expectWords("UPDATE")
	s := &Update{Node: node, Table: p.tableName()}
	if p.acceptWords("ON") {
		s.On = p.valuesSource()
		s.Returning = p.returning()
		return s
	}
	p.expectWords("SET")
	if p.is("(") {
		p.refuse(p.pos(), "SET (columns) = (values)")
	}
	for {
		item := SetItem{Node: p.node(), Column: p.identifier("a column name")}
		if p.is(".") {
			p.fail(p.pos(), "Unexpected token '.', a column of SET has no table name")
		}
		p.expect("=")
		item.Expr = p.expr()
		s.Set = append(s.Set, item)
		if !p.accept(",") {
			break
		}
	}
	if p.acceptWords("WHERE") {
		s.Where = p.expr()
	}
	s.Returning = p.returning()
	return s
}

// delete reads DELETE FROM t [WHERE ..] or DELETE FROM t ON source.
func (p *parser) delete(node Node) Statement {
	p.expectWords("DELETE", "FROM")
	s := &Delete{Node: node, Table: p.tableName()}
	switch {
	case p.acceptWords("ON"):
		s.On = p.valuesSource()
	case p.acceptWords("WHERE"):
		s.Where = p.expr()
	}
	s.Returning = p.returning()
	return s
}

// returning reads RETURNING * or names; nil without.
func (p *parser) returning() *Returning {
	node := p.node()
	if !p.acceptWords("RETURNING") {
		return nil
	}
	r := &Returning{Node: node}
	if p.accept("*") {
		r.All = true
		return r
	}
	for {
		r.Columns = append(r.Columns, p.identifier("a column name"))
		if !p.accept(",") {
			return r
		}
	}
}
