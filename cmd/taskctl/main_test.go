package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/internal/cli"
	"github.com/taskfleet/taskfleet/internal/lab/fleet"
)

// taskctl runs the command and returns its exit code and what it printed.
func taskctl(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs strings.Builder
	code = run(t.Context(), args, strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

// decode returns the last line of an output as JSON.
func decode(t *testing.T, output string) map[string]any {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(output), "\n")
	var v map[string]any
	require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &v), output)
	return v
}

func TestWrongArgumentsAreNamed(t *testing.T) {
	for _, tt := range []struct {
		args   string
		stderr string
	}{
		{"", "Usage:"},
		{"fly", `unknown command "fly"`},
		{"migrate", "say up, down, status"},
		{"migrate sideways", "say up, down, status"},
		{"migrate up --endpoint nowhere", "--endpoint"},
		{"stats", "no database is given"},
		{"migrate up --drop-tasks", "--drop-tasks: goes with down, not with up"},
		{"stats now", `unexpected argument "now"`},
		{"demo now", `unexpected argument "now"`},
		{"demo --tasks 0", "--tasks 0: must be 1.."},
		{"demo --workers 1", "--workers 1: must be 2.."},
		{"demo --rate -3", "--rate -3: must be 1.."},
		{"demo --delayed-share NaN", "--delayed-share NaN: must be 0..1"},
	} {
		t.Run(tt.args, func(t *testing.T) {
			t.Setenv("YDB_CONNECTION_STRING", "")
			t.Setenv("YDB_ENDPOINT", "")
			code, stdout, stderr := taskctl(t, strings.Fields(tt.args)...)
			require.Equal(t, cli.ExitUsage, code)
			require.Contains(t, stderr, tt.stderr)
			require.Empty(t, stdout)
		})
	}
}

func TestHelpShowsExamples(t *testing.T) {
	t.Parallel()
	code, stdout, _ := taskctl(t, "--help")
	require.Equal(t, cli.ExitOK, code)
	for name := range commands {
		require.Contains(t, stdout, "taskctl "+name)
		code, help, stderr := taskctl(t, name, "--help")
		require.Equal(t, cli.ExitOK, code, stderr)
		require.Contains(t, help, "Examples:", name)
	}
}

func TestMigrateAndStats(t *testing.T) {
	t.Parallel()
	f := newTestFolder(t)
	code, _, stderr := f.taskctl("stats")
	require.Equal(t, cli.ExitFailed, code)
	require.Contains(t, stderr, "taskctl migrate up --endpoint "+f.dsn+" --folder "+f.Folder)

	code, stdout, stderr := f.taskctl("migrate", "up", "--partitions", "8")
	require.Equal(t, cli.ExitOK, code, stderr)
	require.Contains(t, stdout, "folder "+f.Folder+": schema version")
	require.Contains(t, stdout, "8 partitions")
	code, stdout, stderr = f.taskctl("migrate", "up")
	require.Equal(t, cli.ExitOK, code, stderr)
	require.Contains(t, stdout, "0 steps done by this call")
	code, _, stderr = f.taskctl("migrate", "up", "--partitions", "9")
	require.Equal(t, cli.ExitFailed, code)
	require.Contains(t, stderr, "has 8, not 9")

	code, stdout, stderr = f.taskctl("stats", "--json")
	require.Equal(t, cli.ExitOK, code, stderr)
	require.Equal(t, map[string]any{
		"folder": f.Folder, "partitions": 8., "pending": 0., "locked": 0., "delayed": 0., "completed": 0., "dead": 0.,
		"oldest_pending_seconds": 0., "owners": map[string]any{}, "never_owned": 8., "kinds": []any{},
	}, decode(t, stdout))
	code, stdout, stderr = f.taskctl("stats")
	require.Equal(t, cli.ExitOK, code, stderr)
	require.Contains(t, stdout, "(never owned)")

	down := func(args ...string) (int, string) {
		code, _, stderr := f.taskctl(append([]string{"migrate", "down"}, args...)...)
		return code, stderr
	}
	code, stderr = down()
	require.Equal(t, cli.ExitOK, code, stderr)
	require.NoError(t, f.DB.Query().Exec(t.Context(),
		"UPSERT INTO `"+f.Folder+"/delayed_tasks` (partition_id, scheduled_at, id) VALUES (1us, CurrentUtcTimestamp(), 'x'u)"))
	code, stderr = down()
	require.Equal(t, cli.ExitFailed, code)
	require.Contains(t, stderr, "0 runnable or running, 1 delayed")
	require.Contains(t, stderr, "--drop-tasks")
	for range 2 {
		code, stderr = down("--drop-tasks")
		require.Equal(t, cli.ExitOK, code, stderr)
	}
	code, stdout, stderr = f.taskctl("migrate", "status", "--json")
	require.Equal(t, cli.ExitOK, code, stderr)
	require.EqualValues(t, 0, decode(t, stdout)["Version"])
}

// TestDemoLosesNothing runs the main job, smaller: a worker is killed, another
// one started, and nothing is lost.
func TestDemoLosesNothing(t *testing.T) {
	t.Parallel()
	bin, err := fleet.Build()
	require.NoError(t, err)
	code, stdout, stderr := taskctl(t, "demo", "--tasks", "600", "--rate", "200", "--delayed-share", "0", "--bin-dir", bin)
	require.Equal(t, cli.ExitOK, code, stderr)
	require.Contains(t, stdout, "NOTHING LOST")
	verdict := decode(t, stdout)
	for field, want := range map[string]float64{
		"enqueued": 600, "completed": 600, "delivered": 600, "lost": 0, "workers_started": 4, "workers_killed": 1,
	} {
		require.EqualValues(t, want, verdict[field], field)
	}
	require.Contains(t, verdict, "duplicates")
	require.Positive(t, verdict["max_unowned_seconds"])
	require.Positive(t, verdict["tasks_per_second"])
}
