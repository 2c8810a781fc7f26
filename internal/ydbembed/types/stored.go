package types

import (
	"encoding/binary"
	"errors"
	"fmt"
)

var errShortStored = errors.New("types: stored value is cut off")

// AppendStored appends a primitive value in the compact form that rows keep: a
// varint of the length plus one (0 is NULL), then the bytes. Integers are big
// endian without leading zeros, signed ones in zigzag. The kind is not stored.
func AppendStored(dst []byte, v Value) []byte {
	if v.IsNull() {
		return append(dst, 0)
	}
	if v.kind.IsText() {
		dst = binary.AppendUvarint(dst, uint64(len(v.text))+1)
		return append(dst, v.text...)
	}
	bits := v.bits
	if v.signed() {
		bits = bits<<1 ^ uint64(int64(bits)>>63)
	}
	width := 0
	for x := bits; x != 0; x >>= 8 {
		width++
	}
	dst = append(dst, byte(width+1))
	for i := width - 1; i >= 0; i-- {
		dst = append(dst, byte(bits>>(8*i)))
	}
	return dst
}

// SplitStored takes one stored value off the front of b without decoding it.
func SplitStored(b []byte) (body []byte, null bool, rest []byte, err error) {
	size, n := binary.Uvarint(b)
	if n <= 0 || size > uint64(len(b)-n)+1 {
		return nil, false, nil, errShortStored
	}
	b = b[n:]
	if size == 0 {
		return nil, true, b, nil
	}
	return b[:size-1], false, b[size-1:], nil
}

// DecodeStored reads one value of type t (or Optional of it) from the front of b.
func DecodeStored(t *Type, b []byte) (v Value, rest []byte, err error) {
	body, null, rest, err := SplitStored(b)
	if err != nil || null {
		return NullValue, rest, err
	}
	v, err = decodeBody(t.Unwrap().Kind, body)
	return v, rest, err
}

func decodeBody(k Kind, body []byte) (Value, error) {
	if k.IsText() {
		if k == UUID && len(body) != 16 {
			return NullValue, fmt.Errorf("types: stored Uuid of %d bytes", len(body))
		}
		return TextValue(k, string(body)), nil
	}
	width := keyWidth(k)
	if width == 0 || len(body) > 8 {
		return NullValue, fmt.Errorf("types: stored %s of %d bytes", k, len(body))
	}
	var bits uint64
	for _, c := range body {
		bits = bits<<8 | uint64(c)
	}
	v := Value{kind: k, bits: bits}
	if v.signed() {
		v.bits = bits>>1 ^ -(bits & 1)
	}
	if !v.Fits(k) {
		return NullValue, fmt.Errorf("types: stored %s is out of range", k)
	}
	return v, nil
}

// Fits tells whether the value may stand in a column of a primitive kind: NULL,
// or of this very kind and within its range.
func (v Value) Fits(k Kind) bool {
	switch {
	case v.IsNull():
		return true
	case v.kind != k || keyWidth(k) == 0 && !k.IsText():
		return false
	case k == UUID:
		return len(v.text) == 16
	case k.IsText() || k == Float || k == Double:
		return true
	case k == Bool:
		return v.bits <= 1
	case v.signed():
		lo, hi := intLimits(k)
		return v.Int() >= lo && v.Int() <= hi
	}
	return v.bits <= uintLimit(k)
}
