package metrics

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write docs/metrics.md")

const reference = "../../docs/metrics.md"

// TestReferenceIsUpToDate: docs/metrics.md lists every metric, from the code.
// `make generate` writes it.
func TestReferenceIsUpToDate(t *testing.T) {
	t.Parallel()
	m := New()
	everything(m)
	text := describe(t, m)
	if *update {
		require.NoError(t, os.WriteFile(reference, []byte(text), 0o644))
	}
	have, err := os.ReadFile(reference)
	require.NoError(t, err)
	require.Equal(t, text, string(have), "run `make generate`")
}

// describe is the list of all metrics of taskfleet as Markdown.
func describe(t *testing.T, m *Metrics) string {
	t.Helper()
	families, err := m.registry.Gather()
	require.NoError(t, err)
	var b strings.Builder
	b.WriteString("# Metrics\n\nGenerated from the code by `make generate`: do not edit.\n\n")
	b.WriteString("The worker and the producer serve them on `--metrics-addr` at `/metrics`, with those of the Go runtime (`go_...`) and of the process (`process_...`). Durations are in seconds. The first 100 kinds of tasks have a label value of their own, the others share `other`.\n")
	part := ""
	for _, family := range families {
		name := family.GetName()
		if !strings.HasPrefix(name, namespace+"_") {
			continue
		}
		if subsystem := strings.Split(name, "_")[1]; subsystem != part {
			part = subsystem
			fmt.Fprintf(&b, "\n## %s\n\n| metric | type | labels | meaning |\n|---|---|---|---|\n", part)
		}
		var labels []string
		for _, pair := range family.Metric[0].Label {
			labels = append(labels, "`"+pair.GetName()+"`")
		}
		slices.Sort(labels)
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", name, strings.ToLower(family.Type.String()), strings.Join(labels, ", "), family.GetHelp())
	}
	return b.String()
}
