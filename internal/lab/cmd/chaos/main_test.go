package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/internal/cli"
)

func TestWrongArgumentsAreNamed(t *testing.T) {
	t.Parallel()
	chaos := func(args string) (code int, stdout, stderr string) {
		var out, errs strings.Builder
		code = run(t.Context(), strings.Fields(args), nil, &out, &errs)
		return code, out.String(), errs.String()
	}
	for args, want := range map[string]string{
		"now":                           `unexpected argument "now"`,
		"--duration 0s":                 "--duration 0s: must be above 0",
		"--duration 25h":                "--duration 25h0m0s: must be above 0 and at most 24h",
		"--seed -1":                     "--seed",
		"--slack -1s":                   "--slack -1s: must not be negative",
		"--duration 1m --keep /nowhere": "--keep",
	} {
		code, stdout, stderr := chaos(args)
		require.Equal(t, cli.ExitUsage, code, args)
		require.Contains(t, stderr, want)
		require.Empty(t, stdout, args)
	}
	code, stdout, _ := chaos("--help")
	require.Equal(t, cli.ExitOK, code)
	require.Contains(t, stdout, "--seed")
	code, _, stderr := chaos("--bin-dir " + t.TempDir())
	require.Equal(t, cli.ExitFailed, code)
	require.Contains(t, stderr, "run `make build`")
}
