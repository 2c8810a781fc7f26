package types

import (
	"math"

	"pgregory.net/rapid"
)

var keyKinds = []Kind{
	Bool, Int8, Int16, Int32, Int64, Uint8, Uint16, Uint32, Uint64,
	Date, Datetime, Timestamp, Interval, String, Utf8, UUID, Float, Double,
}

// primitive draws a value of a kind, NULL now and then, often at an edge.
func primitive(t *rapid.T, k Kind) Value {
	if rapid.IntRange(0, 9).Draw(t, "null") == 0 {
		return NullValue
	}
	return present(t, k)
}

func present(t *rapid.T, k Kind) Value {
	switch k {
	case Bool:
		return BoolValue(rapid.Bool().Draw(t, "bool"))
	case Int8, Int16, Int32, Int64, Interval:
		lo, hi := intLimits(k)
		return IntValue(k, rapid.Int64Range(lo, hi).Draw(t, "int"))
	case Float:
		return FloatValue(k, float64(rapid.Float32().Draw(t, "float")))
	case Double:
		return FloatValue(k, rapid.OneOf(
			rapid.Float64(),
			rapid.SampledFrom([]float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1)}),
		).Draw(t, "double"))
	case String, Yson:
		return TextValue(k, string(rapid.SliceOfN(rapid.OneOf(rapid.Byte(), rapid.SampledFrom([]byte{0, 1, 255})), 0, 6).Draw(t, "bytes")))
	case Utf8:
		return TextValue(k, rapid.StringOfN(rapid.RuneFrom([]rune("ab\x00\x01\x7fя\U0010ffff")), 0, 6, -1).Draw(t, "text"))
	case JSON, JSONDocument:
		return TextValue(k, rapid.SampledFrom([]string{`{}`, `[1,"a"]`, `null`, `"x"`}).Draw(t, "json"))
	case UUID:
		return TextValue(k, string(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "uuid")))
	}
	return UintValue(k, rapid.Uint64Range(0, uintLimit(k)).Draw(t, "uint"))
}

// anyType draws a type that can go over the wire.
func anyType(t *rapid.T, depth int) *Type {
	shape := rapid.IntRange(0, 7).Draw(t, "shape")
	if depth == 0 || shape < 3 {
		return Primitive(Kind(rapid.IntRange(int(Bool), int(EmptyList)).Draw(t, "kind")))
	}
	switch shape {
	case 3, 4:
		return ListOf(anyType(t, depth-1))
	case 5:
		names := rapid.SliceOfNDistinct(rapid.StringN(0, 3, -1), 0, 4, rapid.ID).Draw(t, "names")
		fields := make([]Field, len(names))
		for i, n := range names {
			fields[i] = Field{Name: n, Type: anyType(t, depth-1)}
		}
		return StructOf(fields...)
	case 6:
		elems := make([]*Type, rapid.IntRange(0, 3).Draw(t, "elements"))
		for i := range elems {
			elems[i] = anyType(t, depth-1)
		}
		return TupleOf(elems...)
	}
	return OptionalOf(anyType(t, depth-1))
}

// valueOf draws a value of a type.
func valueOf(t *rapid.T, typ *Type) Value {
	switch typ.Kind {
	case Null, Void:
		return NullValue
	case Optional:
		if rapid.Bool().Draw(t, "null") {
			return NullValue
		}
		return valueOf(t, typ.Elem)
	case EmptyList:
		return ItemsValue(List, nil)
	case List:
		items := make([]Value, rapid.IntRange(0, 3).Draw(t, "length"))
		for i := range items {
			items[i] = valueOf(t, typ.Elem)
		}
		return ItemsValue(List, items)
	case Struct, Tuple:
		items := make([]Value, len(typ.Fields))
		for i, f := range typ.Fields {
			items[i] = valueOf(t, f.Type)
		}
		return ItemsValue(typ.Kind, items)
	}
	return present(t, typ.Kind)
}
