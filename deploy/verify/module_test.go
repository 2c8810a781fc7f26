package verify

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/tryfunc"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/stretchr/testify/require"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

const moduleDir = "../instance-group"

// module is the parsed Terraform module.
type module struct {
	t         *testing.T
	files     map[string][]byte
	blocks    []*hclsyntax.Block
	variables map[string]*hclsyntax.Block
	locals    map[string]hclsyntax.Expression
	resources map[string]*hclsyntax.Block // by type.name
	data      map[string]*hclsyntax.Block // by type.name
}

func loadModule(t *testing.T) *module {
	t.Helper()
	m := &module{
		t: t, files: map[string][]byte{}, variables: map[string]*hclsyntax.Block{},
		locals: map[string]hclsyntax.Expression{}, resources: map[string]*hclsyntax.Block{}, data: map[string]*hclsyntax.Block{},
	}
	files, err := filepath.Glob(moduleDir + "/*.tf")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		m.files[file] = text
		parsed, diagnostics := hclsyntax.ParseConfig(text, filepath.Base(file), hcl.InitialPos)
		require.False(t, diagnostics.HasErrors(), diagnostics.Error())
		for _, block := range parsed.Body.(*hclsyntax.Body).Blocks {
			m.add(block)
		}
	}
	return m
}

func (m *module) add(block *hclsyntax.Block) {
	m.blocks = append(m.blocks, block)
	switch block.Type {
	case "variable":
		m.variables[block.Labels[0]] = block
	case "resource":
		m.resources[strings.Join(block.Labels, ".")] = block
	case "data":
		m.data[strings.Join(block.Labels, ".")] = block
	case "locals":
		for name, attribute := range block.Body.Attributes {
			require.NotContains(m.t, m.locals, name)
			m.locals[name] = attribute.Expr
		}
	}
}

// functions are those of Terraform that the module uses.
func functions() map[string]function.Function {
	return map[string]function.Function{
		"can": tryfunc.CanFunc, "concat": stdlib.ConcatFunc, "indent": stdlib.IndentFunc, "join": stdlib.JoinFunc,
		"jsonencode": stdlib.JSONEncodeFunc, "keys": stdlib.KeysFunc, "length": stdlib.LengthFunc, "max": stdlib.MaxFunc,
		"merge": stdlib.MergeFunc, "one": function.New(&function.Spec{
			Params: []function.Parameter{{Name: "list", Type: cty.DynamicPseudoType}},
			Type:   function.StaticReturnType(cty.DynamicPseudoType),
		}),
		"regex": stdlib.RegexFunc, "replace": stdlib.ReplaceFunc, "tostring": stdlib.MakeToFunc(cty.String),
		"toset": stdlib.MakeToFunc(cty.Set(cty.DynamicPseudoType)), "values": stdlib.ValuesFunc, "templatefile": templateFile(),
	}
}

// templateFile renders a template as Terraform does: by the same parser, with the
// given variables and nothing else.
func templateFile() function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "path", Type: cty.String}, {Name: "vars", Type: cty.DynamicPseudoType}},
		Type:   function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			path := args[0].AsString()
			text, err := os.ReadFile(path)
			if err != nil {
				return cty.NilVal, err
			}
			expression, diagnostics := hclsyntax.ParseTemplate(text, filepath.Base(path), hcl.InitialPos)
			if diagnostics.HasErrors() {
				return cty.NilVal, diagnostics
			}
			vars := args[1].AsValueMap()
			used := map[string]bool{}
			for _, traversal := range expression.Variables() {
				used[traversal.RootName()] = true
			}
			for name := range vars {
				if !used[name] {
					return cty.NilVal, fmt.Errorf("%s does not use %s", path, name)
				}
			}
			functions := functions()
			delete(functions, "templatefile")
			value, diagnostics := expression.Value(&hcl.EvalContext{Variables: vars, Functions: functions})
			if diagnostics.HasErrors() {
				return cty.NilVal, diagnostics
			}
			return value, nil
		},
	})
}

// evaluate computes the variables, from their defaults and the given values, and
// the locals. Attributes of resources are their own names.
func (m *module) evaluate(given map[string]cty.Value) (*hcl.EvalContext, error) {
	ctx := &hcl.EvalContext{Functions: functions(), Variables: map[string]cty.Value{
		"path": cty.ObjectVal(map[string]cty.Value{"module": cty.StringVal(moduleDir)}),
	}}
	vars := map[string]cty.Value{}
	for name, block := range m.variables {
		value, err := m.variable(block, given[name])
		if err != nil {
			return nil, fmt.Errorf("variable %s: %w", name, err)
		}
		vars[name] = value
	}
	ctx.Variables["var"] = cty.ObjectVal(vars)
	for name, block := range m.variables {
		for _, nested := range block.Body.Blocks {
			good, diagnostics := nested.Body.Attributes["condition"].Expr.Value(ctx)
			if diagnostics.HasErrors() {
				return nil, diagnostics
			}
			if good.False() {
				message, _ := nested.Body.Attributes["error_message"].Expr.Value(ctx)
				return nil, fmt.Errorf("variable %s: %s", name, message.AsString())
			}
		}
	}
	m.stubs(ctx)
	return ctx, m.computeLocals(ctx)
}

func (m *module) variable(block *hclsyntax.Block, given cty.Value) (cty.Value, error) {
	kind, defaults, diagnostics := typeexpr.TypeConstraintWithDefaults(block.Body.Attributes["type"].Expr)
	if diagnostics.HasErrors() {
		return cty.NilVal, diagnostics
	}
	if given == cty.NilVal {
		attribute := block.Body.Attributes["default"]
		if attribute == nil {
			return cty.StringVal("given-" + block.Labels[0]), nil
		}
		if given, diagnostics = attribute.Expr.Value(nil); diagnostics.HasErrors() {
			return cty.NilVal, diagnostics
		}
	}
	if defaults != nil && !given.IsNull() {
		given = defaults.Apply(given)
	}
	return convert.Convert(given, kind)
}

// stubs gives every resource its attributes, as texts that name them.
func (m *module) stubs(ctx *hcl.EvalContext) {
	schema := loadSchema(m.t)
	object := func(kind, typ, name string) cty.Value {
		attributes := map[string]cty.Value{}
		for attribute, node := range schema[kind][typ] {
			if node.Block == nil {
				attributes[attribute] = cty.StringVal(strings.Join([]string{typ, name, attribute}, "/"))
			}
		}
		return cty.ObjectVal(attributes)
	}
	group := func(kind string, blocks map[string]*hclsyntax.Block) map[string]cty.Value {
		byType := map[string]map[string]cty.Value{}
		for _, block := range blocks {
			typ, name := block.Labels[0], block.Labels[1]
			if schema[kind][typ] == nil {
				continue
			}
			if byType[typ] == nil {
				byType[typ] = map[string]cty.Value{}
			}
			byType[typ][name] = object(kind, typ, name)
		}
		all := map[string]cty.Value{}
		for typ, names := range byType {
			all[typ] = cty.ObjectVal(names)
		}
		return all
	}
	for typ, names := range group("resource", m.resources) {
		ctx.Variables[typ] = names
	}
	ctx.Variables["data"] = cty.ObjectVal(group("data", m.data))
}

// computeLocals computes the locals in the order in which they need each other.
func (m *module) computeLocals(ctx *hcl.EvalContext) error {
	done := map[string]cty.Value{}
	pending := map[string]hclsyntax.Expression{}
	for name, expression := range m.locals {
		pending[name] = expression
	}
	for len(pending) > 0 {
		progress := false
		for name, expression := range pending {
			if slices.ContainsFunc(expression.Variables(), func(t hcl.Traversal) bool {
				return t.RootName() == "local" && pending[t[1].(hcl.TraverseAttr).Name] != nil
			}) {
				continue
			}
			ctx.Variables["local"] = cty.ObjectVal(done)
			value, diagnostics := expression.Value(ctx)
			if diagnostics.HasErrors() {
				return fmt.Errorf("local %s: %w", name, diagnostics)
			}
			done[name] = value
			delete(pending, name)
			progress = true
		}
		if !progress {
			return fmt.Errorf("locals need each other in a circle: %v", pending)
		}
	}
	ctx.Variables["local"] = cty.ObjectVal(done)
	return nil
}
