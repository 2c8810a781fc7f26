package plan

import (
	"math"

	"github.com/taskfleet/taskfleet/internal/ydbembed/issue"
	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
	"github.com/taskfleet/taskfleet/internal/ydbembed/yql"
)

// commonNumber is the kind in which numbers of two kinds meet: the wider one,
// of two equally wide ones the unsigned, and a floating-point kind above all.
func commonNumber(a, b types.Kind) types.Kind {
	switch {
	case a == types.Double || b == types.Double:
		return types.Double
	case a == types.Float || b == types.Float:
		return types.Float
	}
	wa, wb := width(a), width(b)
	switch {
	case wa > wb:
		return a
	case wb > wa:
		return b
	case a.IsSigned():
		return b
	}
	return a
}

// width is the size of an integer kind in bits.
func width(k types.Kind) int {
	switch k {
	case types.Int8, types.Uint8:
		return 8
	case types.Int16, types.Uint16:
		return 16
	case types.Int32, types.Uint32:
		return 32
	}
	return 64
}

// wrap cuts an integer to its kind, as the machine does.
func wrap(k types.Kind, bits uint64) types.Value {
	switch k {
	case types.Int8:
		return types.IntValue(k, int64(int8(bits)))
	case types.Int16:
		return types.IntValue(k, int64(int16(bits)))
	case types.Int32:
		return types.IntValue(k, int64(int32(bits)))
	case types.Int64:
		return types.IntValue(k, int64(bits))
	case types.Uint8:
		return types.UintValue(k, uint64(uint8(bits)))
	case types.Uint16:
		return types.UintValue(k, uint64(uint16(bits)))
	case types.Uint32:
		return types.UintValue(k, uint64(uint32(bits)))
	}
	return types.UintValue(k, bits)
}

// number converts a number to another numeric kind without checks.
func number(k types.Kind, v types.Value) types.Value {
	switch {
	case v.Kind() == k:
		return v
	case k == types.Float:
		return types.FloatValue(k, float64(float32(v.AsFloat())))
	case k == types.Double:
		return types.FloatValue(k, v.AsFloat())
	}
	return wrap(k, v.Uint())
}

func arithmetic(pos positioned, op string, x, y *Expr) (*Expr, error) {
	a, b := x.Type.Unwrap().Kind, y.Type.Unwrap().Kind
	text := x.Text + " " + op + " " + y.Text
	optional := x.Type.IsOptional() || y.Type.IsOptional()
	if a.IsNumeric() && b.IsNumeric() {
		k := commonNumber(a, b)
		t := types.Primitive(k)
		if optional || (op == "/" || op == "%") && k.IsInteger() {
			t = types.OptionalOf(t)
		}
		f := numberOp(op, k)
		return strict(t, text, func(_ *Frame, v []types.Value) (types.Value, error) {
			return f(number(k, v[0]), number(k, v[1])), nil
		}, x, y), nil
	}
	if a == types.Null || b == types.Null {
		known := x.Type
		if a == types.Null {
			known = y.Type
		}
		return constant(types.OptionalOf(known), types.NullValue), nil
	}
	if isPlainText(a) && isPlainText(b) && op == "+" {
		return concat(pos, x, y)
	}
	k, f := timeOp(op, a, b)
	if f == nil {
		return nil, at(pos, issue.Type("Cannot %s type %s and %s", verb[op], x.Type, y.Type))
	}
	t := types.Primitive(k)
	if optional || k != types.Interval || a == types.Interval || b == types.Interval {
		t = types.OptionalOf(t) // NULL on overflow
	}
	return strict(t, text, func(_ *Frame, v []types.Value) (types.Value, error) { return f(v[0], v[1]), nil }, x, y), nil
}

var verb = map[string]string{"+": "add", "-": "substract", "*": "multiply", "/": "divide", "%": "mod"}

func numberOp(op string, k types.Kind) func(a, b types.Value) types.Value {
	if k == types.Float || k == types.Double {
		return func(a, b types.Value) types.Value {
			x, y := a.Float(), b.Float()
			switch op {
			case "+":
				x += y
			case "-":
				x -= y
			case "*":
				x *= y
			case "/":
				x /= y
			default:
				x = math.Mod(x, y)
			}
			return number(k, types.FloatValue(types.Double, x))
		}
	}
	switch op {
	case "+":
		return func(a, b types.Value) types.Value { return wrap(k, a.Uint()+b.Uint()) }
	case "-":
		return func(a, b types.Value) types.Value { return wrap(k, a.Uint()-b.Uint()) }
	case "*":
		return func(a, b types.Value) types.Value { return wrap(k, a.Uint()*b.Uint()) }
	}
	return func(a, b types.Value) types.Value { return divide(k, op == "%", a, b) }
}

// divide is NULL for a division by zero and for the one quotient that does not fit.
func divide(k types.Kind, rest bool, a, b types.Value) types.Value {
	switch {
	case b.Uint() == 0:
		return types.NullValue
	case !k.IsSigned() && rest:
		return types.UintValue(k, a.Uint()%b.Uint())
	case !k.IsSigned():
		return types.UintValue(k, a.Uint()/b.Uint())
	case b.Int() == -1 && a.Int() == math.MinInt64>>(64-width(k)):
		return types.NullValue
	case rest:
		return types.IntValue(k, a.Int()%b.Int())
	}
	return types.IntValue(k, a.Int()/b.Int())
}

func sign(e *yql.Unary, x *Expr) (*Expr, error) {
	k := x.Type.Unwrap().Kind
	switch {
	case e.Op == "+" && (k.IsNumeric() || k == types.Interval):
		return x, nil
	case e.Op == "~" && k.IsInteger() && !k.IsSigned():
		return strict(x.Type, "~"+x.Text, func(_ *Frame, v []types.Value) (types.Value, error) {
			return wrap(k, ^v[0].Uint()), nil
		}, x), nil
	case e.Op == "-" && (k.IsNumeric() || k == types.Interval):
		out := strict(x.Type, "-"+x.Text, func(_ *Frame, v []types.Value) (types.Value, error) { return negate(v[0]), nil }, x)
		if x.Literal != nil && k.IsNumeric() {
			v := negate(*x.Literal)
			out.Literal = &v
		}
		return out, nil
	}
	return nil, at(e, issue.Type("Cannot apply %s to type %s", e.Op, x.Type))
}

func negate(v types.Value) types.Value {
	switch k := v.Kind(); {
	case k == types.Float || k == types.Double:
		return types.FloatValue(k, -v.Float())
	case k == types.Interval:
		return types.IntValue(k, -v.Int())
	default:
		return wrap(k, -v.Uint())
	}
}

func concat(pos positioned, x, y *Expr) (*Expr, error) {
	a, b := x.Type.Unwrap().Kind, y.Type.Unwrap().Kind
	if !isPlainText(a) || !isPlainText(b) {
		return nil, at(pos, issue.Type("Cannot concat type %s and %s", x.Type, y.Type))
	}
	k := types.String
	if a == types.Utf8 && b == types.Utf8 || a == types.Utf8 && y.Literal != nil || b == types.Utf8 && x.Literal != nil {
		k = types.Utf8
	}
	t := types.Primitive(k)
	if x.Type.IsOptional() || y.Type.IsOptional() {
		t = types.OptionalOf(t)
	}
	return strict(t, x.Text+" || "+y.Text, func(f *Frame, v []types.Value) (types.Value, error) {
		if err := f.Budget.Make(len(v[0].Text()) + len(v[1].Text())); err != nil {
			return types.NullValue, err
		}
		return types.TextValue(k, v[0].Text()+v[1].Text()), nil
	}, x, y), nil
}
