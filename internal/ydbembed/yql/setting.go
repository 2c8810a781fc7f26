package yql

import (
	"strings"

	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
)

// ttlUnits are the units in which a TTL column may hold numbers.
var ttlUnits = []string{"SECONDS", "MILLISECONDS", "MICROSECONDS", "NANOSECONDS"}

// settings reads (name = value, ..).
func (p *parser) settings() []Setting {
	p.expect("(")
	var out []Setting
	p.list(")", func() { out = append(out, p.setting()) })
	return out
}

// setting reads name = value, or name value as SET allows it.
func (p *parser) setting() Setting {
	s := Setting{Node: p.node()}
	s.Name = strings.ToUpper(p.identifier("a setting"))
	p.accept("=")
	switch {
	case p.is("("):
		s.Keys = p.boundaries()
	case p.token().kind == tokenWord && p.isSign(p.peek(1), "("):
		p.intervalSetting(&s)
	default:
		s.Value = p.plainValue()
	}
	if s.Name == "STORE" && strings.EqualFold(s.Value, "COLUMN") {
		p.refuse(s.Pos, "STORE = COLUMN (column tables)")
	}
	if s.Name == "TTL" && s.On == "" {
		p.unexpected("Interval(..) ON a column")
	}
	return s
}

// intervalSetting reads Interval("PT1H") [ON column [AS unit]].
func (p *parser) intervalSetting(s *Setting) {
	t := p.token()
	if !p.words("INTERVAL") {
		p.unexpected("a value")
	}
	p.advance()
	p.expect("(")
	text := p.token()
	p.constant(Node{Pos: t.pos()}, types.Interval)
	s.Value, _ = p.unquoteString(text)
	if p.words("TO") || p.is(",") && s.Name == "TTL" && p.isWord(p.peek(1), "INTERVAL") {
		p.refuse(p.pos(), "TTL with tiers")
	}
	p.acceptWords("DELETE")
	if !p.acceptWords("ON") {
		return
	}
	s.On = p.identifier("a column name")
	if !p.acceptWords("AS") {
		return
	}
	if !p.anyWord(ttlUnits...) {
		p.unexpected(strings.Join(ttlUnits, ", "))
	}
	s.Unit = strings.ToUpper(p.raw(p.advance()))
}

// boundaries reads the keys of PARTITION_AT_KEYS: (10, 20) or ((1, "a"), (2)).
func (p *parser) boundaries() [][]Expr {
	p.expect("(")
	var rows [][]Expr
	p.list(")", func() {
		if !p.accept("(") {
			rows = append(rows, []Expr{p.expr()})
			return
		}
		var row []Expr
		p.list(")", func() { row = append(row, p.expr()) })
		rows = append(rows, row)
	})
	return rows
}
