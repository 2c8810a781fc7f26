package plan

import (
	"math"
	"unicode/utf8"

	"github.com/taskfleet/taskfleet/internal/ydbembed/issue"
	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
)

// coerce makes an expression of type to, as a write or a common type wants it:
// the same type, T for Optional<T>, a constant that fits, a wider number, a
// finer date. It returns nil when the types do not fit.
func coerce(x *Expr, to *types.Type) *Expr {
	if x.Type.Equal(to) {
		return x
	}
	out := *x
	out.Type = to
	if x.Literal != nil {
		v, ok := convertLiteral(*x.Literal, to.Unwrap().Kind)
		if !ok {
			return nil
		}
		out.Literal = &v
		out.Const = true
		out.Eval = func(*Frame, []types.Value) (types.Value, error) { return v, nil }
		return &out
	}
	if x.Type.IsOptional() && !to.IsOptional() {
		return nil
	}
	if x.Type.Kind == types.Null {
		return &out
	}
	from, base := x.Type.Unwrap(), to.Unwrap()
	if from.Equal(base) {
		return &out
	}
	if from.Kind == types.EmptyList && base.Kind == types.List {
		return &out
	}
	if from.Kind == types.List || from.Kind == types.Tuple || from.Kind == types.Struct {
		return coerceItems(&out, from, base)
	}
	f := widen(from.Kind, base.Kind)
	if f == nil {
		return nil
	}
	out.column = 0
	out.Eval = func(fr *Frame, row []types.Value) (types.Value, error) {
		v, err := x.Eval(fr, row)
		if err != nil || v.IsNull() {
			return types.NullValue, err
		}
		return f(v), nil
	}
	return &out
}

// coerceItems lets containers through whose items differ by nullability only.
func coerceItems(x *Expr, from, to *types.Type) *Expr {
	if from.Kind != to.Kind || len(from.Fields) != len(to.Fields) {
		return nil
	}
	fits := func(a, b *types.Type) bool { return a.Equal(b) || b.Kind == types.Optional && b.Elem.Equal(a) }
	if from.Kind == types.List && !fits(from.Elem, to.Elem) {
		return nil
	}
	for i, f := range from.Fields {
		if f.Name != to.Fields[i].Name || !fits(f.Type, to.Fields[i].Type) {
			return nil
		}
	}
	return x
}

// widen returns the lossless conversion between two kinds, nil if there is none.
func widen(from, to types.Kind) func(types.Value) types.Value {
	switch {
	case from.IsInteger() && to.IsInteger() && losslessInt(from, to):
		return func(v types.Value) types.Value { return number(to, v) }
	case from == types.Float && to == types.Double,
		from.IsInteger() && to == types.Double && width(from) <= 32,
		from.IsInteger() && to == types.Float && width(from) <= 16:
		return func(v types.Value) types.Value { return number(to, v) }
	case from == types.Utf8 && to == types.String:
		return func(v types.Value) types.Value { return types.TextValue(to, v.Text()) }
	case isDate(from) && isDate(to) && from < to:
		return func(v types.Value) types.Value { return dateAs(to, v) }
	}
	return nil
}

func losslessInt(from, to types.Kind) bool {
	switch {
	case from.IsSigned() == to.IsSigned():
		return width(from) <= width(to)
	case from.IsSigned():
		return false
	}
	return width(from) < width(to)
}

func dateAs(k types.Kind, v types.Value) types.Value {
	t := v.Time()
	switch k {
	case types.Date:
		return types.UintValue(k, uint64(t.Unix()/86400))
	case types.Datetime:
		return types.UintValue(k, uint64(t.Unix()))
	}
	return types.UintValue(k, uint64(t.UnixMicro()))
}

// convertLiteral makes a constant a value of kind k when it fits.
func convertLiteral(v types.Value, k types.Kind) (types.Value, bool) {
	switch {
	case v.Kind() == k:
		return v, true
	case v.Kind().IsInteger() && k.IsInteger():
		return toInt(v, k)
	case v.Kind().IsNumeric() && (k == types.Float || k == types.Double):
		return number(k, v), true
	case v.Kind() == types.String && (k == types.Utf8 || k == types.JSON || k == types.JSONDocument):
		out, err := types.Parse(k, v.Text())
		return out, err == nil
	case v.Kind() == types.String && k == types.Yson, v.Kind() == types.Utf8 && k == types.String:
		return types.TextValue(k, v.Text()), true
	}
	return types.NullValue, false
}

// toInt converts an integer to another kind; false when it does not fit.
func toInt(v types.Value, k types.Kind) (types.Value, bool) {
	out := number(k, v)
	negative := v.Kind().IsSigned() && v.Int() < 0
	if out.Uint() != v.Uint() || negative != (k.IsSigned() && out.Int() < 0) {
		return types.NullValue, false
	}
	return out, true
}

// unify brings expressions to one type, which is Optional when one of them is.
func unify(pos positioned, list []*Expr) ([]*Expr, *types.Type, error) {
	var t *types.Type
	optional := false
	for pass := 0; pass < 2; pass++ { // typed expressions decide before constants do
		for _, x := range list {
			optional = optional || x.Type.IsOptional()
			if x.Type.Kind == types.Null || (x.Literal != nil) != (pass == 1) {
				continue
			}
			if t == nil {
				t = x.Type.Unwrap()
				continue
			}
			next := commonType(t, x)
			if next == nil {
				return nil, nil, at(pos, issue.Type("Uncompatible types: %s and %s", t, x.Type))
			}
			t = next
		}
	}
	if t == nil {
		return list, types.Primitive(types.Null), nil
	}
	if optional {
		t = types.OptionalOf(t)
	}
	out := make([]*Expr, len(list))
	for i, x := range list {
		if out[i] = convertCommon(x, t); out[i] == nil {
			return nil, nil, at(pos, issue.Type("Uncompatible types: %s and %s", t, x.Type))
		}
	}
	return out, t, nil
}

// commonType is the type in which values of t and the expression meet; nil for none.
func commonType(t *types.Type, x *Expr) *types.Type {
	u := x.Type.Unwrap()
	if t.Equal(u) {
		return t
	}
	if x.Literal != nil {
		if _, ok := convertLiteral(*x.Literal, t.Kind); ok {
			return t
		}
	}
	switch {
	case t.Kind.IsNumeric() && u.Kind.IsNumeric():
		return types.Primitive(commonNumber(t.Kind, u.Kind))
	case isPlainText(t.Kind) && isPlainText(u.Kind):
		return types.Primitive(types.String)
	case isDate(t.Kind) && isDate(u.Kind):
		return types.Primitive(max(t.Kind, u.Kind))
	case coerce(x, types.OptionalOf(t)) != nil:
		return t
	}
	return nil
}

// convertCommon is coerce, and numbers of any kind.
func convertCommon(x *Expr, t *types.Type) *Expr {
	if out := coerce(x, t); out != nil {
		if x.Literal != nil && !x.Type.Unwrap().Equal(t.Unwrap()) {
			out.Literal = nil // it has a type now
		}
		return out
	}
	k := t.Unwrap().Kind
	if !x.Type.Unwrap().Kind.IsNumeric() || !k.IsNumeric() || x.Type.IsOptional() && !t.IsOptional() {
		return nil
	}
	return strict(t, x.Text, func(_ *Frame, v []types.Value) (types.Value, error) { return number(k, v[0]), nil }, x)
}

// castTo compiles CAST(x AS to).
func castTo(pos positioned, x *Expr, to *types.Type) (*Expr, error) {
	from, base := x.Type.Unwrap(), to.Unwrap()
	typed := *x
	typed.Literal = nil // the types decide, not the value
	x = &typed
	if out := coerce(x, to); out != nil && from.Kind != types.Null {
		return out, nil
	}
	t := types.OptionalOf(base)
	if from.Kind == types.Null {
		return constant(t, types.NullValue), nil
	}
	if from.Equal(base) { // Optional<T> to T stays what it is
		out := *x
		out.Type = t
		return &out, nil
	}
	f := castKind(from.Kind, base.Kind)
	if f == nil {
		return nil, at(pos, issue.Type("Cannot cast type %s into %s", x.Type, to))
	}
	if losslessCast(from.Kind, base.Kind) && !x.Type.IsOptional() {
		t = base
	}
	return strict(t, "CAST("+x.Text+" AS "+to.String()+")", func(_ *Frame, v []types.Value) (types.Value, error) {
		return f(v[0]), nil
	}, x), nil
}

// losslessCast tells that a cast, other than a widening, always gives a value.
func losslessCast(from, to types.Kind) bool {
	return to == types.String || to == types.Utf8 && from != types.String && from != types.Yson ||
		to == types.Bool && from.IsNumeric() || widen(from, to) != nil || isDate(from) && isDate(to) ||
		(to == types.Float || to == types.Double) && from.IsNumeric()
}

// castKind returns the conversion of CAST between two kinds; nil if there is
// none. Values that do not fit become NULL.
func castKind(from, to types.Kind) func(types.Value) types.Value {
	if f := widen(from, to); f != nil {
		return f
	}
	switch {
	case isPlainText(to) && from == types.Bool || isPlainText(to) && !from.IsText() && from < types.Null, isPlainText(to) && from == types.UUID:
		return func(v types.Value) types.Value { return types.TextValue(to, v.String()) }
	case from.IsText() && to.IsText() && from != types.UUID && to != types.UUID:
		return func(v types.Value) types.Value {
			if to != types.String && to != types.Yson && !utf8.ValidString(v.Text()) {
				return types.NullValue
			}
			out, err := types.Parse(to, v.Text())
			if err != nil {
				return types.NullValue
			}
			return out
		}
	case isPlainText(from) && to < types.Null:
		return func(v types.Value) types.Value {
			out, err := types.Parse(to, v.Text())
			if err != nil {
				return types.NullValue
			}
			return out
		}
	case isDate(from) && isDate(to):
		return func(v types.Value) types.Value { return dateAs(to, v) }
	case from.IsNumeric() && to == types.Bool:
		return func(v types.Value) types.Value { return types.BoolValue(v.AsFloat() != 0) }
	case from == types.Bool && to.IsNumeric():
		return func(v types.Value) types.Value { return number(to, types.UintValue(types.Uint8, v.Uint())) }
	case from.IsNumeric() && to.IsNumeric(), isTimeNumber(from) && to.IsNumeric(), from.IsNumeric() && isTimeNumber(to):
		return func(v types.Value) types.Value { return castNumber(from, to, v) }
	}
	return nil
}

func isTimeNumber(k types.Kind) bool { return isDate(k) || k == types.Interval }

func castNumber(from, to types.Kind, v types.Value) types.Value {
	switch from { // see dates as the integers they are
	case types.Interval:
		v = types.IntValue(types.Int64, v.Int())
	case types.Date, types.Datetime, types.Timestamp:
		v = types.UintValue(types.Uint64, v.Uint())
	case types.Float, types.Double:
		if to.IsNumeric() && !to.IsInteger() {
			return number(to, v)
		}
		x := math.Trunc(v.Float())
		if !(x >= -(1<<63) && x < 1<<63) {
			return types.NullValue
		}
		v = types.IntValue(types.Int64, int64(x))
	}
	if to == types.Float || to == types.Double {
		return number(to, v)
	}
	end := uint64(microsEnd)
	target := types.Uint64
	switch to {
	case types.Date:
		end = daysEnd
	case types.Datetime:
		end = secondsEnd
	case types.Timestamp:
	case types.Interval:
		n, ok := toInt(v, types.Int64)
		if !ok {
			return types.NullValue
		}
		return interval(n.Int())
	default:
		target, end = to, 0
	}
	n, ok := toInt(v, target)
	if !ok || end > 0 && n.Uint() >= end {
		return types.NullValue
	}
	if end > 0 {
		return types.UintValue(to, n.Uint())
	}
	return n
}
