package taskjson

import (
	"encoding/json"
	"errors"
	"io"
	"iter"
	"strings"
)

// errBehind says that a JSON value ends before the text does.
var errBehind = errors.New("there is something behind the value")

// check reports why a text is not one JSON value: io.ErrUnexpectedEOF, errBehind,
// or what encoding/json says. It keeps nothing, whatever the text holds.
func check(text []byte) error {
	if json.Valid(text) {
		return nil
	}
	err := json.Unmarshal(text, new(any)) // checks before it allocates
	switch {
	case err == nil, strings.HasSuffix(err.Error(), "unexpected end of JSON input"):
		return io.ErrUnexpectedEOF
	case strings.HasSuffix(err.Error(), "after top-level value"):
		return errBehind
	}
	return err
}

// elements are the values of an array, members the names, with their quotes, and
// the values of an object. The text must be valid JSON; what is returned is a part
// of it, without a copy.
func elements(array []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for rest := space(array[1:]); rest[0] != ']'; {
			value, behind := cut(rest)
			if !yield(value) {
				return
			}
			if rest = space(behind); rest[0] == ',' {
				rest = space(rest[1:])
			}
		}
	}
}

func members(object []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		for rest := space(object[1:]); rest[0] != '}'; {
			name, behind := cut(rest)
			value, behind := cut(space(space(behind)[1:])) // behind the colon
			if !yield(name, value) {
				return
			}
			if rest = space(behind); rest[0] == ',' {
				rest = space(rest[1:])
			}
		}
	}
}

// space drops the spaces at the start of a text.
func space(text []byte) []byte {
	for len(text) > 0 && (text[0] == ' ' || text[0] == '\t' || text[0] == '\r' || text[0] == '\n') {
		text = text[1:]
	}
	return text
}

// cut returns the value at the start of a valid text, and what is behind it.
func cut(text []byte) (value, behind []byte) {
	end, depth := 0, 0
	for {
		switch text[end] {
		case '"':
			end += quoted(text[end:])
		case '[', '{':
			depth++
			end++
		case ']', '}':
			depth--
			end++
		case ' ', '\t', '\r', '\n', ',', ':':
			end++
		default:
			end += plain(text[end:])
		}
		if depth == 0 {
			return text[:end], text[end:]
		}
	}
}

// quoted is the length of the string at the start of a text.
func quoted(text []byte) int {
	for i := 1; ; i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
}

// plain is the length of the number or word at the start of a text.
func plain(text []byte) int {
	for i, c := range text {
		switch c {
		case ' ', '\t', '\r', '\n', ',', ']', '}':
			return i
		}
	}
	return len(text)
}
