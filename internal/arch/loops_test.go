package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// loop says what a loop that waits does when the database answers with an error.
type loop struct {
	rule string
	test string // folder and name of the test that drives it with errors; "" of noDatabase
}

// What loops do, by the classes of internal/ydbconn.
const (
	// classified: retry, conflict and unknown are repeated with pauses, until the
	// context ends; the others end the call.
	classified = "repeats what may go through later"
	// halved: refused (bad_rows, precondition) is halved until one row is alone,
	// which is dead then; the others are repeated with pauses.
	halved = "halves what is refused, repeats the others"
	// forever: every class is repeated with pauses, for as long as the process wants
	// the answer. A statement that is refused is one that carries no task.
	forever = "repeats every class"
	// noDatabase: it waits for something else.
	noDatabase = "asks nothing of the database"
)

const (
	workerLoops     = "pkg/taskworker TestEveryLoopRepeatsWithAPause"
	workerRefused   = "pkg/taskworker TestAStatementThatIsRefusedDoesNotWedge"
	rebalancerLoops = "pkg/rebalancer TestEachLoopByTheClassOfTheError"
	producerLoops   = "pkg/taskproducer TestEachLoopByTheClassOfTheError"
)

// loops are all loops of the product that wait, by file and function. Beside them,
// internal/taskstore and pkg/migrate let the SDK repeat a statement, by its
// classes, which agree with ours but for what is refused: that is sent once
// (internal/taskstore TestARefusedStatementIsSentOnce). taskctl and the intake have
// no loop of their own: they ask through the store and the producer.
var loops = map[string]loop{
	"pkg/taskproducer/producer.go retry": {classified, producerLoops},

	"pkg/taskworker/claim.go claim":          {halved, workerRefused},
	"pkg/taskworker/finish.go record":        {halved, workerRefused},
	"pkg/taskworker/claim.go claimLoop":      {forever, workerLoops}, // of reads
	"pkg/taskworker/promote.go promoteLoop":  {forever, workerLoops}, // the store halves: TestARefusedTaskIsBuriedAndTheOthersMove
	"pkg/taskworker/backlog.go countLoop":    {forever, workerLoops},
	"pkg/taskworker/finish.go finishLoop":    {noDatabase, ""},
	"pkg/taskworker/quarantine.go waitAlone": {noDatabase, ""},

	"pkg/rebalancer/rebalancer.go run": {forever, rebalancerLoops},
	"pkg/rebalancer/term.go register":  {forever, rebalancerLoops},
	"pkg/rebalancer/term.go follow":    {forever, rebalancerLoops},
	"pkg/rebalancer/slot.go tend":      {forever, rebalancerLoops},
	"pkg/rebalancer/slot.go raise":     {forever, rebalancerLoops},
	"pkg/rebalancer/slot.go revoke":    {noDatabase, ""},
	"pkg/rebalancer/term.go leave":     {noDatabase, ""}, // its requests are sent once
	"pkg/rebalancer/fence.go run":      {noDatabase, ""}, // slot.go raise repeats
	"pkg/rebalancer/fence.go collect":  {noDatabase, ""},

	"pkg/taskproducer/load.go loop":     {noDatabase, ""}, // ends with the first batch that cannot be stored
	"pkg/taskingest/serve.go wait":      {noDatabase, ""},
	"cmd/producer/input.go read":        {noDatabase, ""},
	"cmd/producer/input.go collect":     {noDatabase, ""},
	"cmd/producer/progress.go report":   {noDatabase, ""},
	"internal/cli/cli.go signalContext": {noDatabase, ""},
}

// TestEachLoopThatWaitsIsListed: a loop that repeats something decides by the
// class of an error whether to, and a test drives it with each class.
func TestEachLoopThatWaitsIsListed(t *testing.T) {
	t.Parallel()
	var found []string
	for _, root := range []string{"pkg", "cmd", "internal"} {
		require.NoError(t, filepath.WalkDir(filepath.Join("../..", root), func(path string, entry fs.DirEntry, err error) error {
			name := filepath.ToSlash(strings.TrimPrefix(path, "../../"))
			switch {
			case err != nil:
				return err
			case entry.IsDir() && isHarness(name):
				return filepath.SkipDir
			case !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
				return nil
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			for _, declared := range file.Decls {
				if f, ok := declared.(*ast.FuncDecl); ok && waitsInALoop(f) {
					found = append(found, name+" "+f.Name.Name)
				}
			}
			return nil
		}))
	}
	for _, name := range found {
		require.Contains(t, loops, name, "say here what it does on each class of errors, and which test holds that")
	}
	for name, l := range loops {
		require.Contains(t, found, name, "there is no such loop any more")
		require.Equal(t, l.rule == noDatabase, l.test == "", name)
		if l.test != "" {
			folder, test, _ := strings.Cut(l.test, " ")
			require.True(t, hasTest(t, folder, test), "%s: there is no test %s", name, l.test)
		}
	}
}

// isHarness reports whether a folder holds a server, or what tests and demos use.
func isHarness(folder string) bool {
	return slices.Contains([]string{
		"pkg/ydbembed", "internal/ydbembed", "internal/lab", "internal/testdb", "cmd/taskctl/internal",
	}, folder)
}

// waitsInALoop reports whether a function has a loop that receives from a channel
// or calls what pauses.
func waitsInALoop(f *ast.FuncDecl) (waits bool) {
	if f.Body == nil {
		return false
	}
	ast.Inspect(f.Body, func(n ast.Node) bool {
		l, ok := n.(*ast.ForStmt)
		if !ok {
			return true
		}
		ast.Inspect(l, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.UnaryExpr:
				waits = waits || n.Op == token.ARROW
			case *ast.CallExpr:
				waits = waits || slices.Contains([]string{"after", "sleep", "wait", "pause", "backoff"}, strings.ToLower(called(n)))
			}
			return true
		})
		return true
	})
	return waits
}

func called(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

func hasTest(t *testing.T, folder, name string) bool {
	files, err := filepath.Glob(filepath.Join("../..", folder, "*_test.go"))
	require.NoError(t, err)
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, declared := range file.Decls {
			if f, ok := declared.(*ast.FuncDecl); ok && f.Name.Name == name {
				return true
			}
		}
	}
	return false
}
