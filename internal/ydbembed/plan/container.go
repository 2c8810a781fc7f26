package plan

import (
	"github.com/taskfleet/taskfleet/internal/ydbembed/issue"
	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
)

// Containers share their items, so a text of a few lines can make a value or a
// type of astronomic size for whoever walks over it. These bound both.
const (
	maxTypeParts  = 10_000
	maxValueParts = 1_000_000
)

// container makes a List, Struct or Tuple of expressions.
func container(pos positioned, t *types.Type, list []*Expr) (*Expr, error) {
	if typeParts(t, maxTypeParts+1) <= 0 {
		return nil, at(pos, issue.Generic("Type has more than %d parts", maxTypeParts))
	}
	return &Expr{
		Type: t, Const: allConst(list...), Text: "(" + joinTexts(list) + ")",
		Eval: func(f *Frame, row []types.Value) (types.Value, error) {
			if err := f.Budget.Make(types.ItemsMemory(len(list))); err != nil {
				return types.NullValue, err
			}
			items := make([]types.Value, len(list))
			budget := maxValueParts + 1
			for i, x := range list {
				v, err := x.Eval(f, row)
				if err != nil {
					return types.NullValue, err
				}
				items[i] = v
				if budget = valueParts(v, budget); budget <= 0 {
					return types.NullValue, issue.Runtime("Value has more than %d parts", maxValueParts)
				}
			}
			return types.ItemsValue(t.Kind, items), nil
		},
	}, nil
}

// typeParts takes the parts of a type off a budget, until it is used up.
func typeParts(t *types.Type, budget int) int {
	budget--
	if t.Elem != nil && budget > 0 {
		budget = typeParts(t.Elem, budget)
	}
	for _, f := range t.Fields {
		if budget <= 0 {
			break
		}
		budget = typeParts(f.Type, budget)
	}
	return budget
}

func valueParts(v types.Value, budget int) int {
	budget--
	for _, item := range v.Items() {
		if budget <= 0 {
			break
		}
		budget = valueParts(item, budget)
	}
	return budget
}

func asList(pos positioned, args []*Expr) (*Expr, error) {
	if len(args) == 0 {
		return constant(types.Primitive(types.EmptyList), types.ItemsValue(types.List, nil)), nil
	}
	args, t, err := unify(pos, args)
	if err != nil {
		return nil, err
	}
	return container(pos, types.ListOf(t), args)
}

func asTuple(pos positioned, args []*Expr) (*Expr, error) {
	elems := make([]*types.Type, len(args))
	for i, a := range args {
		elems[i] = a.Type
	}
	return container(pos, types.TupleOf(elems...), args)
}
