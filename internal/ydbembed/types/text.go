package types

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Parse reads a value of kind k from text, as CAST from String and the typed
// literals do: Uint8("1"), Timestamp("2024-01-01T00:00:00Z"), Interval("PT5M").
// The text must be the whole value, without blanks around it.
func Parse(k Kind, text string) (Value, error) {
	switch k {
	case Bool:
		switch strings.ToLower(text) {
		case "true":
			return BoolValue(true), nil
		case "false":
			return BoolValue(false), nil
		}
		return NullValue, notA(k, text)
	case Int8, Int16, Int32, Int64:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return NullValue, notA(k, text)
		}
		return checkedInt(k, n)
	case Uint8, Uint16, Uint32, Uint64:
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return NullValue, notA(k, text)
		}
		return checkedUint(k, n)
	case Float, Double:
		return parseFloat(k, text)
	case Date:
		return parseTime(k, text, "2006-01-02", 86400*1_000_000)
	case Datetime:
		return parseTime(k, text, "2006-01-02T15:04:05Z", 1_000_000)
	case Timestamp:
		return parseTime(k, text, "2006-01-02T15:04:05.999999Z", 1)
	case Interval:
		return parseInterval(text)
	case String, Yson:
		return TextValue(k, text), nil
	case Utf8, JSON, JSONDocument:
		return checkedText(k, text)
	case UUID:
		return parseUUID(text)
	}
	return NullValue, fmt.Errorf("types: no text form of %s", k)
}

func notA(k Kind, text string) error {
	const shown = 64
	if len(text) > shown {
		text = text[:shown] + "..."
	}
	return fmt.Errorf("types: %q is no %s", text, k)
}

func parseFloat(k Kind, text string) (Value, error) {
	if strings.ContainsAny(text, "_xX") {
		return NullValue, notA(k, text)
	}
	bits := 64
	if k == Float {
		bits = 32
	}
	f, err := strconv.ParseFloat(text, bits)
	if err != nil {
		return NullValue, notA(k, text)
	}
	return FloatValue(k, f), nil
}

// parseTime reads a UTC time; unit is how many microseconds the kind counts in.
func parseTime(k Kind, text, layout string, unit int64) (Value, error) {
	t, err := time.Parse(layout, text)
	if err != nil || !timeShape(k, text) {
		return NullValue, notA(k, text)
	}
	micros := t.UnixMicro()
	if micros < 0 {
		return NullValue, fmt.Errorf("types: %q is before 1970", text)
	}
	return checkedUint(k, uint64(micros/unit))
}

// timeShape refuses what time.Parse lets pass: single digits, a comma or any
// number of decimals after the seconds.
func timeShape(k Kind, text string) bool {
	const datetime = len("2006-01-02T15:04:05Z")
	switch {
	case k == Date:
		return len(text) == len("2006-01-02")
	case len(text) == datetime:
		return text[datetime-1] == 'Z'
	}
	return k == Timestamp && len(text) > datetime && len(text) <= datetime+len(".999999") && text[datetime-1] == '.'
}

// String returns the value's text as CAST to String gives it. NULL and
// containers, which CAST refuses, have a readable form for messages.
func (v Value) String() string {
	switch k := v.Kind(); k {
	case Null:
		return "NULL"
	case Bool:
		return strconv.FormatBool(v.Bool())
	case Int8, Int16, Int32, Int64:
		return strconv.FormatInt(v.Int(), 10)
	case Uint8, Uint16, Uint32, Uint64:
		return strconv.FormatUint(v.Uint(), 10)
	case Float, Double:
		return formatFloat(k, v.Float())
	case Date:
		return v.Time().Format("2006-01-02")
	case Datetime:
		return v.Time().Format("2006-01-02T15:04:05Z")
	case Timestamp:
		return v.Time().Format("2006-01-02T15:04:05.999999Z")
	case Interval:
		return formatInterval(v.Int())
	case UUID:
		return uuidText(v.text)
	case List, Struct, Tuple:
		parts := make([]string, len(v.items))
		for i, item := range v.items {
			parts[i] = item.String()
		}
		return "(" + strings.Join(parts, ",") + ")"
	}
	return v.text
}

func formatFloat(k Kind, f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	case k == Float:
		return strconv.FormatFloat(f, 'g', -1, 32)
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}
