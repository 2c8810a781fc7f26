package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/internal/cli"
)

func TestWrongArgumentsOfChaosAreNamed(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"chaos now":                         `unexpected argument "now"`,
		"chaos --minutes 0":                 "--minutes 0: must be above 0",
		"chaos --minutes NaN":               "--minutes NaN: must be above 0",
		"chaos --minutes 2000":              "--minutes 2000: must be above 0 and at most 1440",
		"chaos --seed -1":                   "--seed",
		"chaos --planner me":                `--planner "me": must be peers or leader`,
		"chaos --slack -1s":                 "--slack: must not be negative",
		"chaos --minutes 1 --keep /nowhere": "--keep",
	} {
		code, stdout, stderr := taskctl(t, strings.Fields(args)...)
		require.Equal(t, cli.ExitUsage, code, args)
		require.Contains(t, stderr, want)
		require.Empty(t, stdout, args)
	}
	code, stdout, _ := taskctl(t, "chaos", "--help")
	require.Equal(t, cli.ExitOK, code)
	require.Contains(t, stdout, "--seed")
	code, _, stderr := taskctl(t, "chaos", "--bin-dir", t.TempDir())
	require.Equal(t, cli.ExitFailed, code)
	require.Contains(t, stderr, "run `make build`")
}
