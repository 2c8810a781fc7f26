package types

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"
)

func TestWireRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		typ := anyType(t, 3)
		v := valueOf(t, typ)
		raw, err := proto.Marshal(&Ydb.TypedValue{Type: typ.Proto(), Value: v.Proto(typ)})
		require.NoError(t, err)
		var wire Ydb.TypedValue
		require.NoError(t, proto.Unmarshal(raw, &wire))
		gotType, err := FromProtoType(wire.GetType())
		require.NoError(t, err)
		require.True(t, typ.Equal(gotType), "%s became %s", typ, gotType)
		got, err := FromProto(gotType, wire.GetValue())
		require.NoError(t, err)
		require.Zero(t, Compare(v, got), "%s became %s", v, got)
	})
}

func TestWireRefusesWrongForms(t *testing.T) {
	t.Parallel()
	int32Value := func(n int32) *Ydb.Value { return &Ydb.Value{Value: &Ydb.Value_Int32Value{Int32Value: n}} }
	uint32Value := func(n uint32) *Ydb.Value { return &Ydb.Value{Value: &Ydb.Value_Uint32Value{Uint32Value: n}} }
	textValue := func(s string) *Ydb.Value { return &Ydb.Value{Value: &Ydb.Value_TextValue{TextValue: s}} }
	pair := StructOf(Field{"a", Primitive(Int8)}, Field{"b", Primitive(Int8)})
	for name, c := range map[string]struct {
		typ   *Type
		value *Ydb.Value
		want  string
	}{
		"Int8 too great":       {Primitive(Int8), int32Value(128), "128 is out of range of Int8"},
		"Uint8 too great":      {Primitive(Uint8), uint32Value(256), "256 is out of range of Uint8"},
		"Date past the end":    {Primitive(Date), uint32Value(endOfDate), "out of range of Date"},
		"other field":          {Primitive(Int64), int32Value(1), "for type Int64"},
		"NULL for Int8":        {Primitive(Int8), nullProto(), "for type Int8"},
		"nothing":              {Primitive(Int8), &Ydb.Value{}, "no value for type Int8"},
		"nil":                  {OptionalOf(Primitive(Int8)), nil, "no value for type Int8"},
		"broken UTF-8":         {Primitive(Utf8), textValue("a\xff"), "not valid UTF-8"},
		"broken JSON":          {Primitive(JSON), textValue("{"), "not valid JSON"},
		"struct of one":        {pair, &Ydb.Value{Items: []*Ydb.Value{int32Value(1)}}, "Struct with 1 items instead of 2"},
		"member out of range":  {pair, &Ydb.Value{Items: []*Ydb.Value{int32Value(1), int32Value(999)}}, `(member "b")`},
		"nil item":             {ListOf(Primitive(Int8)), &Ydb.Value{Items: []*Ydb.Value{nil}}, "(item 0)"},
		"list with a value":    {ListOf(Primitive(Int8)), int32Value(1), "for type List<Int8>"},
		"empty list not empty": {Primitive(EmptyList), &Ydb.Value{Items: []*Ydb.Value{nil}}, "EmptyList with 1 items"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := FromProto(c.typ, c.value)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestWireRefusesTypes(t *testing.T) {
	t.Parallel()
	deep := Primitive(Int8)
	for range MaxDepth + 1 {
		deep = ListOf(deep)
	}
	_, err := FromProtoType(deep.Elem.Proto())
	require.NoError(t, err)
	int8Type := Primitive(Int8).Proto()
	optional := func(item *Ydb.Type) *Ydb.Type {
		return &Ydb.Type{Type: &Ydb.Type_OptionalType{OptionalType: &Ydb.OptionalType{Item: item}}}
	}
	for want, typ := range map[string]*Ydb.Type{
		"type is missing":       nil,
		"nested deeper than 32": deep.Proto(),
		"nested optional Int8?": optional(optional(int8Type)),
		"type TZ_DATE is not":   {Type: &Ydb.Type_TypeId{TypeId: Ydb.Type_TZ_DATE}},
		"DecimalType is not":    {Type: &Ydb.Type_DecimalType{DecimalType: &Ydb.DecimalType{Precision: 22, Scale: 9}}},
		`"a" given twice`: StructOf(
			Field{"a", Primitive(Int8)}, Field{"a", Primitive(Int8)}).Proto(),
	} {
		_, err := FromProtoType(typ)
		require.ErrorContains(t, err, want)
	}
}

func TestStructFieldsKeepTheirOrder(t *testing.T) {
	t.Parallel()
	typ, err := FromProtoType(StructOf(Field{"z", Primitive(Int8)}, Field{"a", Primitive(Utf8)}).Proto())
	require.NoError(t, err)
	require.Equal(t, "Struct<'z':Int8,'a':Utf8>", typ.String())
}

func TestUUIDHasYDBsLayout(t *testing.T) {
	t.Parallel()
	const text = "6e73b41c-4ede-4d08-9cfb-b7462d9e498b"
	wire := &Ydb.Value{Value: &Ydb.Value_Low_128{Low_128: 0x4d084ede6e73b41c}, High_128: 0x8b499e2d46b7fb9c}
	v, err := FromProto(Primitive(UUID), wire)
	require.NoError(t, err)
	require.Equal(t, text, v.String())
	require.True(t, proto.Equal(wire, v.Proto(Primitive(UUID))))
	require.Equal(t, UUIDValue(uuid.MustParse(text)), v)
	require.Equal(t, "\x1c\xb4\x73\x6e\xde\x4e\x08\x4d\x9c\xfb\xb7\x46\x2d\x9e\x49\x8b", v.Text())
}

func FuzzFromProto(f *testing.F) {
	typ := ListOf(StructOf(Field{"id", Primitive(Utf8)}, Field{"at", OptionalOf(Primitive(Timestamp))}))
	v := ItemsValue(List, []Value{ItemsValue(Struct, []Value{TextValue(Utf8, "x"), NullValue})})
	seed, err := proto.Marshal(&Ydb.TypedValue{Type: typ.Proto(), Value: v.Proto(typ)})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Add([]byte(strings.Repeat("\x0a\x02", 50)))
	f.Fuzz(func(t *testing.T, b []byte) {
		var wire Ydb.TypedValue
		if proto.Unmarshal(b, &wire) != nil {
			return
		}
		typ, err := FromProtoType(wire.GetType())
		if err != nil {
			return
		}
		v, err := FromProto(typ, wire.GetValue())
		if err != nil {
			return
		}
		again, err := FromProto(typ, v.Proto(typ))
		if err != nil || Compare(v, again) != 0 {
			t.Fatalf("%s of type %s came back as %s, %v", v, typ, again, err)
		}
	})
}
