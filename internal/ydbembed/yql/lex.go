package yql

import (
	"strings"
	"unicode/utf8"
)

// tokenKind tells the classes of tokens apart.
type tokenKind uint8

const (
	tokenEOF     tokenKind = iota
	tokenBad               // what the lexer could not read; the message is in lexer.bad
	tokenWord              // keyword or plain identifier
	tokenQuoted            // `identifier`
	tokenString            // "..", '..' or @@..@@ with its suffix
	tokenInteger           // 12, 0x1F, 7ul
	tokenReal              // 1.5, 1e3, 1.5f
	tokenSign              // operators and punctuation
)

// token is a piece of the text; positions count characters from 1.
type token struct {
	kind       tokenKind
	start, end int32 // bytes of the text
	line, col  int32
}

func (t token) pos() Pos { return Pos{Line: int(t.line), Col: int(t.col)} }

// signs are the operators and punctuation, longer ones before their prefixes.
// A closing >> is two tokens, so that List<List<T>> needs no care, and so is ??.
var signs = []string{
	"|<<", "<<", "<=", "<>", "<|", "|>", "||", ">=", "==", "!=", "::", "->",
	"=", "<", ">", "&", "|", "+", "-", "~", "*", "/", "%", ";", ".", ",", "(", ")",
	"?", ":", "@", "$", "{", "}", "^", "[", "]",
}

// lexer cuts a text into tokens in one pass.
type lexer struct {
	text      string
	at        int // next byte
	line, col int // of the next byte
	tokens    []token
	bad       string // why the tokenBad at the end could not be read
}

// lex returns the tokens of the text. The last one is tokenEOF, or tokenBad
// with the reason beside it.
func lex(text string) ([]token, string) {
	l := lexer{text: text, line: 1, col: 1, tokens: make([]token, 0, len(text)/5+2)}
	for l.next() {
	}
	return l.tokens, l.bad
}

// next reads one token and tells whether there may be another.
func (l *lexer) next() bool {
	if !l.skipBlanks() {
		return false
	}
	if l.at == len(l.text) {
		l.emit(tokenEOF, 0)
		return false
	}
	rest := l.text[l.at:]
	c := rest[0]
	switch {
	case c == '"' || c == '\'':
		return l.quoted(tokenString, c)
	case c == '`':
		return l.quoted(tokenQuoted, c)
	case strings.HasPrefix(rest, "@@"):
		return l.multiline()
	case isDigit(c):
		return l.number()
	case isWordStart(c):
		n := 1
		for n < len(rest) && isWordPart(rest[n]) {
			n++
		}
		l.emit(tokenWord, n)
		return true
	}
	for _, s := range signs {
		if strings.HasPrefix(rest, s) {
			l.emit(tokenSign, len(s))
			return true
		}
	}
	r, _ := utf8.DecodeRuneInString(rest)
	return l.fail("Unexpected character: " + quoteRune(r))
}

// skipBlanks moves over white space and comments; false is an unclosed comment.
func (l *lexer) skipBlanks() bool {
	for l.at < len(l.text) {
		rest := l.text[l.at:]
		switch {
		case strings.IndexByte(" \t\r\n\f\v", rest[0]) >= 0:
			l.advance(1)
		case strings.HasPrefix(rest, "--"):
			n := strings.IndexByte(rest, '\n')
			if n < 0 {
				n = len(rest)
			}
			l.advance(n)
		case strings.HasPrefix(rest, "/*"):
			n := strings.Index(rest[2:], "*/")
			if n < 0 {
				return l.fail("Comment is not closed")
			}
			l.advance(n + 4)
		default:
			return true
		}
	}
	return true
}

// quoted reads a string or an identifier in quotes; a backslash takes the next
// byte with it, and a doubled backtick stands for one.
func (l *lexer) quoted(kind tokenKind, quote byte) bool {
	rest := l.text[l.at:]
	for n := 1; n < len(rest); n++ {
		switch {
		case rest[n] == '\\':
			n++
		case rest[n] != quote:
		case kind == tokenQuoted && strings.HasPrefix(rest[n+1:], "`"):
			n++
		default:
			l.emit(kind, n+1+l.suffix(kind, rest[n+1:]))
			return true
		}
	}
	return l.fail("Closing " + string(quote) + " is missing")
}

// multiline reads @@text@@, in which @@@@ stands for @@.
func (l *lexer) multiline() bool {
	rest := l.text[l.at:]
	for n := 2; ; {
		i := strings.Index(rest[n:], "@@")
		if i < 0 {
			return l.fail("Closing @@ is missing")
		}
		n += i + 2
		if strings.HasPrefix(rest[n:], "@@") {
			n += 2
			continue
		}
		if strings.HasPrefix(rest[n:], "@") { // text that ends in @
			n++
		}
		l.emit(tokenString, n+l.suffix(tokenString, rest[n:]))
		return true
	}
}

// suffix returns the length of a string's type suffix at the start of rest.
func (l *lexer) suffix(kind tokenKind, rest string) int {
	if kind != tokenString {
		return 0
	}
	n := 0
	for n < len(rest) && isWordPart(rest[n]) {
		n++
	}
	if n == 1 && strings.IndexByte("sSuUyYjJ", rest[0]) >= 0 {
		return 1
	}
	return 0
}

// number reads digits in any base, a fraction, an exponent and a type suffix.
// After a dot only digits are taken, so that $t.0.1 is two accesses.
func (l *lexer) number() bool {
	rest := l.text[l.at:]
	kind, n := tokenInteger, 0
	digits := func(ok func(byte) bool) {
		for n < len(rest) && ok(rest[n]) {
			n++
		}
	}
	switch base := strings.ToLower(rest[:min(2, len(rest))]); {
	case l.afterDot():
		digits(isDigit)
		l.emit(kind, n)
		return true
	case base == "0x" || base == "0o" || base == "0b":
		n = 2
		digits(isHexDigit)
	default:
		digits(isDigit)
		if n < len(rest) && rest[n] == '.' {
			kind = tokenReal
			n++
			digits(isDigit)
		}
		if e := exponent(rest[n:]); e > 0 {
			kind = tokenReal
			n += e
		}
	}
	digits(isWordPart) // the suffix; the parser checks which
	l.emit(kind, n)
	return true
}

func (l *lexer) afterDot() bool {
	n := len(l.tokens)
	return n > 0 && l.tokens[n-1].kind == tokenSign && l.text[l.tokens[n-1].start] == '.'
}

// exponent returns the length of e[+-]digits at the start of s, or 0.
func exponent(s string) int {
	if len(s) == 0 || s[0] != 'e' && s[0] != 'E' {
		return 0
	}
	n := 1
	if n < len(s) && (s[n] == '+' || s[n] == '-') {
		n++
	}
	first := n
	for n < len(s) && isDigit(s[n]) {
		n++
	}
	if n == first {
		return 0
	}
	return n
}

// emit appends a token of n bytes and moves over it.
func (l *lexer) emit(kind tokenKind, n int) {
	l.tokens = append(l.tokens, token{
		kind: kind, start: int32(l.at), end: int32(l.at + n), line: int32(l.line), col: int32(l.col),
	})
	l.advance(n)
}

// fail ends the list of tokens with one that cannot be read.
func (l *lexer) fail(why string) bool {
	l.bad = why
	l.emit(tokenBad, 0)
	return false
}

// advance moves over n bytes and counts lines and columns.
func (l *lexer) advance(n int) {
	for _, r := range l.text[l.at : l.at+n] {
		if r == '\n' {
			l.line++
			l.col = 1
		} else {
			l.col++
		}
	}
	l.at += n
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isHexDigit(c byte) bool {
	return isDigit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func isWordStart(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func isWordPart(c byte) bool { return isWordStart(c) || isDigit(c) }
