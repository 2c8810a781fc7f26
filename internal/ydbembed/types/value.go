package types

import (
	"cmp"
	"math"
	"strings"
	"time"
)

// Value is one YQL value. Its static Type is kept beside it by the code that
// handles it; the kind inside serves order, hashing and text. The zero Value is
// NULL. Optional<T> has no layer of its own: it is either NULL or a T. Values
// are immutable and may be copied and shared.
type Value struct {
	kind  Kind // Invalid or Null mean NULL
	bits  uint64
	text  string
	items []Value
}

// NullValue is NULL.
var NullValue = Value{}

// IsNull tells whether the value is NULL.
func (v Value) IsNull() bool { return v.kind == Invalid || v.kind == Null }

// Kind returns the kind of the value, Null for NULL.
func (v Value) Kind() Kind {
	if v.IsNull() {
		return Null
	}
	return v.kind
}

// BoolValue makes a Bool.
func BoolValue(b bool) Value {
	v := Value{kind: Bool}
	if b {
		v.bits = 1
	}
	return v
}

// IntValue makes a signed number kind (Int8..Int64, Interval in microseconds).
func IntValue(k Kind, n int64) Value { return Value{kind: k, bits: uint64(n)} }

// UintValue makes an unsigned kind (Uint8..Uint64, Date in days, Datetime in
// seconds, Timestamp in microseconds).
func UintValue(k Kind, n uint64) Value { return Value{kind: k, bits: n} }

// FloatValue makes a Float or Double.
func FloatValue(k Kind, f float64) Value { return Value{kind: k, bits: math.Float64bits(f)} }

// TextValue makes a kind carried as bytes: String, Utf8, Json, JsonDocument,
// Yson, or Uuid (16 bytes in YDB's memory layout).
func TextValue(k Kind, s string) Value { return Value{kind: k, text: s} }

// TimestampValue makes a Timestamp, cut to microseconds.
func TimestampValue(t time.Time) Value { return UintValue(Timestamp, uint64(t.UnixMicro())) }

// ItemsValue makes a List, Struct or Tuple; struct items stand in field order.
func ItemsValue(k Kind, items []Value) Value { return Value{kind: k, items: items} }

// Bool returns the content of a Bool; false for NULL.
func (v Value) Bool() bool { return v.bits != 0 }

// Int returns the content of a signed kind.
func (v Value) Int() int64 { return int64(v.bits) }

// Uint returns the content of an unsigned kind.
func (v Value) Uint() uint64 { return v.bits }

// Float returns the content of a Float or Double.
func (v Value) Float() float64 { return math.Float64frombits(v.bits) }

// Text returns the bytes of a text kind.
func (v Value) Text() string { return v.text }

// Items returns the items of a container. The caller must not change them.
func (v Value) Items() []Value { return v.items }

// Time returns a Timestamp, Datetime or Date as UTC time.
func (v Value) Time() time.Time {
	switch v.kind {
	case Date:
		return time.Unix(int64(v.bits)*86400, 0).UTC()
	case Datetime:
		return time.Unix(int64(v.bits), 0).UTC()
	}
	return time.UnixMicro(int64(v.bits)).UTC()
}

// Compare orders two values of one type, or of two numeric types by value, as
// YDB orders keys and ORDER BY: NULL first, then by value, texts by bytes,
// containers item by item. NaN sorts after every number.
func Compare(a, b Value) int {
	if a.IsNull() || b.IsNull() {
		return boolInt(b.IsNull()) - boolInt(a.IsNull())
	}
	switch {
	case a.kind.IsText():
		return strings.Compare(a.text, b.text)
	case a.kind >= List:
		for i := range min(len(a.items), len(b.items)) {
			if c := Compare(a.items[i], b.items[i]); c != 0 {
				return c
			}
		}
		return cmp.Compare(len(a.items), len(b.items))
	case a.kind == Float || a.kind == Double || b.kind == Float || b.kind == Double:
		return compareFloats(a.AsFloat(), b.AsFloat())
	}
	an, bn := a.negative(), b.negative()
	if an != bn {
		return boolInt(bn) - boolInt(an)
	}
	return cmp.Compare(a.bits, b.bits) // equal signs: two's complement keeps order
}

// AsFloat returns any number as a float64.
func (v Value) AsFloat() float64 {
	switch {
	case v.kind == Float || v.kind == Double:
		return v.Float()
	case v.signed():
		return float64(v.Int())
	}
	return float64(v.bits)
}

func (v Value) signed() bool { return v.kind.IsSigned() || v.kind == Interval }

func (v Value) negative() bool { return v.signed() && v.Int() < 0 }

func compareFloats(a, b float64) int {
	if math.IsNaN(a) || math.IsNaN(b) {
		return boolInt(math.IsNaN(a)) - boolInt(math.IsNaN(b))
	}
	return cmp.Compare(a, b)
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
