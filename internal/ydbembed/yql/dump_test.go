package yql

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
)

// dump writes an expression with every grouping in brackets.
func dump(e Expr) string {
	switch e := e.(type) {
	case nil:
		return "-"
	case *Literal:
		mark := ""
		if e.Untyped {
			mark = "'"
		}
		return fmt.Sprintf("%s%s:%s", e.Value, mark, e.Type)
	case *Param:
		return "$" + e.Name
	case *Column:
		if e.Table != "" {
			return e.Table + "." + e.Name
		}
		return e.Name
	case *Unary:
		return "[" + e.Op + " " + dump(e.X) + "]"
	case *Binary:
		return "[" + dump(e.X) + " " + e.Op + " " + dump(e.Y) + "]"
	case *IsNull:
		return fmt.Sprintf("[%s isnull not=%t]", dump(e.X), e.Not)
	case *Between:
		return fmt.Sprintf("[%s between %s %s not=%t]", dump(e.X), dump(e.Lo), dump(e.Hi), e.Not)
	case *In:
		return fmt.Sprintf("[%s in %s not=%t]", dump(e.X), dump(e.Set), e.Not)
	case *Case:
		var b strings.Builder
		for _, w := range e.Whens {
			b.WriteString(" " + dump(w.Cond) + "=>" + dump(w.Then))
		}
		return "case(" + dump(e.X) + b.String() + " else " + dump(e.Else) + ")"
	case *Call:
		mark := ""
		if e.Star {
			mark = "*"
		}
		if e.Distinct {
			mark = "distinct "
		}
		return e.Name + "(" + mark + dumpAll(e.Args) + ")"
	case *Cast:
		return "cast(" + dump(e.X) + " as " + e.Type.String() + ")"
	case *TypeArg:
		return "type " + e.Type.String()
	case *TupleExpr:
		return "tuple(" + dumpAll(e.Items) + ")"
	case *ListExpr:
		return "list(" + dumpAll(e.Items) + ")"
	case *StructExpr:
		parts := make([]string, len(e.Items))
		for i, x := range e.Items {
			parts[i] = e.Names[i] + ":" + dump(x)
		}
		return "struct(" + strings.Join(parts, ",") + ")"
	case *Member:
		return dump(e.X) + "->" + e.Name
	case *SubSelect:
		return fmt.Sprintf("select(%d arms)", len(e.Select.Arms))
	}
	return fmt.Sprintf("?%T", e)
}

func dumpAll(list []Expr) string {
	parts := make([]string, len(list))
	for i, e := range list {
		parts[i] = dump(e)
	}
	return strings.Join(parts, ",")
}

// nodes counts the nodes of a tree and checks that each has a position and
// that literals hold values of their kinds.
func nodes(v reflect.Value) (count int) {
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			return 0
		}
		if _, ok := v.Interface().(*types.Type); ok {
			return 0
		}
		return nodes(v.Elem())
	case reflect.Slice:
		for i := range v.Len() {
			count += nodes(v.Index(i))
		}
	case reflect.Struct:
		if _, ok := v.Interface().(types.Value); ok {
			return 0
		}
		if n, ok := v.Interface().(Node); ok {
			if n.Pos.Line < 1 || n.Pos.Col < 1 {
				panic(fmt.Sprintf("node without a position: %v", n))
			}
			return 1
		}
		for i := range v.NumField() {
			count += nodes(v.Field(i))
		}
	}
	return count
}
