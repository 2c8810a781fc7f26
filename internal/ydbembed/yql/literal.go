package yql

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
)

// integerSuffixes are the kinds that suffixes give, longest first.
var integerSuffixes = []struct {
	suffix string
	kind   types.Kind
	max    uint64
}{
	{"ul", types.Uint64, math.MaxUint64},
	{"us", types.Uint16, math.MaxUint16},
	{"ut", types.Uint8, math.MaxUint8},
	{"l", types.Int64, math.MaxInt64},
	{"s", types.Int16, math.MaxInt16},
	{"t", types.Int8, math.MaxInt8},
	{"u", types.Uint32, math.MaxUint32},
}

// integerLiteral reads an integer; negative is set when a minus stands before
// it, so that the least number of a kind can be written.
func (p *parser) integerLiteral(node Node, negative bool) *Literal {
	t := p.advance()
	raw := strings.ToLower(p.raw(t))
	digits, kind, limit := raw, types.Invalid, uint64(math.MaxUint64)
	for _, s := range integerSuffixes {
		if cut, ok := strings.CutSuffix(raw, s.suffix); ok {
			digits, kind, limit = cut, s.kind, s.max
			break
		}
	}
	n, err := parseDigits(digits)
	switch {
	case err == strconv.ErrRange:
		p.fail(t.pos(), "Failed to parse number from string: %s, number limit overflow", p.raw(t))
	case err != nil:
		p.fail(t.pos(), "Failed to parse number from string: %s", p.raw(t))
	}
	if negative && kind.IsSigned() {
		limit++
	}
	if n > limit {
		p.fail(t.pos(), "Failed to parse number from string: %s, number limit overflow", p.raw(t))
	}
	untyped := kind == types.Invalid
	if untyped {
		kind = bareKind(n, negative)
	}
	lit := &Literal{Node: node, Type: types.Primitive(kind), Untyped: untyped}
	switch {
	case negative:
		lit.Value = types.IntValue(kind, -int64(n))
	case kind.IsSigned():
		lit.Value = types.IntValue(kind, int64(n))
	default:
		lit.Value = types.UintValue(kind, n)
	}
	return lit
}

// bareKind is the kind of an integer without suffix: the first of Int32, Int64
// and Uint64 that holds it.
func bareKind(n uint64, negative bool) types.Kind {
	extra := uint64(0)
	if negative {
		extra = 1
	}
	switch {
	case n <= math.MaxInt32+extra:
		return types.Int32
	case n <= math.MaxInt64+extra:
		return types.Int64
	}
	return types.Uint64
}

// parseDigits reads digits with an optional 0x, 0o or 0b before them.
func parseDigits(s string) (uint64, error) {
	base := 10
	for prefix, b := range map[string]int{"0x": 16, "0o": 8, "0b": 2} {
		if cut, ok := strings.CutPrefix(s, prefix); ok {
			s, base = cut, b
		}
	}
	n, err := strconv.ParseUint(s, base, 64)
	if err != nil {
		return 0, err.(*strconv.NumError).Err
	}
	return n, nil
}

// realLiteral reads a Double, or a Float with the suffix f.
func (p *parser) realLiteral() *Literal {
	node := p.node()
	t := p.advance()
	digits, isFloat := strings.CutSuffix(strings.ToLower(p.raw(t)), "f")
	kind, bits := types.Double, 64
	if isFloat {
		kind, bits = types.Float, 32
	}
	f, err := strconv.ParseFloat(digits, bits)
	if err != nil || strings.Contains(digits, "_") {
		p.fail(t.pos(), "Failed to parse float number: %s", p.raw(t))
	}
	return &Literal{Node: node, Type: types.Primitive(kind), Value: types.FloatValue(kind, f)}
}

// stringKinds are the kinds of the suffixes of strings.
var stringKinds = map[byte]types.Kind{
	0: types.String, 's': types.String, 'u': types.Utf8, 'y': types.Yson, 'j': types.JSON,
}

// stringLiteral reads a string; one without suffix may turn into what a column
// wants.
func (p *parser) stringLiteral() *Literal {
	node := p.node()
	t := p.advance()
	text, suffix := p.unquoteString(t)
	kind := stringKinds[suffix]
	value := types.TextValue(kind, text)
	if kind != types.String {
		value = p.parseValue(kind, text, t.pos())
	}
	return &Literal{Node: node, Type: types.Primitive(kind), Value: value, Untyped: suffix == 0}
}

// parseValue reads the text of a constant of the kind.
func (p *parser) parseValue(kind types.Kind, text string, pos Pos) types.Value {
	v, err := types.Parse(kind, text)
	if err != nil {
		p.fail(pos, "Invalid value %s for type %s", shortQuote(text), kind)
	}
	return v
}

// unquoteString takes off quotes, escapes and suffix; the suffix is in lower
// case, 0 without.
func (p *parser) unquoteString(t token) (text string, suffix byte) {
	raw := p.raw(t)
	if c := raw[len(raw)-1]; c != '"' && c != '\'' && c != '@' {
		suffix = c | 0x20
		raw = raw[:len(raw)-1]
	}
	if raw[0] == '@' {
		return strings.ReplaceAll(raw[2:len(raw)-2], "@@@@", "@@"), suffix
	}
	text, ok := unescape(raw[1 : len(raw)-1])
	if !ok {
		p.fail(t.pos(), "Failed to parse string literal: invalid escape sequence")
	}
	return text, suffix
}

// simpleEscapes are the escapes of one letter.
var simpleEscapes = map[byte]byte{
	'a': '\a', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v',
	'\\': '\\', '"': '"', '\'': '\'', '`': '`', '?': '?', '/': '/',
}

// unescape resolves C-style escapes: \n, \x41, \101, \u0041, \U00000041.
func unescape(s string) (string, bool) {
	if !strings.Contains(s, `\`) {
		return s, true
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b = append(b, s[i])
			continue
		}
		i++
		c := s[i] // the lexer lets no backslash stand last
		if plain, ok := simpleEscapes[c]; ok {
			b = append(b, plain)
			continue
		}
		size, base := 0, 16
		switch {
		case c == 'x':
			size = 2
		case c == 'u':
			size = 4
		case c == 'U':
			size = 8
		case c >= '0' && c <= '7':
			i--
			base = 8
			for size < 3 && i+1+size < len(s) && s[i+1+size] >= '0' && s[i+1+size] <= '7' {
				size++
			}
		}
		if size == 0 || i+size >= len(s) {
			return "", false
		}
		n, err := strconv.ParseUint(s[i+1:i+1+size], base, 32)
		i += size
		switch {
		case err != nil:
			return "", false
		case c == 'u' || c == 'U':
			if n > utf8.MaxRune || !utf8.ValidRune(rune(n)) {
				return "", false
			}
			b = utf8.AppendRune(b, rune(n))
		case n > math.MaxUint8:
			return "", false
		default:
			b = append(b, byte(n))
		}
	}
	return string(b), true
}

// shortQuote quotes a text for a message, its beginning only if it is long.
func shortQuote(s string) string {
	if len(s) > 60 {
		s = s[:60] + "..."
	}
	return strconv.Quote(s)
}
