package yql

import "strings"

// createTable reads CREATE TABLE.
func (p *parser) createTable(node Node) Statement {
	p.expectWords("CREATE", "TABLE")
	s := &CreateTable{Node: node, IfNotExists: p.acceptWords("IF", "NOT", "EXISTS")}
	s.Table = p.tableName()
	p.expect("(")
	p.list(")", func() { p.tableEntry(s) })
	switch {
	case p.words("PARTITION", "BY"):
		p.refuse(p.pos(), "PARTITION BY (column tables)")
	case p.anyWord("INHERITS", "TABLESTORE"):
		p.refuse(p.pos(), strings.ToUpper(p.raw(p.token())))
	}
	if p.acceptWords("WITH") {
		s.Settings = p.settings()
	}
	if p.words("AS") {
		p.refuse(p.pos(), "CREATE TABLE AS")
	}
	return s
}

// tableEntry reads one entry between the parentheses of CREATE TABLE.
func (p *parser) tableEntry(s *CreateTable) {
	pos := p.pos()
	switch {
	case p.acceptWords("PRIMARY", "KEY"):
		if s.PrimaryKey != nil {
			p.fail(pos, "PRIMARY KEY statement must be specified only once")
		}
		s.PrimaryKey = p.nameList("a column name")
	case p.anyWord("INDEX", "CHANGEFEED", "FAMILY") && p.peek(2).kind == tokenWord && !p.isColumnOption(p.peek(2)):
		p.refuse(pos, strings.ToUpper(p.raw(p.token()))+" in CREATE TABLE")
	case p.words("FAMILY") && p.isSign(p.peek(2), "("):
		p.refuse(pos, "FAMILY in CREATE TABLE")
	case p.words("PARTITION", "BY"), p.words("ORDER", "BY"):
		p.refuse(pos, strings.ToUpper(p.raw(p.token()))+" BY in CREATE TABLE")
	default:
		s.Columns = append(s.Columns, p.columnDef())
	}
}

// isColumnOption tells whether the word may follow a column's type.
func (p *parser) isColumnOption(t token) bool {
	return p.isWord(t, "NOT") || p.isWord(t, "NULL") || p.isWord(t, "DEFAULT") || p.isWord(t, "FAMILY")
}

// columnDef reads name Type [NOT NULL | NULL | DEFAULT expr | FAMILY name]*.
func (p *parser) columnDef() ColumnDef {
	c := ColumnDef{Node: p.node(), Name: p.identifier("a column name"), Type: p.typeName()}
	for {
		switch pos := p.pos(); {
		case p.acceptWords("NOT", "NULL"):
			c.NotNull = true
		case p.acceptWords("NULL"):
		case p.acceptWords("DEFAULT"):
			c.Default = p.binary(levelCondition + 1)
		case p.acceptWords("FAMILY"):
			if c.Family = p.identifier("a family name"); !strings.EqualFold(c.Family, "default") {
				p.refuse(pos, "FAMILY (a column family other than default)")
			}
		default:
			return c
		}
	}
}

// dropTable reads DROP TABLE.
func (p *parser) dropTable(node Node) Statement {
	p.expectWords("DROP", "TABLE")
	s := &DropTable{Node: node, IfExists: p.acceptWords("IF", "EXISTS")}
	s.Table = p.tableName()
	return s
}

// alterTable reads ALTER TABLE t action, ..
func (p *parser) alterTable(node Node) Statement {
	p.expectWords("ALTER", "TABLE")
	s := &AlterTable{Node: node, Table: p.tableName()}
	for {
		s.Actions = append(s.Actions, p.alterAction())
		if !p.accept(",") {
			return s
		}
	}
}

func (p *parser) alterAction() AlterAction {
	node := p.node()
	switch {
	case p.acceptWords("ADD"):
		p.refuseTablePart("ADD")
		p.acceptWords("COLUMN")
		return &AddColumn{Node: node, Column: p.columnDef()}
	case p.acceptWords("DROP"):
		p.refuseTablePart("DROP")
		p.acceptWords("COLUMN")
		return &DropColumn{Node: node, Name: p.identifier("a column name")}
	case p.acceptWords("SET"):
		if p.is("(") {
			return &SetSettings{Node: node, Settings: p.settings()}
		}
		return &SetSettings{Node: node, Settings: []Setting{p.setting()}}
	case p.acceptWords("RESET"):
		names := p.nameList("a setting")
		for i := range names {
			names[i] = strings.ToUpper(names[i])
		}
		return &ResetSettings{Node: node, Names: names}
	case p.acceptWords("ALTER", "COLUMN"):
		column := p.identifier("a column name")
		if p.acceptWords("DROP", "NOT", "NULL") {
			return &DropNotNull{Node: node, Column: column}
		}
		p.refuse(p.pos(), "ALTER COLUMN other than DROP NOT NULL")
	case p.words("RENAME"):
		p.refuse(node.Pos, "ALTER TABLE RENAME")
	case p.words("ALTER"):
		p.advance()
		p.refuseTablePart("ALTER")
	}
	p.unexpected("ADD, DROP, SET, RESET or ALTER COLUMN")
	return nil
}

// refuseTablePart leaves the parser at the parts of tables that ydbembed lacks.
func (p *parser) refuseTablePart(verb string) {
	if p.anyWord("INDEX", "CHANGEFEED", "FAMILY") && (p.peek(1).kind == tokenWord || p.peek(1).kind == tokenQuoted) {
		p.refuse(p.pos(), "ALTER TABLE "+verb+" "+strings.ToUpper(p.raw(p.token())))
	}
}
