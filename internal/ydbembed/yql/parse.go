package yql

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/taskfleet/taskfleet/internal/ydbembed/limits"
)

// Limits that keep a hostile text from costing more than its length.
const (
	// MaxTextSize is the longest text that Parse reads, in bytes.
	MaxTextSize = limits.Text
	// maxDepth bounds how deep expressions, types and selects may nest.
	maxDepth = 128
	// maxChain bounds operators of one precedence, members and joins in a row,
	// each of which makes the tree one level deeper.
	maxChain = 2000
)

// Parse reads a query text. The error is an *Error. A text without statements
// is a Query without statements. Parse keeps no reference to anything that
// changes; it may be called from several goroutines.
func Parse(text string) (query *Query, err error) {
	if len(text) > MaxTextSize {
		return nil, &Error{Pos: Pos{1, 1}, Message: fmt.Sprintf(
			"Query text is too long: %d bytes, the limit is %d", len(text), MaxTextSize)}
	}
	if !utf8.ValidString(text) {
		return nil, &Error{Pos: Pos{1, 1}, Message: "Query text is not valid UTF-8"}
	}
	p := &parser{text: text}
	p.tokens, p.bad = lex(text)
	defer func() {
		if failure := recover(); failure != nil {
			e, ok := failure.(*Error)
			if !ok {
				panic(failure)
			}
			query, err = nil, e
		}
	}()
	p.checkMode()
	return p.query(), nil
}

// parser walks over the tokens by recursive descent. A syntax error leaves it
// by panic with an *Error, which Parse turns into its result.
type parser struct {
	text   string
	tokens []token
	bad    string // reason of the tokenBad at the end
	at     int
	depth  int
}

// checkMode refuses the texts that ask for another dialect in their first line.
func (p *parser) checkMode() {
	for _, mode := range []string{"--!syntax_pg", "--!ansi_lexer", "--!syntax_v0"} {
		if strings.HasPrefix(p.text, mode) {
			panic(unsupported(Pos{1, 1}, mode))
		}
	}
}

func (p *parser) query() *Query {
	q := &Query{}
	for {
		for p.accept(";") {
		}
		if p.token().kind == tokenEOF {
			return q
		}
		q.Statements = append(q.Statements, p.statement())
		if p.token().kind != tokenEOF {
			p.expect(";")
		}
	}
}

// token returns the token that stands next.
func (p *parser) token() token { return p.tokens[p.at] }

// peek returns the token n places on; the end repeats.
func (p *parser) peek(n int) token { return p.tokens[min(p.at+n, len(p.tokens)-1)] }

func (p *parser) raw(t token) string { return p.text[t.start:t.end] }

func (p *parser) pos() Pos { return p.token().pos() }

func (p *parser) node() Node { return Node{Pos: p.pos()} }

// advance moves on and returns the token moved over.
func (p *parser) advance() token {
	t := p.token()
	if t.kind != tokenEOF && t.kind != tokenBad {
		p.at++
	}
	return t
}

func (p *parser) isSign(t token, sign string) bool {
	return t.kind == tokenSign && p.raw(t) == sign
}

func (p *parser) isWord(t token, word string) bool {
	return t.kind == tokenWord && strings.EqualFold(p.raw(t), word)
}

func (p *parser) is(sign string) bool { return p.isSign(p.token(), sign) }

// words tells whether the given keywords stand next, in this order.
func (p *parser) words(words ...string) bool {
	for i, w := range words {
		if !p.isWord(p.peek(i), w) {
			return false
		}
	}
	return true
}

// anyWord tells whether one of the keywords stands next.
func (p *parser) anyWord(words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return p.words(w) })
}

// accept moves over the sign if it stands next.
func (p *parser) accept(sign string) bool {
	if !p.is(sign) {
		return false
	}
	p.at++
	return true
}

// acceptWords moves over the keywords if they all stand next.
func (p *parser) acceptWords(words ...string) bool {
	if !p.words(words...) {
		return false
	}
	p.at += len(words)
	return true
}

func (p *parser) expect(sign string) {
	if !p.accept(sign) {
		p.unexpected("'" + sign + "'")
	}
}

func (p *parser) expectWords(words ...string) {
	for _, w := range words {
		if !p.acceptWords(w) {
			p.unexpected(w)
		}
	}
}

// fail leaves the parser with an error at the position.
func (p *parser) fail(pos Pos, format string, args ...any) {
	panic(&Error{Pos: pos, Message: fmt.Sprintf(format, args...)})
}

// refuse leaves the parser at a feature that YDB has and ydbembed has not.
func (p *parser) refuse(pos Pos, feature string) { panic(unsupported(pos, feature)) }

// unexpected leaves the parser because the next token does not fit.
func (p *parser) unexpected(expecting string) {
	t := p.token()
	switch t.kind {
	case tokenBad:
		p.fail(t.pos(), "%s", p.bad)
	case tokenEOF:
		p.fail(t.pos(), "Unexpected end of query, expecting %s", expecting)
	}
	raw := p.raw(t)
	if len(raw) > 60 {
		raw = strings.ToValidUTF8(raw[:60], "") + "..."
	}
	p.fail(t.pos(), "Unexpected token '%s', expecting %s", raw, expecting)
}

// enter goes one level of nesting deeper; the caller defers leave.
func (p *parser) enter() {
	if p.depth++; p.depth > maxDepth {
		p.fail(p.pos(), "Query is nested too deep, the limit is %d levels", maxDepth)
	}
}

func (p *parser) leave() { p.depth-- }

// chain checks the length of a row of operators.
func (p *parser) chain(n int) {
	if n >= maxChain {
		p.fail(p.pos(), "Too many operators in a row, the limit is %d; use parentheses, IN or AS_TABLE", maxChain)
	}
}

// list reads items up to the closing sign, separated by commas, of which one
// may trail. The opening sign has been read.
func (p *parser) list(closing string, item func()) {
	for !p.accept(closing) {
		item()
		if !p.accept(",") {
			p.expect(closing)
			return
		}
	}
}

func quoteRune(r rune) string { return strconv.QuoteRune(r) }
