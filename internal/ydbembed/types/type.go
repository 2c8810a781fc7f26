// Package types holds the YQL types and values that every layer of ydbembed
// speaks in: their static types, their in-memory form, order, text, storage
// and wire encodings. It knows nothing of tables, queries or transactions.
package types

import (
	"strings"
)

// Kind names a YQL type constructor.
type Kind uint8

// The kinds that ydbembed knows. Optional, List, Struct and Tuple are containers.
const (
	Invalid Kind = iota
	Bool
	Int8
	Int16
	Int32
	Int64
	Uint8
	Uint16
	Uint32
	Uint64
	Float
	Double
	Date
	Datetime
	Timestamp
	Interval
	String
	Utf8
	JSON
	JSONDocument
	Yson
	UUID
	Null      // the type of the literal NULL
	Void      // the type of an empty tuple's absence; only on the wire
	EmptyList // the type of the literal []
	Optional
	List
	Struct
	Tuple
)

var kindNames = [...]string{
	Invalid: "Invalid", Bool: "Bool", Int8: "Int8", Int16: "Int16", Int32: "Int32", Int64: "Int64",
	Uint8: "Uint8", Uint16: "Uint16", Uint32: "Uint32", Uint64: "Uint64", Float: "Float", Double: "Double",
	Date: "Date", Datetime: "Datetime", Timestamp: "Timestamp", Interval: "Interval",
	String: "String", Utf8: "Utf8", JSON: "Json", JSONDocument: "JsonDocument", Yson: "Yson", UUID: "Uuid",
	Null: "Null", Void: "Void", EmptyList: "EmptyList",
	Optional: "Optional", List: "List", Struct: "Struct", Tuple: "Tuple",
}

// String returns the kind's YQL name.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "Invalid"
}

// PrimitiveByName returns the primitive kind of a YQL type name, in any case.
func PrimitiveByName(name string) (Kind, bool) {
	for k := Bool; k <= UUID; k++ {
		if strings.EqualFold(kindNames[k], name) {
			return k, true
		}
	}
	switch strings.ToLower(name) {
	case "text":
		return Utf8, true
	case "bytes":
		return String, true
	}
	return Invalid, false
}

// Type is a YQL type. Types are immutable; compare them with Equal.
type Type struct {
	Kind   Kind
	Elem   *Type   // of Optional and List
	Fields []Field // of Struct (with names, in name order) and Tuple (without)
}

// Field is a member of a Struct or an element of a Tuple.
type Field struct {
	Name string
	Type *Type
}

var primitives = func() (out [EmptyList + 1]*Type) {
	for k := range out {
		out[k] = &Type{Kind: Kind(k)}
	}
	return out
}()

// Primitive returns the type of a kind that has no parts.
func Primitive(k Kind) *Type { return primitives[k] }

// OptionalOf returns Optional<t>; an Optional or Null is returned as it is.
func OptionalOf(t *Type) *Type {
	if t.Kind == Optional || t.Kind == Null {
		return t
	}
	return &Type{Kind: Optional, Elem: t}
}

// ListOf returns List<t>.
func ListOf(t *Type) *Type { return &Type{Kind: List, Elem: t} }

// StructOf returns a struct type; it keeps the order of the fields given
// (wire structs and AsStruct sort them by name before calling it).
func StructOf(fields ...Field) *Type { return &Type{Kind: Struct, Fields: fields} }

// TupleOf returns a tuple type.
func TupleOf(elems ...*Type) *Type {
	fields := make([]Field, len(elems))
	for i, t := range elems {
		fields[i].Type = t
	}
	return &Type{Kind: Tuple, Fields: fields}
}

// Unwrap returns the type under an Optional, or the type itself.
func (t *Type) Unwrap() *Type {
	if t.Kind == Optional {
		return t.Elem
	}
	return t
}

// IsOptional tells whether a value of the type may be NULL.
func (t *Type) IsOptional() bool { return t.Kind == Optional || t.Kind == Null }

// Equal tells whether two types are the same type.
func (t *Type) Equal(o *Type) bool {
	if t == o {
		return true
	}
	if t == nil || o == nil || t.Kind != o.Kind || len(t.Fields) != len(o.Fields) {
		return false
	}
	if t.Elem != nil && !t.Elem.Equal(o.Elem) {
		return false
	}
	for i, f := range t.Fields {
		if f.Name != o.Fields[i].Name || !f.Type.Equal(o.Fields[i].Type) {
			return false
		}
	}
	return true
}

// FieldIndex returns the position of the named field, or -1.
func (t *Type) FieldIndex(name string) int {
	for i, f := range t.Fields {
		if f.Name == name {
			return i
		}
	}
	return -1
}

// String returns the type in YQL's notation, Optional<T> as T?.
func (t *Type) String() string {
	switch t.Kind {
	case Optional:
		return t.Elem.String() + "?"
	case List:
		return "List<" + t.Elem.String() + ">"
	case Struct, Tuple:
		var b strings.Builder
		b.WriteString(t.Kind.String())
		b.WriteByte('<')
		for i, f := range t.Fields {
			if i > 0 {
				b.WriteByte(',')
			}
			if t.Kind == Struct {
				b.WriteByte('\'')
				b.WriteString(f.Name)
				b.WriteString("':")
			}
			b.WriteString(f.Type.String())
		}
		b.WriteByte('>')
		return b.String()
	}
	return t.Kind.String()
}

// IsInteger tells whether the kind is one of the eight integer kinds.
func (k Kind) IsInteger() bool { return k >= Int8 && k <= Uint64 }

// IsSigned tells whether the kind is a signed integer.
func (k Kind) IsSigned() bool { return k >= Int8 && k <= Int64 }

// IsNumeric tells whether the kind is an integer or a floating-point kind.
func (k Kind) IsNumeric() bool { return k >= Int8 && k <= Double }

// IsText tells whether values of the kind are carried as bytes.
func (k Kind) IsText() bool { return k >= String && k <= UUID }
