package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/internal/cli"
	"github.com/taskfleet/taskfleet/internal/taskstore"
	"github.com/taskfleet/taskfleet/internal/testdb"
	"github.com/taskfleet/taskfleet/pkg/migrate"
	"github.com/taskfleet/taskfleet/pkg/rebalancer"
)

// idle is a consumer with nothing to do.
type idle struct{}

func (idle) Acquired(context.Context, uint16, uint64) {}
func (idle) Revoke(context.Context, uint16) error     { return nil }

// testFleet is a folder for a fleet.
type testFleet struct {
	*testdb.Database
	t     *testing.T
	dsn   string
	store *taskstore.Store
}

func newTestFolder(t *testing.T) *testFleet {
	t.Helper()
	dsn, d := testdb.DSN(t)
	return &testFleet{d, t, dsn, taskstore.New(d.DB, taskstore.Options{Folder: d.Folder})}
}

// newTestFleet makes eight partitions.
func newTestFleet(t *testing.T) *testFleet {
	t.Helper()
	f := newTestFolder(t)
	_, err := migrate.Up(t.Context(), f.DB, migrate.Options{Folder: f.Folder, Partitions: 8})
	require.NoError(t, err)
	return f
}

// join starts a worker without tasks.
func (f *testFleet) join(id string, weight int, kinds ...string) *rebalancer.Rebalancer {
	f.t.Helper()
	r, err := rebalancer.New(f.DB, rebalancer.Config{
		WorkerID: id, Kinds: kinds, Weight: weight, Version: "v1.2.3", Partitions: 8,
		Node: f.Path() + "/" + migrate.NodeName, Consumer: idle{},
		Fence: f.store, Logger: slog.New(slog.DiscardHandler), SessionTimeout: 3 * time.Second,
	})
	require.NoError(f.t, err)
	require.NoError(f.t, r.Start(context.WithoutCancel(f.t.Context())))
	f.t.Cleanup(func() { require.NoError(f.t, r.Stop(context.Background())) })
	return r
}

// taskctl runs the command on the fleet.
func (f *testFleet) taskctl(args ...string) (code int, stdout, stderr string) {
	return taskctl(f.t, append(args, "--endpoint", f.dsn, "--folder", f.Folder)...)
}

func (f *testFleet) report() fleetReport {
	f.t.Helper()
	code, stdout, stderr := f.taskctl("fleet", "--json")
	require.Equal(f.t, cli.ExitOK, code, stderr)
	var r fleetReport
	require.NoError(f.t, json.Unmarshal([]byte(stdout), &r))
	return r
}

// await waits until the report is as wanted.
func (f *testFleet) await(what string, is func(r fleetReport) bool) fleetReport {
	f.t.Helper()
	var r fleetReport
	require.Eventually(f.t, func() bool { r = f.report(); return is(r) }, 20*time.Second, 20*time.Millisecond, what)
	return r
}

func TestFleetShowsDrainsAndResumes(t *testing.T) {
	t.Parallel()
	f := newTestFleet(t)
	code, stdout, stderr := f.taskctl("fleet")
	require.Equal(t, cli.ExitOK, code, stderr)
	require.Contains(t, stdout, "8 partitions, 8 without an owner")
	require.Equal(t, fleetReport{Folder: f.Folder, Partitions: 8, Unowned: 8, Workers: []workerReport{}}, f.report())

	f.join("web-1", 3)
	f.join("web-2", 1)
	r := f.await("6 to 2", func(r fleetReport) bool {
		return len(r.Workers) == 2 && r.Workers[0].Partitions == 6 && r.Workers[1].Partitions == 2 &&
			r.Workers[0].LowestEpoch > 0 && r.Workers[1].LowestEpoch > 0 // acquired, and fenced a moment later
	})
	require.Zero(t, r.Unowned)
	first := r.Workers[0]
	require.Equal(t, "web-1", first.Worker)
	require.Equal(t, 3, first.Weight)
	require.Equal(t, rebalancer.StateActive, first.State)
	require.Equal(t, "v1.2.3", first.Version)
	require.Positive(t, first.Session)
	require.Positive(t, first.LowestEpoch)
	require.GreaterOrEqual(t, first.HighestEpoch, first.LowestEpoch)
	require.WithinDuration(t, time.Now(), *first.LastChange, time.Minute)

	code, stdout, stderr = f.taskctl("fleet", "drain", "web-1")
	require.Equal(t, cli.ExitOK, code, stderr)
	require.Contains(t, stdout, "worker web-1 gives its partitions away")
	require.Empty(t, stderr)
	r = f.await("web-2 has everything", func(r fleetReport) bool { return r.Workers[1].Partitions == 8 })
	require.Equal(t, rebalancer.StateDrained, r.Workers[0].State)
	require.NotNil(t, r.Workers[0].DrainedSince)

	code, _, stderr = f.taskctl("fleet", "drain", "web-2")
	require.Equal(t, cli.ExitOK, code)
	require.Contains(t, stderr, "warning: no other worker is active")
	f.await("nobody has anything", func(r fleetReport) bool { return r.Unowned == 8 })
	for _, worker := range []string{"web-1", "web-2"} {
		code, stdout, stderr = f.taskctl("fleet", "resume", worker)
		require.Equal(t, cli.ExitOK, code, stderr)
		require.Contains(t, stdout, "worker "+worker+" takes its share again")
	}
	f.await("6 to 2 again", func(r fleetReport) bool { return r.Workers[0].Partitions == 6 && r.Workers[1].Partitions == 2 })
	_, stdout, _ = f.taskctl("fleet")
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	require.Len(t, lines, 5)
	require.Equal(t, strings.Fields("WORKER STATE WEIGHT PARTITIONS EPOCHS SESSION VERSION LAST CHANGE KINDS"), strings.Fields(lines[2]))
	require.Contains(t, lines[3], "web-1")
}

func TestFleetRefusesWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	f := newTestFleet(t)
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"fleet", "drain", "x"}, cli.ExitFailed, `unknown worker "x": no worker runs`},
		{[]string{"fleet", "drain"}, cli.ExitUsage, "drain: name a worker, see taskctl fleet"},
		{[]string{"fleet", "stop", "x"}, cli.ExitUsage, `unknown verb "stop"`},
		{[]string{"fleet", "drain", "x", "y"}, cli.ExitUsage, `unexpected argument "y"`},
	} {
		code, _, stderr := f.taskctl(c.args...)
		require.Equal(t, c.code, code, c.args)
		require.Contains(t, stderr, c.want)
	}
	f.join("web-1", 1)
	f.await("it joins", func(r fleetReport) bool { return r.Unowned == 0 })
	code, _, stderr := f.taskctl("fleet", "resume", "x")
	require.Equal(t, cli.ExitFailed, code)
	require.Contains(t, stderr, `unknown worker "x": the fleet has web-1`)
}
