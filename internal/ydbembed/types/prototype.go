package types

import (
	"fmt"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"google.golang.org/protobuf/types/known/structpb"
)

// MaxDepth bounds how deeply containers may nest in a type from the wire.
const MaxDepth = 32

var wireKinds = map[Ydb.Type_PrimitiveTypeId]Kind{
	Ydb.Type_BOOL: Bool, Ydb.Type_INT8: Int8, Ydb.Type_INT16: Int16, Ydb.Type_INT32: Int32, Ydb.Type_INT64: Int64,
	Ydb.Type_UINT8: Uint8, Ydb.Type_UINT16: Uint16, Ydb.Type_UINT32: Uint32, Ydb.Type_UINT64: Uint64,
	Ydb.Type_FLOAT: Float, Ydb.Type_DOUBLE: Double,
	Ydb.Type_DATE: Date, Ydb.Type_DATETIME: Datetime, Ydb.Type_TIMESTAMP: Timestamp, Ydb.Type_INTERVAL: Interval,
	Ydb.Type_STRING: String, Ydb.Type_UTF8: Utf8, Ydb.Type_JSON: JSON, Ydb.Type_JSON_DOCUMENT: JSONDocument,
	Ydb.Type_YSON: Yson, Ydb.Type_UUID: UUID,
}

var kindWires = func() map[Kind]Ydb.Type_PrimitiveTypeId {
	out := make(map[Kind]Ydb.Type_PrimitiveTypeId, len(wireKinds))
	for id, k := range wireKinds {
		out[k] = id
	}
	return out
}()

// FromProtoType reads a type from the wire. Types that ydbembed does not have
// and types nested deeper than MaxDepth are errors. Struct members keep the
// order given.
func FromProtoType(p *Ydb.Type) (*Type, error) { return fromProtoType(p, 0) }

func fromProtoType(p *Ydb.Type, depth int) (*Type, error) {
	if depth > MaxDepth {
		return nil, fmt.Errorf("types: type nested deeper than %d", MaxDepth)
	}
	switch t := p.GetType().(type) {
	case *Ydb.Type_TypeId:
		k, ok := wireKinds[t.TypeId]
		if !ok {
			return nil, fmt.Errorf("types: type %s is not supported", t.TypeId)
		}
		return Primitive(k), nil
	case *Ydb.Type_OptionalType:
		elem, err := fromProtoType(t.OptionalType.GetItem(), depth+1)
		if err != nil {
			return nil, err
		}
		if elem.IsOptional() {
			return nil, fmt.Errorf("types: nested optional %s? is not supported", elem)
		}
		return OptionalOf(elem), nil
	case *Ydb.Type_ListType:
		elem, err := fromProtoType(t.ListType.GetItem(), depth+1)
		if err != nil {
			return nil, err
		}
		return ListOf(elem), nil
	case *Ydb.Type_StructType:
		return fromProtoStruct(t.StructType.GetMembers(), depth)
	case *Ydb.Type_TupleType:
		elems := make([]*Type, len(t.TupleType.GetElements()))
		for i, e := range t.TupleType.GetElements() {
			var err error
			if elems[i], err = fromProtoType(e, depth+1); err != nil {
				return nil, err
			}
		}
		return TupleOf(elems...), nil
	case *Ydb.Type_VoidType:
		return Primitive(Void), nil
	case *Ydb.Type_NullType:
		return Primitive(Null), nil
	case *Ydb.Type_EmptyListType:
		return Primitive(EmptyList), nil
	case nil:
		return nil, fmt.Errorf("types: type is missing")
	default:
		return nil, fmt.Errorf("types: type %T is not supported", t)
	}
}

func fromProtoStruct(members []*Ydb.StructMember, depth int) (*Type, error) {
	fields := make([]Field, len(members))
	seen := make(map[string]struct{}, len(members))
	for i, m := range members {
		if _, dup := seen[m.GetName()]; dup {
			return nil, fmt.Errorf("types: struct member %q given twice", m.GetName())
		}
		seen[m.GetName()] = struct{}{}
		t, err := fromProtoType(m.GetType(), depth+1)
		if err != nil {
			return nil, fmt.Errorf("%w (member %q)", err, m.GetName())
		}
		fields[i] = Field{Name: m.GetName(), Type: t}
	}
	return StructOf(fields...), nil
}

// Proto returns the type as it goes over the wire.
func (t *Type) Proto() *Ydb.Type {
	switch t.Kind {
	case Optional:
		return &Ydb.Type{Type: &Ydb.Type_OptionalType{OptionalType: &Ydb.OptionalType{Item: t.Elem.Proto()}}}
	case List:
		return &Ydb.Type{Type: &Ydb.Type_ListType{ListType: &Ydb.ListType{Item: t.Elem.Proto()}}}
	case Struct:
		members := make([]*Ydb.StructMember, len(t.Fields))
		for i, f := range t.Fields {
			members[i] = &Ydb.StructMember{Name: f.Name, Type: f.Type.Proto()}
		}
		return &Ydb.Type{Type: &Ydb.Type_StructType{StructType: &Ydb.StructType{Members: members}}}
	case Tuple:
		elems := make([]*Ydb.Type, len(t.Fields))
		for i, f := range t.Fields {
			elems[i] = f.Type.Proto()
		}
		return &Ydb.Type{Type: &Ydb.Type_TupleType{TupleType: &Ydb.TupleType{Elements: elems}}}
	case Null:
		return &Ydb.Type{Type: &Ydb.Type_NullType{NullType: structpb.NullValue_NULL_VALUE}}
	case EmptyList:
		return &Ydb.Type{Type: &Ydb.Type_EmptyListType{EmptyListType: structpb.NullValue_NULL_VALUE}}
	case Void, Invalid:
		return &Ydb.Type{Type: &Ydb.Type_VoidType{VoidType: structpb.NullValue_NULL_VALUE}}
	}
	return &Ydb.Type{Type: &Ydb.Type_TypeId{TypeId: kindWires[t.Kind]}}
}
