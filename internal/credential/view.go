package credential

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// view is a text as a reader sees it that undoes an escaping. at[i] is where byte i
// stands in the text that all views were made of, at[len(text)] is that text's
// length. What is behind whole may be the start of an escape.
type view struct {
	text  string
	at    []int
	whole int
}

// depth is how many escapings are undone, one after the other: a JSON document is
// quoted in another one, or in a URL.
const depth = 2

// views returns the readings of a text.
func views(text string) []view {
	plain := view{text: text, at: make([]int, len(text)+1), whole: len(text)}
	for i := range plain.at {
		plain.at[i] = i
	}
	all := []view{plain}
	for level, last := 0, all; level < depth; level++ {
		var next []view
		for _, v := range last {
			for _, e := range escapings {
				if strings.ContainsAny(v.text, e.marks) {
					next = append(next, v.undo(e.unescape))
				}
			}
		}
		all = append(all, next...)
		last = next
	}
	return all
}

// escapings are the ways to write a text. unescape reads what begins a text: its
// value and its length. A length of 0 says that the text ends within an escape.
var escapings = []struct {
	marks    string
	unescape func(string) (value string, length int)
}{
	{"%", percent},
	{"+", plus},
	{`\`, backslash},
	{"&", entity},
	{"\r\n\x00", unwrap},
}

// undo returns a view without one escaping.
func (v view) undo(unescape func(string) (string, int)) view {
	made := view{at: make([]int, 0, len(v.at)), whole: -1}
	var text strings.Builder
	for i := 0; i < len(v.text); {
		value, length := unescape(v.text[i:])
		if made.whole < 0 && (length == 0 || i+length > v.whole) {
			made.whole = text.Len()
		}
		if length == 0 {
			value, length = v.text[i:i+1], 1
		}
		text.WriteString(value)
		for range len(value) {
			made.at = append(made.at, v.at[i])
		}
		i += length
	}
	made.text, made.at = text.String(), append(made.at, v.at[len(v.text)])
	if made.whole < 0 {
		made.whole = len(made.text)
	}
	return made
}

// percent undoes %41.
func percent(s string) (string, int) {
	if s[0] != '%' {
		return s[:1], 1
	}
	return number(s, 1, 2, func(n uint64) string { return string([]byte{byte(n)}) })
}

// plus undoes the + of forms, beside percent.
func plus(s string) (string, int) {
	if s[0] == '+' {
		return " ", 1
	}
	return percent(s)
}

// unwrap joins lines, as base64 is wrapped, and drops the zeros of UTF-16.
func unwrap(s string) (string, int) {
	if strings.IndexByte("\r\n\x00", s[0]) >= 0 {
		return "", 1
	}
	return s[:1], 1
}

// backslash undoes the escapes of JSON strings, and of languages like it.
func backslash(s string) (string, int) {
	switch {
	case s[0] != '\\':
		return s[:1], 1
	case len(s) == 1:
		return "", 0
	}
	switch s[1] {
	case 'u':
		return unicodeEscape(s)
	case 'x':
		return number(s, 2, 2, func(n uint64) string { return string([]byte{byte(n)}) })
	case 'n':
		return "\n", 2
	case 'r':
		return "\r", 2
	case 't':
		return "\t", 2
	case 'b':
		return "\b", 2
	case 'f':
		return "\f", 2
	}
	return s[1:2], 2
}

// unicodeEscape undoes \u0041, and a pair of surrogates.
func unicodeEscape(s string) (string, int) {
	var first, second rune
	set := func(r *rune) func(uint64) string {
		return func(n uint64) string { *r = rune(n); return string(*r) }
	}
	value, length := number(s, 2, 4, set(&first))
	if length != 6 || !utf16.IsSurrogate(first) || !strings.HasPrefix(s[6:], `\u`) {
		return value, length
	}
	if _, length = number(s[6:], 2, 4, set(&second)); length != 6 {
		return value, 6
	}
	if pair := utf16.DecodeRune(first, second); pair != utf8.RuneError {
		return string(pair), 12
	}
	return value, 6
}

// number reads so many hexadecimal digits from an index on. What is no number is
// the text's own first byte.
func number(s string, from, digits int, value func(uint64) string) (string, int) {
	text := s[from:min(from+digits, len(s))]
	n, err := strconv.ParseUint(text, 16, 32)
	switch {
	case text == "", err == nil && len(text) < digits:
		return "", 0
	case err != nil:
		return s[:1], 1
	}
	return value(n), from + digits
}

// maxEntity is the length of the longest entity that is undone: &#x10ffff;
const maxEntity = 10

var entities = map[string]string{"quot": `"`, "apos": "'", "amp": "&", "lt": "<", "gt": ">"}

// entity undoes &amp; and &#65; and &#x41;.
func entity(s string) (string, int) {
	if s[0] != '&' {
		return s[:1], 1
	}
	end := strings.IndexByte(s[:min(len(s), maxEntity)], ';')
	if end < 0 {
		if len(s) < maxEntity {
			return "", 0
		}
		return s[:1], 1
	}
	name := s[1:end]
	if value, ok := entities[name]; ok {
		return value, end + 1
	}
	digits, ok := strings.CutPrefix(name, "#")
	if !ok {
		return s[:1], 1
	}
	base := 10
	if digits, ok = strings.CutPrefix(strings.ToLower(digits), "x"); ok {
		base = 16
	}
	n, err := strconv.ParseUint(digits, base, 32)
	if err != nil || n > utf8.MaxRune {
		return s[:1], 1
	}
	return string(rune(n)), end + 1
}
