package plan

import (
	"strings"
	"unicode/utf8"

	"github.com/taskfleet/taskfleet/internal/ydbembed/issue"
	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
)

// functions holds the built-in functions by lower-case name.
var functions = map[string]function{
	"coalesce":   {1, -1, coalesce},
	"nvl":        {2, 2, coalesce},
	"if":         {2, 3, ifOf},
	"unwrap":     {1, 2, unwrap},
	"just":       {1, 1, just},
	"ensure":     {2, 3, ensure},
	"length":     {1, 1, length},
	"len":        {1, 1, length},
	"substring":  {2, 3, substring},
	"startswith": {2, 2, textTest("StartsWith", strings.HasPrefix)},
	"endswith":   {2, 2, textTest("EndsWith", strings.HasSuffix)},
	"max_of":     {1, -1, extreme(1)},
	"min_of":     {1, -1, extreme(-1)},
	"greatest":   {1, -1, extreme(1)},
	"least":      {1, -1, extreme(-1)},
	"abs":        {1, 1, abs},
	"listlength": {1, 1, listLength},
	"listhas":    {2, 2, listHas},
	"aslist":     {0, -1, asList},
	"astuple":    {1, -1, asTuple},
	"tobytes":    {1, 1, toBytes},
}

func ifOf(pos positioned, args []*Expr) (*Expr, error) {
	if err := wantBool(pos, args[0]); err != nil {
		return nil, err
	}
	if len(args) == 2 {
		args = append(args, constant(types.Primitive(types.Null), types.NullValue))
	}
	return choose(pos, args[:1], args[1:])
}

func unwrap(pos positioned, args []*Expr) (*Expr, error) {
	x := args[0]
	if x.Type.Kind != types.Optional {
		return nil, at(pos, issue.Type("Expected optional type, but got: %s", x.Type))
	}
	return &Expr{
		Type: x.Type.Elem, Const: allConst(args...), Text: "Unwrap(" + x.Text + ")",
		Eval: func(f *Frame, row []types.Value) (types.Value, error) {
			v, err := x.Eval(f, row)
			if err != nil || !v.IsNull() {
				return v, err
			}
			return v, failure(f, row, args[1:], "Failed to unwrap empty optional")
		},
	}, nil
}

// failure is the error of Unwrap and Ensure, with the message given as an argument.
func failure(f *Frame, row []types.Value, message []*Expr, text string) error {
	if len(message) > 0 {
		v, err := message[0].Eval(f, row)
		if err != nil {
			return err
		}
		if v.Kind().IsText() {
			text = v.Text()
		}
	}
	return issue.Runtime("%s", text)
}

func just(_ positioned, args []*Expr) (*Expr, error) {
	out := *args[0]
	out.Type, out.Literal = types.OptionalOf(out.Type), nil
	return &out, nil
}

func ensure(pos positioned, args []*Expr) (*Expr, error) {
	if err := wantBool(pos, args[1]); err != nil {
		return nil, err
	}
	return &Expr{
		Type: args[0].Type, Const: allConst(args...), Text: "Ensure(" + args[0].Text + ")",
		Eval: func(f *Frame, row []types.Value) (types.Value, error) {
			ok, err := args[1].True(f, row)
			if err != nil {
				return types.NullValue, err
			}
			if !ok {
				return types.NullValue, failure(f, row, args[2:], "Condition violated")
			}
			return args[0].Eval(f, row)
		},
	}, nil
}

// length counts the bytes of a String and the characters of a Utf8.
func length(pos positioned, args []*Expr) (*Expr, error) {
	k := args[0].Type.Unwrap().Kind
	if !isPlainText(k) && k != types.Yson && k != types.Null {
		return nil, at(pos, issue.Type("Expected String or Utf8, but got: %s", args[0].Type))
	}
	return strict(kindLike(args[0], types.Uint32), "Length("+args[0].Text+")", func(_ *Frame, v []types.Value) (types.Value, error) {
		n := len(v[0].Text())
		if k == types.Utf8 {
			n = utf8.RuneCountInString(v[0].Text())
		}
		return types.UintValue(types.Uint32, uint64(n)), nil
	}, args[0]), nil
}

// kindLike is kind k, Optional when the expression is.
func kindLike(x *Expr, k types.Kind) *types.Type {
	if x.Type.IsOptional() {
		return types.OptionalOf(types.Primitive(k))
	}
	return types.Primitive(k)
}

// substring cuts bytes: from a position, optionally so many; NULL counts for "to the end".
func substring(pos positioned, args []*Expr) (*Expr, error) {
	if k := args[0].Type.Unwrap().Kind; !isPlainText(k) {
		return nil, at(pos, issue.Type("Expected String or Utf8, but got: %s", args[0].Type))
	}
	for _, a := range args[1:] {
		if k := a.Type.Unwrap().Kind; !k.IsInteger() && k != types.Null {
			return nil, at(pos, issue.Type("Expected Uint32, but got: %s", a.Type))
		}
	}
	t := args[0].Type
	k := t.Unwrap().Kind
	return &Expr{
		Type: t, Const: allConst(args...), Text: "SubString(" + args[0].Text + ")",
		Eval: func(f *Frame, row []types.Value) (types.Value, error) {
			v, err := args[0].Eval(f, row)
			if err != nil || v.IsNull() {
				return types.NullValue, err
			}
			text := v.Text()
			bounds := [2]uint64{0, uint64(len(text))}
			for i, a := range args[1:] {
				n, err := a.Eval(f, row)
				if err != nil {
					return types.NullValue, err
				}
				if !n.IsNull() {
					bounds[i] = min(n.Uint(), uint64(len(text)))
				}
			}
			from := bounds[0]
			to := from + min(bounds[1], uint64(len(text))-from)
			if k == types.Utf8 { // a cut inside a character goes to its start
				from, to = runeStart(text, from), runeStart(text, to)
			}
			cut := text[from:to]
			if len(cut) > len(text)/2 {
				return types.TextValue(k, cut), nil
			}
			// A short cut must not keep the whole text in memory.
			return types.TextValue(k, strings.Clone(cut)), f.Budget.Make(len(cut))
		},
	}, nil
}

func runeStart(s string, i uint64) uint64 {
	for i > 0 && i < uint64(len(s)) && !utf8.RuneStart(s[i]) {
		i--
	}
	return i
}

func textTest(name string, test func(s, part string) bool) func(positioned, []*Expr) (*Expr, error) {
	return func(pos positioned, args []*Expr) (*Expr, error) {
		for _, a := range args {
			if k := a.Type.Unwrap().Kind; !isPlainText(k) {
				return nil, at(pos, issue.Type("Expected String or Utf8, but got: %s", a.Type))
			}
		}
		return strict(boolResult(args...), name+"("+joinTexts(args)+")", func(_ *Frame, v []types.Value) (types.Value, error) {
			return types.BoolValue(test(v[0].Text(), v[1].Text())), nil
		}, args...), nil
	}
}

// extreme is MAX_OF (sign 1) and MIN_OF (sign -1); NULL when an argument is.
func extreme(sign int) func(positioned, []*Expr) (*Expr, error) {
	return func(pos positioned, args []*Expr) (*Expr, error) {
		args, t, err := unify(pos, args)
		if err != nil {
			return nil, err
		}
		if !comparable(t, t) {
			return nil, at(pos, issue.Type("Can't compare %s and %s", t, t))
		}
		return strict(t, "MAX_OF("+joinTexts(args)+")", func(_ *Frame, v []types.Value) (types.Value, error) {
			best := v[0]
			for _, x := range v[1:] {
				if c, _, _ := order(x, best); c*sign > 0 {
					best = x
				}
			}
			return best, nil
		}, args...), nil
	}
}

func abs(pos positioned, args []*Expr) (*Expr, error) {
	if k := args[0].Type.Unwrap().Kind; !k.IsNumeric() && k != types.Interval {
		return nil, at(pos, issue.Type("Expected numeric type, but got: %s", args[0].Type))
	}
	return strict(args[0].Type, "Abs("+args[0].Text+")", func(_ *Frame, v []types.Value) (types.Value, error) {
		switch k := v[0].Kind(); {
		case !k.IsInteger() && k != types.Interval && v[0].Float() < 0, (k.IsSigned() || k == types.Interval) && v[0].Int() < 0:
			return negate(v[0]), nil
		}
		return v[0], nil
	}, args[0]), nil
}

func listLength(pos positioned, args []*Expr) (*Expr, error) {
	if k := args[0].Type.Unwrap().Kind; k != types.List && k != types.EmptyList {
		return nil, at(pos, issue.Type("Expected list, but got: %s", args[0].Type))
	}
	return strict(kindLike(args[0], types.Uint64), "ListLength("+args[0].Text+")", func(_ *Frame, v []types.Value) (types.Value, error) {
		return types.UintValue(types.Uint64, uint64(len(v[0].Items()))), nil
	}, args[0]), nil
}

func listHas(pos positioned, args []*Expr) (*Expr, error) {
	t := args[0].Type.Unwrap()
	if t.Kind != types.List || !comparable(t.Elem, args[1].Type) {
		return nil, at(pos, issue.Type("Can't look for %s in %s", args[1].Type, args[0].Type))
	}
	return strict(boolResult(args...), "ListHas("+joinTexts(args)+")", func(f *Frame, v []types.Value) (types.Value, error) {
		for _, item := range v[0].Items() {
			if err := f.Alive(); err != nil {
				return types.NullValue, err
			}
			if HashKey(item) == HashKey(v[1]) {
				return trueValue, nil
			}
		}
		return falseValue, nil
	}, args...), nil
}

func toBytes(pos positioned, args []*Expr) (*Expr, error) {
	if k := args[0].Type.Unwrap().Kind; !k.IsText() || k == types.UUID {
		return nil, at(pos, issue.Type("Cannot convert %s to bytes", args[0].Type))
	}
	return strict(kindLike(args[0], types.String), "ToBytes("+args[0].Text+")", func(_ *Frame, v []types.Value) (types.Value, error) {
		return types.TextValue(types.String, v[0].Text()), nil
	}, args[0]), nil
}
