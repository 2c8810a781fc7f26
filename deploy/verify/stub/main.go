// Command stub is a provider of Terraform that knows nothing but a schema: what
// the provider of Yandex Cloud documents, in the file that STUB_SCHEMA names.
// With it Terraform's own `validate` checks the module where the real provider
// cannot be had. It makes nothing.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/hashicorp/terraform-plugin-sdk/v2/diag"
	"github.com/hashicorp/terraform-plugin-sdk/v2/helper/schema"
	"github.com/hashicorp/terraform-plugin-sdk/v2/plugin"
)

// node is an attribute or a block.
type node struct {
	Type     string
	Required bool
	Computed bool
	Block    map[string]node
}

func main() {
	provider, err := load(os.Getenv("STUB_SCHEMA"))
	if err != nil {
		fmt.Fprintln(os.Stderr, "stub: STUB_SCHEMA:", err)
		os.Exit(1)
	}
	plugin.Serve(&plugin.ServeOpts{ProviderFunc: func() *schema.Provider { return provider }})
}

func load(file string) (*schema.Provider, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var read map[string]map[string]map[string]node
	if err := json.Unmarshal(text, &read); err != nil {
		return nil, err
	}
	p := &schema.Provider{
		Schema: map[string]*schema.Schema{
			"cloud_id":  {Type: schema.TypeString, Optional: true},
			"folder_id": {Type: schema.TypeString, Optional: true},
		},
		ResourcesMap:   map[string]*schema.Resource{},
		DataSourcesMap: map[string]*schema.Resource{},
	}
	nothing := func(context.Context, *schema.ResourceData, any) diag.Diagnostics {
		return diag.Errorf("the stub only validates")
	}
	for name, nodes := range read["resource"] {
		p.ResourcesMap[name] = &schema.Resource{
			Schema: body(nodes), CreateContext: nothing, ReadContext: nothing, UpdateContext: nothing, DeleteContext: nothing,
		}
	}
	for name, nodes := range read["data"] {
		p.DataSourcesMap[name] = &schema.Resource{Schema: body(nodes), ReadContext: nothing}
	}
	return p, nil
}

// body is the schema of a resource or of a block.
func body(nodes map[string]node) map[string]*schema.Schema {
	all := map[string]*schema.Schema{}
	for name, n := range nodes {
		if name != "id" { // every resource has one
			all[name] = attribute(n)
		}
	}
	return all
}

func attribute(n node) *schema.Schema {
	s := &schema.Schema{Required: n.Required, Optional: !n.Required && !n.Computed, Computed: n.Computed}
	text := &schema.Schema{Type: schema.TypeString}
	switch {
	case n.Block != nil:
		s.Type, s.Elem = schema.TypeList, &schema.Resource{Schema: body(n.Block)}
	case n.Type == "bool":
		s.Type = schema.TypeBool
	case n.Type == "number":
		s.Type = schema.TypeFloat
	case n.Type == "list(string)", n.Type == "list(object)":
		s.Type, s.Elem = schema.TypeList, text
	case n.Type == "set(string)":
		s.Type, s.Elem = schema.TypeSet, text
	case n.Type == "map(string)":
		s.Type, s.Elem = schema.TypeMap, text
	default:
		s.Type = schema.TypeString
	}
	return s
}
