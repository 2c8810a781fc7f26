// Package arch holds the direction of imports: cmd, then pkg, then internal,
// and inside ydbembed from the wire down to the types.
package arch

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/taskfleet/taskfleet/"

// pkg is what `go list` says of one package: its dependencies without those of
// its tests, direct and indirect.
type pkg struct {
	ImportPath string
	Imports    []string
	Deps       []string
	Standard   bool
}

func list(t *testing.T, patterns ...string) map[string]pkg {
	t.Helper()
	out, err := exec.Command("go", append([]string{"list", "-deps", "-json=ImportPath,Imports,Deps,Standard"}, patterns...)...).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		t.Fatalf("go list: %s", exit.Stderr)
	}
	require.NoError(t, err)
	packages := map[string]pkg{}
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		}
		require.NoError(t, err)
		packages[p.ImportPath] = p
	}
}

// forTests are the folders of what only tests and tools of tests use; they stand
// above everything that they test.
var forTests = []string{"internal/testdb", "internal/lab"}

// within tells whether an import path is one of the listed folders of the
// module, or below one.
func within(path string, folders ...string) bool {
	for _, folder := range folders {
		if path == module+folder || strings.HasPrefix(path, module+folder+"/") {
			return true
		}
	}
	return false
}

func TestImportsPointOneWay(t *testing.T) {
	t.Parallel()
	packages := list(t, module+"...")
	sdk := func(path string) bool { return strings.HasPrefix(path, "github.com/ydb-platform/ydb-go-sdk/") }
	rules := []struct {
		name   string
		folder string                 // the packages that the rule is for
		never  func(path string) bool // what none of them may depend on, even indirectly
	}{
		{"libraries do not know the programs", "pkg", func(p string) bool { return within(p, "cmd") }},
		{"internal packages know of pkg the vocabulary only", "internal", func(p string) bool {
			return within(p, "cmd") || within(p, "pkg") && !within(p, "pkg/task")
		}},
		{"nothing that runs needs what tests need", "pkg", func(p string) bool { return within(p, forTests...) }},
		{"the vocabulary needs the standard library and murmur3", "pkg/task", func(p string) bool {
			return !packages[p].Standard && p != "github.com/spaolacci/murmur3"
		}},
		{"the producer stands alone", "pkg/taskproducer", func(p string) bool {
			return within(p, "pkg/taskworker", "pkg/rebalancer", "pkg/metrics")
		}},
		{"the HTTP front stands on the producer", "pkg/taskingest", func(p string) bool {
			return within(p, "pkg/taskworker", "pkg/rebalancer", "pkg/metrics")
		}},
		{"the worker stands alone", "pkg/taskworker", func(p string) bool {
			return within(p, "pkg/taskproducer", "pkg/rebalancer", "pkg/metrics")
		}},
		{"the rebalancer stands alone", "pkg/rebalancer", func(p string) bool {
			return within(p, "pkg/taskproducer", "pkg/taskworker", "pkg/metrics")
		}},
		{"the server knows neither tasks nor the SDK", "pkg/ydbembed", func(p string) bool {
			return within(p, "pkg") && !within(p, "pkg/ydbembed") || within(p, "internal/taskstore", "internal/coord", "internal/ydbconn") || sdk(p)
		}},
		{"the server's layers: no SDK", "internal/ydbembed", sdk},
		{"types are at the bottom", "internal/ydbembed/types", func(p string) bool {
			return within(p, "internal") && !within(p, "internal/ydbembed/types")
		}},
		{"yql needs types, limits and the form of an error", "internal/ydbembed/yql", func(p string) bool {
			return within(p, "internal") && !within(p, "internal/ydbembed/yql", "internal/ydbembed/types", "internal/ydbembed/limits", "internal/ydbembed/issue")
		}},
		{"store needs types", "internal/ydbembed/store", func(p string) bool {
			return within(p, "internal") && !within(p, "internal/ydbembed/store", "internal/ydbembed/types")
		}},
		{"plan comes before exec", "internal/ydbembed/plan", func(p string) bool {
			return within(p, "internal/ydbembed/exec", "internal/ydbembed/session", "internal/ydbembed/wire", "internal/ydbembed/coordsvc")
		}},
		{"exec comes before session", "internal/ydbembed/exec", func(p string) bool {
			return within(p, "internal/ydbembed/session", "internal/ydbembed/wire", "internal/ydbembed/coordsvc")
		}},
		{"session comes before wire", "internal/ydbembed/session", func(p string) bool {
			return within(p, "internal/ydbembed/wire", "internal/ydbembed/coordsvc")
		}},
		{"coordination stands beside the query layers", "internal/ydbembed/coordsvc", func(p string) bool {
			return within(p, "internal/ydbembed/yql", "internal/ydbembed/plan", "internal/ydbembed/exec", "internal/ydbembed/session", "internal/ydbembed/wire")
		}},
	}
	for _, rule := range rules {
		t.Run(rule.name, func(t *testing.T) {
			t.Parallel()
			checked := 0
			for path, p := range packages {
				if !within(path, rule.folder) || within(path, forTests...) {
					continue
				}
				checked++
				for _, dep := range p.Deps {
					if rule.never(dep) {
						t.Errorf("%s depends on %s", path, dep)
					}
				}
			}
			require.NotZero(t, checked, "no package in %s", rule.folder)
		})
	}
}

// TestTableNamesStandInOnePlace holds that only the store of tasks and the
// migrations use a table's name, in a statement or as a string. A help text may
// mention one.
func TestTableNamesStandInOnePlace(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("git", "-C", "../..", "grep", "-lE",
		"((FROM|INTO|JOIN|UPDATE|TABLE) +`?|\")(coordinated_tasks|delayed_tasks|completed_tasks|dead_tasks|enqueue_batches|fleet_settings|task_ids)",
		"--", "*.go", ":!*_test.go").Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() != 1 {
		t.Fatalf("git grep: %s", exit.Stderr)
	}
	for _, file := range strings.Fields(string(out)) {
		switch {
		case strings.HasPrefix(file, "internal/taskstore/"), strings.HasPrefix(file, "pkg/migrate/"), strings.HasPrefix(file, "pkg/task/"):
		default:
			t.Errorf("%s names a table: that is for internal/taskstore", file)
		}
	}
}

// TestOneClientForEverythingOutgoing holds that nothing else than the client that
// checks where a request leads is made in what runs tasks.
func TestOneClientForEverythingOutgoing(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("git", "-C", "../..", "grep", "-lE",
		`http\.(Client|Transport)\{|http\.(Get|Post|PostForm|Head|DefaultClient|DefaultTransport)\b`,
		"--", "pkg/*.go", "internal/*.go", "cmd/worker/*.go", ":!*_test.go").Output()
	require.NoError(t, err)
	require.Equal(t, []string{"internal/outbound/client.go"}, strings.Fields(string(out)))
}
