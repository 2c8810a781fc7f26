package plan

import (
	"github.com/taskfleet/taskfleet/internal/ydbembed/issue"
	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
)

// modules holds the functions of modules by their exact name.
var modules = map[string]function{
	"DateTime::ToSeconds":                {1, 1, fromTime(1_000_000)},
	"DateTime::ToMilliseconds":           {1, 1, fromTime(1000)},
	"DateTime::ToMicroseconds":           {1, 1, fromTime(1)},
	"DateTime::FromSeconds":              {1, 1, toTimestamp(types.Uint32, 1_000_000)},
	"DateTime::FromMilliseconds":         {1, 1, toTimestamp(types.Uint64, 1000)},
	"DateTime::FromMicroseconds":         {1, 1, toTimestamp(types.Uint64, 1)},
	"DateTime::IntervalFromMicroseconds": {1, 1, toInterval(types.Int64, 1)},
	"DateTime::IntervalFromMilliseconds": {1, 1, toInterval(types.Int64, 1000)},
	"DateTime::IntervalFromSeconds":      {1, 1, toInterval(types.Int32, 1_000_000)},
	"DateTime::IntervalFromMinutes":      {1, 1, toInterval(types.Int32, 60_000_000)},
	"DateTime::IntervalFromHours":        {1, 1, toInterval(types.Int32, 3_600_000_000)},
	"DateTime::IntervalFromDays":         {1, 1, toInterval(types.Int16, 86_400_000_000)},
	"DateTime::MakeTimestamp":            {1, 1, toDate(types.Timestamp)},
	"DateTime::MakeDatetime":             {1, 1, toDate(types.Datetime)},
	"DateTime::MakeDate":                 {1, 1, toDate(types.Date)},
}

// fromTime gives a date or an interval as a number of units: seconds as Uint32
// of dates, the finer units as Uint64, intervals always as Int64.
func fromTime(unit int64) func(positioned, []*Expr) (*Expr, error) {
	return func(pos positioned, args []*Expr) (*Expr, error) {
		x := args[0]
		k := types.Uint64
		switch from := x.Type.Unwrap().Kind; {
		case from == types.Interval:
			k = types.Int64
		case !isDate(from):
			return nil, at(pos, issue.Type("Expected date or interval, but got: %s", x.Type))
		case unit == 1_000_000:
			k = types.Uint32
		}
		return strict(kindLike(x, k), x.Text, func(_ *Frame, v []types.Value) (types.Value, error) {
			if k == types.Int64 {
				return types.IntValue(k, v[0].Int()/unit), nil
			}
			return types.UintValue(k, uint64(v[0].Time().UnixMicro()/unit)), nil
		}, x), nil
	}
}

// toTimestamp makes a Timestamp of a number of units; a moment that does not
// fit ends the query. The argument must be of kind arg, or narrower.
func toTimestamp(arg types.Kind, unit int64) func(positioned, []*Expr) (*Expr, error) {
	return fromNumber(arg, types.Timestamp, unit)
}

// toInterval makes an Interval of a number of units.
func toInterval(arg types.Kind, unit int64) func(positioned, []*Expr) (*Expr, error) {
	return fromNumber(arg, types.Interval, unit)
}

func fromNumber(arg, k types.Kind, unit int64) func(positioned, []*Expr) (*Expr, error) {
	return func(pos positioned, args []*Expr) (*Expr, error) {
		want := types.Primitive(arg)
		if args[0].Type.IsOptional() {
			want = types.OptionalOf(want)
		}
		x := coerce(args[0], want)
		if x == nil {
			return nil, at(pos, issue.Type("Mismatch type argument, type diff: %s!=%s", args[0].Type, want))
		}
		return strict(kindLike(x, k), x.Text, func(_ *Frame, v []types.Value) (types.Value, error) {
			micros := scale(unit, v[0])
			switch {
			case micros.IsNull():
				return micros, issue.Runtime("Value is out of range for %s: %s", k, v[0])
			case k == types.Timestamp:
				return types.UintValue(k, micros.Uint()), nil
			}
			return micros, nil
		}, x), nil
	}
}

func toDate(k types.Kind) func(positioned, []*Expr) (*Expr, error) {
	return func(pos positioned, args []*Expr) (*Expr, error) {
		x := args[0]
		if !isDate(x.Type.Unwrap().Kind) {
			return nil, at(pos, issue.Type("Expected date, but got: %s", x.Type))
		}
		return strict(kindLike(x, k), x.Text, func(_ *Frame, v []types.Value) (types.Value, error) {
			return dateAs(k, v[0]), nil
		}, x), nil
	}
}
