package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// wall are the methods of a time that show what the wall clock says. What is
// only compared with other times of the same process is measured by the
// monotonic clock, which nobody can set.
var wall = map[string]bool{
	"Unix": true, "UnixMilli": true, "UnixMicro": true, "UnixNano": true, "Format": true, "AppendFormat": true,
	"Round": true, "Truncate": true, "UTC": true, "Local": true, "In": true,
	"Date": true, "Clock": true, "Hour": true, "Minute": true, "Weekday": true, "YearDay": true,
}

// TestDecisionsDoNotDependOnTheWallClock holds that nothing in the worker, the
// rebalancer and what they stand on reads the wall clock: the clock of a machine
// may be off, and what is due is decided by the database's. The store hands over
// only times that a caller named.
func TestDecisionsDoNotDependOnTheWallClock(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("git", "-C", "../..", "ls-files", "--",
		"cmd/worker/*.go", "pkg/taskworker/*.go", "pkg/rebalancer/*.go", "pkg/taskproducer/*.go",
		"internal/coord/*.go", "internal/taskstore/*.go", "internal/lifecycle/*.go").Output()
	require.NoError(t, err)
	checked := 0
	for _, name := range strings.Fields(string(out)) {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		checked++
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, filepath.Join("../..", name), nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			method, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if _, isPackage := method.X.(*ast.Ident); wall[method.Sel.Name] && !(isPackage && method.X.(*ast.Ident).Name == "time") {
				t.Errorf("%s: %s reads the wall clock", files.Position(call.Pos()), method.Sel.Name)
			}
			for _, arg := range call.Args {
				if inner, ok := arg.(*ast.CallExpr); ok && isNow(inner) && strings.Contains(method.Sel.Name, "Timestamp") {
					t.Errorf("%s: the process's clock goes into the database", files.Position(call.Pos()))
				}
			}
			return true
		})
	}
	require.Greater(t, checked, 40)
}

func isNow(call *ast.CallExpr) bool {
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || f.Sel.Name != "Now" {
		return false
	}
	x, ok := f.X.(*ast.Ident)
	return ok && x.Name == "time"
}
