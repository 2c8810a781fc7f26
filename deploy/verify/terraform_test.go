package verify

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/stretchr/testify/require"
	"github.com/zclconf/go-cty/cty"
)

// node is an attribute or a block of a resource, as the provider documents it.
type node struct {
	Type     string
	Required bool
	Computed bool // read-only
	Block    map[string]node
}

// loadSchema reads what the provider of Yandex Cloud documents of the resources
// that the module uses, by "resource" or "data" and type. The provider itself
// cannot be built here, so this stands in for its schema.
func loadSchema(t *testing.T) map[string]map[string]map[string]node {
	t.Helper()
	text, err := os.ReadFile("testdata/yandex.json")
	require.NoError(t, err)
	var schema map[string]map[string]map[string]node
	require.NoError(t, json.Unmarshal(text, &schema))
	return schema
}

func TestTerraformIsFormatted(t *testing.T) {
	t.Parallel()
	files := []string{moduleDir + "/terraform.tfvars.example"}
	for file := range loadModule(t).files {
		files = append(files, file)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, string(hclwrite.Format(text)), string(text), "%s: terraform fmt", file)
	}
}

// TestResourcesFollowTheSchema: every attribute and block is one that the provider
// knows and may be set, and none that it needs is missing.
func TestResourcesFollowTheSchema(t *testing.T) {
	t.Parallel()
	m, schema := loadModule(t), loadSchema(t)
	for kind, blocks := range map[string]map[string]*hclsyntax.Block{"resource": m.resources, "data": m.data} {
		require.NotEmpty(t, blocks)
		for address, block := range blocks {
			if block.Labels[0] == "terraform_data" {
				continue // Terraform's own
			}
			nodes := schema[kind][block.Labels[0]]
			require.NotNil(t, nodes, "%s %s is not in testdata/yandex.json", kind, address)
			checkBody(t, address, block.Body, nodes, true)
		}
	}
}

// meta are the arguments that Terraform itself takes, at the top of a resource.
var meta = []string{"for_each", "count", "depends_on", "provider", "lifecycle"}

func checkBody(t *testing.T, where string, body *hclsyntax.Body, nodes map[string]node, top bool) {
	t.Helper()
	seen := map[string]bool{}
	for name, attribute := range body.Attributes {
		if top && slices.Contains(meta, name) {
			continue
		}
		n, known := nodes[name]
		require.True(t, known && n.Block == nil, "%s: %s: no such argument", where, attribute.SrcRange)
		require.False(t, n.Computed, "%s: %s is read-only", where, name)
		checkType(t, where+"."+name, attribute.Expr, n.Type)
		seen[name] = true
	}
	for _, block := range body.Blocks {
		name, inner := block.Type, block.Body
		if name == "dynamic" {
			name = block.Labels[0]
			inner = block.Body.Blocks[0].Body
			require.Equal(t, "content", block.Body.Blocks[0].Type)
		}
		if top && slices.Contains(meta, name) {
			continue
		}
		n, known := nodes[name]
		require.True(t, known && n.Block != nil, "%s: %s: no such block", where, block.DefRange())
		checkBody(t, where+"."+name, inner, n.Block, false)
		seen[name] = true
	}
	for name, n := range nodes {
		require.True(t, seen[name] || !n.Required, "%s: %s is missing", where, name)
	}
}

// checkType compares literals with the documented type; what is computed has its
// type when it is evaluated.
func checkType(t *testing.T, where string, expression hclsyntax.Expression, want string) {
	t.Helper()
	value, diagnostics := expression.Value(nil)
	if diagnostics.HasErrors() || value.IsNull() || !value.IsWhollyKnown() {
		return
	}
	have := value.Type()
	switch want {
	case "string":
		require.Equal(t, cty.String, have, where)
	case "number":
		require.Equal(t, cty.Number, have, where)
	case "bool":
		require.Equal(t, cty.Bool, have, where)
	case "list(string)", "set(string)":
		require.True(t, have.IsTupleType() || have.IsListType(), where)
	case "map(string)":
		require.True(t, have.IsObjectType() || have.IsMapType(), where)
	}
}

// TestReferencesResolve: whatever an expression names is declared, and what is
// declared is used.
func TestReferencesResolve(t *testing.T) {
	t.Parallel()
	m, schema := loadModule(t), loadSchema(t)
	used := map[string]bool{}
	check := func(where string, traversal hcl.Traversal, iterators []string) {
		names := []string{traversal.RootName()}
		for _, step := range traversal[1:] {
			if attribute, ok := step.(hcl.TraverseAttr); ok {
				names = append(names, attribute.Name)
			}
		}
		at := fmt.Sprintf("%s: %s", where, strings.Join(names, "."))
		switch root := names[0]; {
		case slices.Contains(iterators, root), root == "each", root == "count", root == "path":
		case root == "var":
			require.Contains(t, m.variables, names[1], at)
			used["var."+names[1]] = true
		case root == "local":
			require.Contains(t, m.locals, names[1], at)
			used["local."+names[1]] = true
		case root == "data":
			require.Contains(t, m.data, names[1]+"."+names[2], at)
			require.Contains(t, schema["data"][names[1]], names[3], at)
		default:
			require.Contains(t, m.resources, root+"."+names[1], at)
			if len(names) > 2 {
				require.Contains(t, schema["resource"][root], names[2], at)
			}
		}
	}
	for _, block := range m.blocks {
		if block.Type == "terraform" {
			continue
		}
		walk(block.Body, nil, func(name string, expression hclsyntax.Expression, iterators []string) {
			if block.Type == "variable" && name == "type" {
				return // a type is no expression
			}
			for _, traversal := range expression.Variables() {
				check(strings.Join(block.Labels, ".")+" "+name, traversal, iterators)
			}
			checkFunctions(t, expression)
		})
	}
	for name := range m.variables {
		require.True(t, used["var."+name], "variable %s is not used", name)
	}
	for name := range m.locals {
		require.True(t, used["local."+name], "local %s is not used", name)
	}
}

// walk visits every expression of a body, with the iterators of dynamic blocks
// around it.
func walk(body *hclsyntax.Body, iterators []string, visit func(string, hclsyntax.Expression, []string)) {
	for name, attribute := range body.Attributes {
		visit(name, attribute.Expr, iterators)
	}
	for _, block := range body.Blocks {
		inner := iterators
		if block.Type == "dynamic" {
			inner = append(slices.Clone(iterators), block.Labels[0])
		}
		walk(block.Body, inner, visit)
	}
}

func checkFunctions(t *testing.T, expression hclsyntax.Expression) {
	t.Helper()
	known := functions()
	diagnostics := hclsyntax.VisitAll(expression, func(n hclsyntax.Node) hcl.Diagnostics {
		if call, ok := n.(*hclsyntax.FunctionCallExpr); ok {
			require.Contains(t, known, call.Name, "%s", call.NameRange)
		}
		return nil
	})
	require.False(t, diagnostics.HasErrors())
}

func TestVariablesAndOutputsAreDescribed(t *testing.T) {
	t.Parallel()
	m := loadModule(t)
	for _, block := range m.blocks {
		if block.Type == "variable" || block.Type == "output" {
			require.Contains(t, block.Body.Attributes, "description", block.Labels[0])
		}
		if block.Type == "variable" {
			require.Contains(t, block.Body.Attributes, "type", block.Labels[0])
		}
	}
}

// example reads the values of terraform.tfvars.example.
func example(t *testing.T) map[string]cty.Value {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(moduleDir, "terraform.tfvars.example"))
	require.NoError(t, err)
	file, diagnostics := hclsyntax.ParseConfig(text, "terraform.tfvars.example", hcl.InitialPos)
	require.False(t, diagnostics.HasErrors(), diagnostics.Error())
	values := map[string]cty.Value{}
	for name, attribute := range file.Body.(*hclsyntax.Body).Attributes {
		value, diagnostics := attribute.Expr.Value(nil)
		require.False(t, diagnostics.HasErrors(), diagnostics.Error())
		values[name] = value
	}
	return values
}

func TestTheExampleIsGoodAndWrongValuesAreRefused(t *testing.T) {
	t.Parallel()
	m := loadModule(t)
	for name := range example(t) {
		require.Contains(t, m.variables, name)
	}
	_, err := m.evaluate(example(t))
	require.NoError(t, err)
	for name, values := range map[string][]cty.Value{
		"name":          {cty.StringVal("x"), cty.StringVal("Fleet"), cty.StringVal("fleet-")},
		"drain_timeout": {cty.NumberIntVal(-1), cty.NumberIntVal(61)},
		"producers":     {cty.ObjectVal(map[string]cty.Value{"size": cty.NumberIntVal(1)})},
	} {
		for _, value := range values {
			_, err := m.evaluate(map[string]cty.Value{name: value})
			require.ErrorContains(t, err, "variable "+name, "%#v", value)
		}
	}
}
