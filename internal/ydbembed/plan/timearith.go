package plan

import (
	"math"
	"math/bits"

	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
)

// The moments that YDB's date kinds hold end with the year 2105.
const (
	daysEnd    = 49673
	secondsEnd = daysEnd * 86400
	microsEnd  = secondsEnd * 1_000_000
)

// timeOp returns how dates and intervals combine and the kind of the result, or
// nil when they do not. The results are NULL where they do not fit.
func timeOp(op string, a, b types.Kind) (types.Kind, func(x, y types.Value) types.Value) {
	switch {
	case op == "+" && isDate(a) && b == types.Interval:
		return a, func(x, y types.Value) types.Value { return shift(a, x, y.Int()) }
	case op == "+" && a == types.Interval && isDate(b):
		return b, func(x, y types.Value) types.Value { return shift(b, y, x.Int()) }
	case op == "-" && isDate(a) && b == types.Interval:
		return a, func(x, y types.Value) types.Value { return shift(a, x, -y.Int()) }
	case op == "-" && isDate(a) && isDate(b):
		return types.Interval, func(x, y types.Value) types.Value {
			return types.IntValue(types.Interval, x.Time().UnixMicro()-y.Time().UnixMicro())
		}
	case (op == "+" || op == "-") && a == types.Interval && b == types.Interval:
		return types.Interval, func(x, y types.Value) types.Value {
			if op == "-" {
				return interval(x.Int() - y.Int())
			}
			return interval(x.Int() + y.Int())
		}
	case op == "*" && a == types.Interval && b.IsInteger():
		return types.Interval, func(x, y types.Value) types.Value { return scale(x.Int(), y) }
	case op == "*" && a.IsInteger() && b == types.Interval:
		return types.Interval, func(x, y types.Value) types.Value { return scale(y.Int(), x) }
	case op == "/" && a == types.Interval && b.IsInteger():
		return types.Interval, func(x, y types.Value) types.Value {
			switch {
			case y.Uint() == 0:
				return types.NullValue
			case !b.IsSigned() && y.Uint() > math.MaxInt64:
				return interval(0)
			}
			return interval(x.Int() / y.Int())
		}
	}
	return types.Invalid, nil
}

// interval checks the range of an Interval, which is that of a Timestamp both ways.
func interval(micros int64) types.Value {
	if micros <= -microsEnd || micros >= microsEnd {
		return types.NullValue
	}
	return types.IntValue(types.Interval, micros)
}

func scale(micros int64, by types.Value) types.Value {
	n, negative := by.Uint(), micros < 0
	if by.Kind().IsSigned() && by.Int() < 0 {
		n, negative = -n, !negative
	}
	m := uint64(micros)
	if micros < 0 {
		m = -m
	}
	hi, lo := bits.Mul64(m, n)
	if hi != 0 || lo >= microsEnd {
		return types.NullValue
	}
	if negative {
		return interval(-int64(lo))
	}
	return interval(int64(lo))
}

// shift moves a date by an interval; parts of its unit are dropped.
func shift(k types.Kind, v types.Value, micros int64) types.Value {
	unit, end := int64(1), int64(microsEnd)
	switch k {
	case types.Datetime:
		unit, end = 1_000_000, secondsEnd
	case types.Date:
		unit, end = 86_400_000_000, daysEnd
	}
	n := v.Int() + micros/unit
	if n < 0 || n >= end {
		return types.NullValue
	}
	return types.UintValue(k, uint64(n))
}
