package main

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/internal/cli"
	"github.com/taskfleet/taskfleet/internal/testdb"
)

// call runs the command and returns its exit code and what it printed.
func call(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs strings.Builder
	code = run(t.Context(), args, nil, &out, &errs)
	return code, out.String(), errs.String()
}

func TestWrongArgumentsAreNamed(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"":                        "say drain or enqueue",
		"swim":                    "say drain or enqueue",
		"drain enqueue":           "say drain or enqueue",
		"drain --tasks 0":         "--tasks 0: must be 1..",
		"drain --payload 9999999": "--payload 9999999: must be 0..",
		"drain --concurrency 0":   "--concurrency 0: must be positive",
	} {
		code, stdout, stderr := call(t, strings.Fields(args)...)
		require.Equal(t, cli.ExitUsage, code, args)
		require.Contains(t, stderr, want)
		require.Empty(t, stdout, args)
	}
}

// Both benchmarks end with a line of figures and drop their folders. The budgets
// are held in cmd/worker.
func TestFiguresAreComplete(t *testing.T) {
	t.Parallel()
	dsn, db := testdb.DSN(t)
	folders := func() (names []string) {
		root, err := db.DB.Scheme().ListDirectory(t.Context(), db.DB.Name())
		require.NoError(t, err)
		for _, child := range root.Children {
			if strings.Contains(child.Name, "bench") {
				names = append(names, child.Name)
			}
		}
		return names
	}
	before := folders()
	fields := []string{"rows_read_per_task", "ru_per_task", "seconds", "statements_per_task", "tasks", "tasks_per_second"}
	for what := range benchmarks {
		code, stdout, stderr := call(t, what, "--tasks", "2000", "--endpoint", dsn)
		require.Equal(t, cli.ExitOK, code, stderr)
		var figures map[string]float64
		require.NoError(t, json.Unmarshal([]byte(stdout), &figures))
		require.Equal(t, fields, slices.Sorted(maps.Keys(figures)))
		require.EqualValues(t, 2000, figures["tasks"])
		for _, field := range fields {
			if field != "rows_read_per_task" || what == "drain" { // an enqueue with generated ids reads nothing
				require.Positive(t, figures[field], field)
			}
		}
	}
	require.Equal(t, before, folders())
}
