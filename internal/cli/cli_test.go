package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("os/signal.loop")) }

func TestFirstSignalDrainsSecondEndsAtOnce(t *testing.T) {
	exit := make(chan int, 1)
	ctx, stop := signalContext(context.Background(), io.Discard, func(code int) { exit <- code })
	defer stop()

	require.NoError(t, syscall.Kill(syscall.Getpid(), syscall.SIGTERM))
	<-ctx.Done()
	require.ErrorIs(t, context.Cause(ctx), ErrSignal)
	require.Empty(t, exit)

	require.NoError(t, syscall.Kill(syscall.Getpid(), syscall.SIGTERM))
	require.Equal(t, 143, <-exit)
}

func TestParse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args           []string
		code           int
		ok             bool
		stdout, stderr string
	}{
		"good":    {args: []string{"--count", "3"}, ok: true},
		"help":    {args: []string{"--help"}, stdout: "cmd: counts"},
		"unknown": {args: []string{"--cuont", "3"}, code: ExitUsage, stderr: "unknown flag: --cuont"},
		"bad":     {args: []string{"--count", "x"}, code: ExitUsage, stderr: "--count"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fs := NewFlagSet("cmd", "cmd: counts\n")
			fs.Int("count", 0, "how many")
			var stdout, stderr bytes.Buffer
			code, ok := Parse(fs, c.args, &stdout, &stderr)
			require.Equal(t, c.code, code)
			require.Equal(t, c.ok, ok)
			require.Contains(t, stdout.String(), c.stdout)
			require.Contains(t, stderr.String(), c.stderr)
			if c.code != ExitOK {
				require.Contains(t, stderr.String(), "see cmd --help")
			}
		})
	}
}

func TestLogFlags(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log, err := (&LogFlags{Level: "warn", Format: "json"}).Logger(&out)
	require.NoError(t, err)
	log.Info("quiet")
	log.Warn("loud", "worker_id", "w1")
	require.NotContains(t, out.String(), "quiet")
	require.Contains(t, out.String(), `"worker_id":"w1"`)

	_, err = (&LogFlags{Level: "loud", Format: "json"}).Logger(&out)
	require.ErrorContains(t, err, "--log-level")
	_, err = (&LogFlags{Level: "info", Format: "xml"}).Logger(&out)
	require.ErrorContains(t, err, "--log-format")
}

func TestTextLeavesPlacesOut(t *testing.T) {
	t.Parallel()
	err := errors.New("dial: refused at `github.com/ydb-platform/x.(*Y).z(y.go:15)` at `github.com/a.b(c.go:1)`: later")
	require.Equal(t, "dial: refused: later", Text(err))
}

func TestFailNamesTheProgramOnce(t *testing.T) {
	for _, text := range []string{"no room", "ydbembed: no room"} {
		var out strings.Builder
		require.Equal(t, ExitFailed, Fail(NewFlagSet("ydbembed", ""), &out, errors.New(text)))
		require.Equal(t, "ydbembed: no room\n", out.String())
	}
}

func TestLogShowsErrorsWithoutTheCallsOfTheSDK(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"text", "json"} {
		var out strings.Builder
		logger, err := (&LogFlags{Level: "info", Format: format}).Logger(&out)
		require.NoError(t, err)
		logger.Info("failed", "error", errors.New("operation/ABORTED at `sdk/a.go:1` at `sdk/b.go:2`"))
		require.Contains(t, out.String(), "operation/ABORTED")
		require.NotContains(t, out.String(), "sdk/")
	}
}
