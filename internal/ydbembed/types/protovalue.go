package types

import (
	"encoding/json"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"google.golang.org/protobuf/types/known/structpb"
)

// The first values past the ends of YDB's time types: 2106-01-01.
const (
	endOfDate      = 49673
	endOfDatetime  = endOfDate * 86400
	endOfTimestamp = endOfDatetime * 1_000_000
)

// FromProto reads a value of type t from the wire. The value must have exactly
// the form that t calls for: the right field, as many items as t has, numbers
// within range, valid UTF-8 and JSON.
func FromProto(t *Type, p *Ydb.Value) (Value, error) {
	switch t.Kind {
	case Optional:
		if _, null := p.GetValue().(*Ydb.Value_NullFlagValue); null {
			return NullValue, nil
		}
		return FromProto(t.Elem, p)
	case Null, Void:
		if _, null := p.GetValue().(*Ydb.Value_NullFlagValue); !null {
			return NullValue, wrongForm(t, p)
		}
		return NullValue, nil
	case List, Struct, Tuple, EmptyList:
		return fromProtoItems(t, p)
	}
	return fromProtoPrimitive(t, p)
}

func fromProtoItems(t *Type, p *Ydb.Value) (Value, error) {
	if p.GetValue() != nil || len(p.GetPairs()) > 0 {
		return NullValue, wrongForm(t, p)
	}
	in := p.GetItems()
	switch {
	case t.Kind == EmptyList && len(in) > 0:
		return NullValue, fmt.Errorf("types: %s with %d items", t, len(in))
	case (t.Kind == Struct || t.Kind == Tuple) && len(in) != len(t.Fields):
		return NullValue, fmt.Errorf("types: %s with %d items instead of %d", t.Kind, len(in), len(t.Fields))
	}
	items := make([]Value, len(in))
	for i, item := range in {
		elem := t.Elem
		if t.Kind != List {
			elem = t.Fields[i].Type
		}
		v, err := FromProto(elem, item)
		if err != nil {
			if t.Kind == Struct {
				return NullValue, fmt.Errorf("%w (member %q)", err, t.Fields[i].Name)
			}
			return NullValue, fmt.Errorf("%w (item %d)", err, i)
		}
		items[i] = v
	}
	kind := t.Kind
	if kind == EmptyList {
		kind = List
	}
	return ItemsValue(kind, items), nil
}

func fromProtoPrimitive(t *Type, p *Ydb.Value) (Value, error) {
	k := t.Kind
	switch x := p.GetValue().(type) {
	case *Ydb.Value_BoolValue:
		if k == Bool {
			return BoolValue(x.BoolValue), nil
		}
	case *Ydb.Value_Int32Value:
		if k == Int8 || k == Int16 || k == Int32 {
			return checkedInt(k, int64(x.Int32Value))
		}
	case *Ydb.Value_Int64Value:
		if k == Int64 || k == Interval {
			return checkedInt(k, x.Int64Value)
		}
	case *Ydb.Value_Uint32Value:
		switch k {
		case Uint8, Uint16, Uint32, Date, Datetime:
			return checkedUint(k, uint64(x.Uint32Value))
		}
	case *Ydb.Value_Uint64Value:
		if k == Uint64 || k == Timestamp {
			return checkedUint(k, x.Uint64Value)
		}
	case *Ydb.Value_FloatValue:
		if k == Float {
			return FloatValue(Float, float64(x.FloatValue)), nil
		}
	case *Ydb.Value_DoubleValue:
		if k == Double {
			return FloatValue(Double, x.DoubleValue), nil
		}
	case *Ydb.Value_BytesValue:
		if k == String || k == Yson {
			return TextValue(k, string(x.BytesValue)), nil
		}
	case *Ydb.Value_TextValue:
		if k == Utf8 || k == JSON || k == JSONDocument {
			return checkedText(k, x.TextValue)
		}
	case *Ydb.Value_Low_128:
		if k == UUID {
			return uuidFromPair(x.Low_128, p.GetHigh_128()), nil
		}
	}
	return NullValue, wrongForm(t, p)
}

func wrongForm(t *Type, p *Ydb.Value) error {
	if p.GetValue() == nil {
		return fmt.Errorf("types: no value for type %s", t)
	}
	return fmt.Errorf("types: value of form %T for type %s", p.GetValue(), t)
}

// intLimits are the bounds of the signed kinds, both inclusive.
func intLimits(k Kind) (lo, hi int64) {
	switch k {
	case Int8:
		return math.MinInt8, math.MaxInt8
	case Int16:
		return math.MinInt16, math.MaxInt16
	case Int32:
		return math.MinInt32, math.MaxInt32
	case Interval:
		return -endOfTimestamp + 1, endOfTimestamp - 1
	}
	return math.MinInt64, math.MaxInt64
}

// uintLimit is the greatest value of an unsigned kind.
func uintLimit(k Kind) uint64 {
	switch k {
	case Uint8:
		return math.MaxUint8
	case Uint16:
		return math.MaxUint16
	case Uint32:
		return math.MaxUint32
	case Date:
		return endOfDate - 1
	case Datetime:
		return endOfDatetime - 1
	case Timestamp:
		return endOfTimestamp - 1
	}
	return math.MaxUint64
}

func checkedInt(k Kind, n int64) (Value, error) {
	if lo, hi := intLimits(k); n < lo || n > hi {
		return NullValue, fmt.Errorf("types: %d is out of range of %s", n, k)
	}
	return IntValue(k, n), nil
}

func checkedUint(k Kind, n uint64) (Value, error) {
	if n > uintLimit(k) {
		return NullValue, fmt.Errorf("types: %d is out of range of %s", n, k)
	}
	return UintValue(k, n), nil
}

func checkedText(k Kind, s string) (Value, error) {
	if !utf8.ValidString(s) {
		return NullValue, fmt.Errorf("types: %s is not valid UTF-8", k)
	}
	if k != Utf8 && !json.Valid([]byte(s)) {
		return NullValue, fmt.Errorf("types: %s is not valid JSON", k)
	}
	return TextValue(k, s), nil
}

// Proto returns the value as it goes over the wire; t is its type.
func (v Value) Proto(t *Type) *Ydb.Value {
	if t.Kind == Optional {
		if v.IsNull() {
			return nullProto()
		}
		t = t.Elem
	}
	switch t.Kind {
	case Null, Void:
		return nullProto()
	case List, EmptyList:
		items := make([]*Ydb.Value, len(v.items))
		for i, item := range v.items {
			items[i] = item.Proto(t.Elem)
		}
		return &Ydb.Value{Items: items}
	case Struct, Tuple:
		items := make([]*Ydb.Value, min(len(v.items), len(t.Fields)))
		for i := range items {
			items[i] = v.items[i].Proto(t.Fields[i].Type)
		}
		return &Ydb.Value{Items: items}
	case Bool:
		return &Ydb.Value{Value: &Ydb.Value_BoolValue{BoolValue: v.Bool()}}
	case Int8, Int16, Int32:
		return &Ydb.Value{Value: &Ydb.Value_Int32Value{Int32Value: int32(v.Int())}}
	case Int64, Interval:
		return &Ydb.Value{Value: &Ydb.Value_Int64Value{Int64Value: v.Int()}}
	case Uint8, Uint16, Uint32, Date, Datetime:
		return &Ydb.Value{Value: &Ydb.Value_Uint32Value{Uint32Value: uint32(v.Uint())}}
	case Uint64, Timestamp:
		return &Ydb.Value{Value: &Ydb.Value_Uint64Value{Uint64Value: v.Uint()}}
	case Float:
		return &Ydb.Value{Value: &Ydb.Value_FloatValue{FloatValue: float32(v.Float())}}
	case Double:
		return &Ydb.Value{Value: &Ydb.Value_DoubleValue{DoubleValue: v.Float()}}
	case String, Yson:
		return &Ydb.Value{Value: &Ydb.Value_BytesValue{BytesValue: []byte(v.text)}}
	case UUID:
		low, high := uuidPair(v.text)
		return &Ydb.Value{Value: &Ydb.Value_Low_128{Low_128: low}, High_128: high}
	}
	return &Ydb.Value{Value: &Ydb.Value_TextValue{TextValue: v.text}}
}

func nullProto() *Ydb.Value {
	return &Ydb.Value{Value: &Ydb.Value_NullFlagValue{NullFlagValue: structpb.NullValue_NULL_VALUE}}
}
