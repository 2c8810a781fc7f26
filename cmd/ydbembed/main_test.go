package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/ydb-platform/ydb-go-sdk/v3"
	"go.uber.org/goleak"

	"github.com/taskfleet/taskfleet/internal/cli"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve runs the command until stop, and returns the connection string of its
// ready line.
func serve(t *testing.T, args ...string) (dsn string, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	stdout, w := io.Pipe()
	var stderr bytes.Buffer
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, append(args, "--listen", "127.0.0.1:0"), nil, w, &stderr)
		_ = w.Close()
	}()
	lines := bufio.NewReader(stdout)
	line, err := lines.ReadString('\n')
	require.NoError(t, err)
	dsn, ok := strings.CutPrefix(strings.TrimSpace(line), "ydbembed ready ")
	require.True(t, ok, line)
	return dsn, func() {
		cancel(cli.ErrSignal)
		rest, err := io.ReadAll(lines)
		require.NoError(t, err)
		require.Empty(t, rest, "the ready line is the only one")
		require.Equal(t, cli.ExitOK, <-code, stderr.String())
	}
}

func TestServesUntilASignal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for run := range 2 {
		dsn, stop := serve(t, "--data", dir)
		db, err := ydb.Open(t.Context(), dsn)
		require.NoError(t, err)
		if run == 0 {
			require.NoError(t, db.Query().Exec(t.Context(), "CREATE TABLE t (k Uint64 NOT NULL, PRIMARY KEY (k))"))
		}
		require.NoError(t, db.Query().Exec(t.Context(), "UPSERT INTO t (k) VALUES (1)"))
		require.NoError(t, db.Close(t.Context()))
		stop()
	}
}

// What is missing is named in one line, and nothing is served without it.
func TestMissingFileIsNamedAtTheStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, stop := serve(t, "--data", dir)
	stop()
	logs, err := filepath.Glob(filepath.Join(dir, "*.log"))
	require.NoError(t, err)
	require.NotEmpty(t, logs)
	require.NoError(t, os.Remove(logs[0]))
	var stdout, stderr bytes.Buffer
	require.Equal(t, cli.ExitFailed, run(t.Context(), []string{"--data", dir, "--listen", "127.0.0.1:0"}, nil, &stdout, &stderr))
	require.Empty(t, stdout.String())
	require.Contains(t, stderr.String(), filepath.Base(logs[0])+" is missing; put the file back, or restore the folder from a backup")
	require.Equal(t, 1, strings.Count(stderr.String(), "\n"), stderr.String())
}

func TestBadFlagsAreNamed(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	for name, c := range map[string]struct {
		args   []string
		code   int
		stderr string
	}{
		"neither":     {nil, cli.ExitUsage, "give --data DIR or --memory"},
		"both":        {[]string{"--data", "x", "--memory"}, cli.ExitUsage, "--data and --memory are both given"},
		"ttl":         {[]string{"--memory", "--ttl-interval", "-1s"}, cli.ExitUsage, "--ttl-interval -1s"},
		"level":       {[]string{"--memory", "--log-level", "loud"}, cli.ExitUsage, "--log-level"},
		"argument":    {[]string{"--memory", "more"}, cli.ExitUsage, `unexpected argument "more"`},
		"port in use": {[]string{"--memory", "--listen", l.Addr().String()}, cli.ExitFailed, l.Addr().String() + " is in use"},
		"no port":     {[]string{"--memory", "--listen", "localhost"}, cli.ExitFailed, `Listen "localhost": must be host:port`},
	} {
		var stdout, stderr bytes.Buffer
		require.Equal(t, c.code, run(t.Context(), c.args, nil, &stdout, &stderr), name)
		require.Contains(t, stderr.String(), c.stderr, name)
		require.Empty(t, stdout.String(), name)
	}
}

func TestHelpAndVersion(t *testing.T) {
	t.Parallel()
	var stdout bytes.Buffer
	require.Equal(t, cli.ExitOK, run(t.Context(), []string{"--help"}, nil, &stdout, io.Discard))
	require.Contains(t, stdout.String(), "ydbembed --data ./data")
	stdout.Reset()
	require.Equal(t, cli.ExitOK, run(t.Context(), []string{"--version"}, nil, &stdout, io.Discard))
	require.True(t, strings.HasPrefix(stdout.String(), "ydbembed "), stdout.String())
}
