package yql

import (
	"cmp"
	"slices"
	"strings"

	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
)

// absentTypes are YQL's types that ydbembed does not implement.
var absentTypes = wordSet(`
	BIGSERIAL CALLABLE DATE32 DATETIME64 DECIMAL DICT DYNAMICLINEAR DYNUMBER EMPTYDICT ENUM FLOW
	GENERIC INTERVAL64 LINEAR RESOURCE SERIAL SERIAL2 SERIAL4 SERIAL8 SET SMALLSERIAL STREAM TAGGED
	TIMESTAMP64 TZDATE TZDATE32 TZDATETIME TZDATETIME64 TZTIMESTAMP TZTIMESTAMP64 UNIT VARIANT`)

// typeName reads a type: a primitive or a container, with ? for Optional.
func (p *parser) typeName() *types.Type {
	p.enter()
	defer p.leave()
	t := p.token()
	if p.is("$") {
		p.refuse(t.pos(), "A named expression as a type")
	}
	typ := p.baseType(p.identifier("a type"), t)
	for p.is("?") {
		if typ.IsOptional() {
			p.refuse(p.pos(), "Optional of an Optional")
		}
		p.advance()
		typ = types.OptionalOf(typ)
	}
	return typ
}

func (p *parser) baseType(name string, t token) *types.Type {
	if kind, ok := types.PrimitiveByName(name); ok {
		return types.Primitive(kind)
	}
	if p.is("(") && !strings.EqualFold(name, "DECIMAL") {
		p.refuse(t.pos(), "A type made by a function ("+name+")")
	}
	switch upper := strings.ToUpper(name); {
	case upper == "OPTIONAL":
		elem := p.typeParameter()
		if elem.IsOptional() {
			p.refuse(t.pos(), "Optional of an Optional")
		}
		return types.OptionalOf(elem)
	case upper == "LIST":
		return types.ListOf(p.typeParameter())
	case upper == "STRUCT":
		return p.structType()
	case upper == "TUPLE":
		return p.tupleType()
	case upper == "VOID":
		return types.Primitive(types.Void)
	case upper == "NULL":
		return types.Primitive(types.Null)
	case upper == "EMPTYLIST":
		return types.Primitive(types.EmptyList)
	case absentTypes[upper] || strings.HasPrefix(upper, "PG"):
		p.refuse(t.pos(), "The type "+name)
	}
	p.fail(t.pos(), "Unknown type: '%s'", name)
	return nil
}

// typeParameter reads <T>.
func (p *parser) typeParameter() *types.Type {
	p.expect("<")
	t := p.typeName()
	p.expect(">")
	return t
}

// structType reads <name:T, ..>; the members are put in the order of their names.
func (p *parser) structType() *types.Type {
	if p.accept("<>") {
		return types.StructOf()
	}
	p.expect("<")
	var fields []types.Field
	seen := make(map[string]bool)
	p.list(">", func() {
		pos := p.pos()
		name := p.memberName()
		if seen[name] {
			p.fail(pos, "Duplicated member: %s", name)
		}
		seen[name] = true
		p.expect(":")
		fields = append(fields, types.Field{Name: name, Type: p.typeName()})
	})
	slices.SortFunc(fields, func(a, b types.Field) int { return cmp.Compare(a.Name, b.Name) })
	return types.StructOf(fields...)
}

func (p *parser) tupleType() *types.Type {
	if p.accept("<>") {
		return types.TupleOf()
	}
	p.expect("<")
	var elems []*types.Type
	p.list(">", func() { elems = append(elems, p.typeName()) })
	return types.TupleOf(elems...)
}

// memberName reads a struct member's name, which may be a string.
func (p *parser) memberName() string {
	if t := p.token(); t.kind == tokenString {
		p.advance()
		text, _ := p.unquoteString(t)
		return text
	}
	return p.identifier("a member name")
}
