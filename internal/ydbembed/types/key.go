package types

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// The key encoding of a value begins with one byte that tells NULL from a
// value, so that NULL comes first. No encoding is a prefix of another, hence
// the encodings of several values may be joined and still sort as a tuple.
const (
	keyNull  = 0x00
	keyValue = 0x01

	textEscape = 0x00 // within a text: 00 becomes 00 FF
	escapedNul = 0xFF
	textEnd    = 0x01 // a text ends with 00 01
)

var errShortKey = errors.New("types: key is cut off")

// AppendKey appends a primitive value in a form whose byte order is Compare's
// order. Both zeros of a float are one key, and so are all NaNs.
func AppendKey(dst []byte, v Value) []byte {
	if v.IsNull() {
		return append(dst, keyNull)
	}
	dst = append(dst, keyValue)
	switch k := v.kind; {
	case k == UUID && len(v.text) == 16:
		return append(dst, v.text...)
	case k.IsText():
		for i := range len(v.text) {
			if v.text[i] == textEscape {
				dst = append(dst, textEscape, escapedNul)
				continue
			}
			dst = append(dst, v.text[i])
		}
		return append(dst, textEscape, textEnd)
	case k == Float || k == Double:
		return binary.BigEndian.AppendUint64(dst, orderedFloat(v.Float()))
	}
	width := keyWidth(v.kind)
	bits := v.bits
	if v.signed() {
		bits ^= 1 << (8*width - 1)
	}
	for i := width - 1; i >= 0; i-- {
		dst = append(dst, byte(bits>>(8*i)))
	}
	return dst
}

// DecodeKey reads one value of type t (or Optional of it) from the front of b.
func DecodeKey(t *Type, b []byte) (v Value, rest []byte, err error) {
	if len(b) == 0 {
		return NullValue, nil, errShortKey
	}
	mark, b := b[0], b[1:]
	switch mark {
	case keyNull:
		return NullValue, b, nil
	case keyValue:
	default:
		return NullValue, nil, fmt.Errorf("types: key begins with %#x", mark)
	}
	k := t.Unwrap().Kind
	width := keyWidth(k)
	switch {
	case k.IsText() && k != UUID:
		return decodeTextKey(k, b)
	case width == 0:
		return NullValue, nil, fmt.Errorf("types: %s cannot be a key", t)
	case len(b) < width:
		return NullValue, nil, errShortKey
	}
	head, rest := b[:width], b[width:]
	if k == UUID {
		return TextValue(UUID, string(head)), rest, nil
	}
	var bits uint64
	for _, c := range head {
		bits = bits<<8 | uint64(c)
	}
	if k == Float || k == Double {
		return FloatValue(k, floatOfOrdered(bits)), rest, nil
	}
	v = Value{kind: k, bits: bits}
	if v.signed() {
		shift := 64 - 8*width
		v.bits = uint64(int64((bits^1<<(8*width-1))<<shift) >> shift)
	}
	if !v.Fits(k) {
		return NullValue, nil, fmt.Errorf("types: %s key is out of range", k)
	}
	return v, rest, nil
}

func decodeTextKey(k Kind, b []byte) (Value, []byte, error) {
	var text []byte
	for {
		at := bytes.IndexByte(b, textEscape)
		if at < 0 || at+1 >= len(b) {
			return NullValue, nil, errShortKey
		}
		text = append(text, b[:at]...)
		mark := b[at+1]
		b = b[at+2:]
		switch mark {
		case textEnd:
			return TextValue(k, string(text)), b, nil
		case escapedNul:
			text = append(text, textEscape)
		default:
			return NullValue, nil, fmt.Errorf("types: key has 00 %02x inside a text", mark)
		}
	}
}

// keyWidth is the number of bytes of a kind of fixed size, 0 for the others.
func keyWidth(k Kind) int {
	switch k {
	case Bool, Int8, Uint8:
		return 1
	case Int16, Uint16, Date:
		return 2
	case Int32, Uint32, Datetime:
		return 4
	case Int64, Uint64, Timestamp, Interval, Float, Double:
		return 8
	case UUID:
		return 16
	}
	return 0
}

const signBit = 1 << 63

func orderedFloat(f float64) uint64 {
	switch {
	case math.IsNaN(f):
		return math.MaxUint64
	case f == 0:
		return signBit // -0 is 0
	}
	bits := math.Float64bits(f)
	if bits&signBit != 0 {
		return ^bits
	}
	return bits | signBit
}

func floatOfOrdered(bits uint64) float64 {
	if bits&signBit != 0 {
		return math.Float64frombits(bits &^ signBit)
	}
	return math.Float64frombits(^bits)
}
