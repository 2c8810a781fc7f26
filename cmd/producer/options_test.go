package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/internal/cli"
)

func TestFlagsAreChecked(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"":                                                "--target-url is missing",
		"--target-url ftp://x":                            `--target-url "ftp://x": must be a URL`,
		"--target-url http://x --rate -1":                 "--rate -1: must be 0..10000000",
		"--target-url http://x --rate NaN":                "--rate NaN: must be 0..10000000",
		"--target-url http://x --rate 0":                  "--rate 0 needs --count or --duration",
		"--target-url http://x --count -1":                "--count -1: must not be negative",
		"--target-url http://x --duration -1s":            "--duration -1s: must not be negative",
		"--target-url http://x --delayed-share 1.5":       "--delayed-share 1.5: must be 0..1",
		"--target-url http://x --batch-window 1us":        "--batch-window 1µs: must be 1ms..1m",
		"--target-url http://x --in-flight 0":             "--in-flight 0: must be 1..1000",
		"--target-url http://x --drain-timeout 0s":        "--drain-timeout 0s: must be positive",
		"--target-url http://x --report-interval -1s":     "--report-interval -1s: must not be negative",
		"--input - --rate 5":                              "--rate is for synthetic load",
		"--input - --target-url http://x":                 "--target-url is for synthetic load",
		"--listen :0":                                     "--listen needs a token: name it by --token-env or --token-file",
		"--listen :0 --insecure-no-auth --token-env T":    "--insecure-no-auth cannot stand with a token",
		"--listen :0 --insecure-no-auth --input -":        "--input and --listen: choose one",
		"--listen :0 --insecure-no-auth --rate 5":         "--rate is for synthetic load: it cannot stand with --listen",
		"--listen :0 --insecure-no-auth --in-flight 5":    "--in-flight cannot stand with --listen",
		"--listen :0 --insecure-no-auth --max-body 0":     "--max-body 0: must be 1..16777216",
		"--listen :0 --insecure-no-auth --max-tasks 0":    "--max-tasks 0: must be 1..10000",
		"--listen :0 --insecure-no-auth --max-requests 0": "--max-requests 0: must be 1..10000",
		"--listen :0 --insecure-no-auth --max-bytes 1":    "--max-bytes 1: must be at least 26214400",
		"--listen :0 --max-unverified 0":                  "--max-unverified 0: must be 1..10000",
		"--listen :0 --max-unverified-bytes 1":            "--max-unverified-bytes 1: must be at least 26214400",
		"--listen :0 --hook-timeout 1ms":                  "--hook-timeout 1ms: must be 1s..1m",
		"--input - --hook-timeout 5s":                     "--hook-timeout is for --listen",
		"--listen :0 --store-timeout 1ms":                 "--store-timeout 1ms: must be 100ms..5m",
		"--listen :0 --read-timeout 1ms":                  "--read-timeout 1ms: must be 1s..10m",
		"--input - --token-env T":                         "--token-env is for --listen",
		"--target-url http://x --hooks-config f":          "--hooks-config is for --listen",
		"tasks.ndjson":                                    `argument "tasks.ndjson": there are only flags`,
		"--rate fast":                                     "--rate",
		"--nonsense":                                      "unknown flag: --nonsense",
		"--input - --log-level loud":                      `--log-level "loud": must be debug, info, warn or error`,
		"--input - --log-level info --endpoint localhost": "--endpoint: the scheme is missing",
		"--input - --metrics-addr= --endpoint grpc://h:1": "database is missing",
	} {
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), strings.Fields(args), strings.NewReader(""), &stdout, &stderr)
		require.Equal(t, cli.ExitUsage, code, args)
		require.Contains(t, stderr.String(), want, args)
		require.Contains(t, stderr.String(), "see producer --help")
		require.Empty(t, stdout.String())
	}
}

// TestMemoryMustHoldTheLargestRequest: it is said before there is a database.
func TestMemoryMustHoldTheLargestRequest(t *testing.T) {
	t.Parallel()
	var stderr bytes.Buffer
	code := run(t.Context(), []string{
		"--listen", ":0", "--insecure-no-auth", "--max-bytes", "30000000", "--max-body", "16777216", "--metrics-addr", "", "--endpoint", "grpc://127.0.0.1:1/local",
	}, strings.NewReader(""), &bytes.Buffer{}, &stderr)
	require.Equal(t, cli.ExitFailed, code)
	require.Contains(t, stderr.String(), "--max-bytes 30000000: must be at least 38674432, with these --max-body, --max-tasks and --max-unverified-bytes")
}

func TestHelpShowsExamples(t *testing.T) {
	t.Parallel()
	var stdout, stderr bytes.Buffer
	require.Equal(t, cli.ExitOK, run(t.Context(), []string{"--help"}, strings.NewReader(""), &stdout, &stderr))
	for _, text := range []string{"producer --endpoint grpc://localhost:2136/local", "--input tasks.ndjson", "--delayed-share", "--listen :8080 --token-env TOKEN", "/hooks/github", "YDB_CONNECTION_STRING"} {
		require.Contains(t, stdout.String(), text)
	}
	require.Empty(t, stderr.String())
}

func TestFailuresToBegin(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"--input /nowhere/tasks.ndjson --metrics-addr= --endpoint grpc://127.0.0.1:1/local":                            "producer: --input: open /nowhere/tasks.ndjson: no such file or directory",
		"--input - --metrics-addr= --endpoint grpc://127.0.0.1:1/local --dial-timeout 1ms":                             "cannot reach the database: grpc://127.0.0.1:1/local did not answer within 1ms",
		"--listen :0 --token-env TASKFLEET_NONE --metrics-addr= --endpoint grpc://127.0.0.1:1/local":                   "--token-env: the environment variable TASKFLEET_NONE is not set",
		"--listen :0 --token-file /nowhere/t --metrics-addr= --endpoint grpc://127.0.0.1:1/local":                      "--token-file: open /nowhere/t: no such file or directory",
		"--listen :0 --token-file /dev/null --metrics-addr= --endpoint grpc://127.0.0.1:1/local":                       "--token-file: /dev/null is empty",
		"--listen :0 --token-file ../../Makefile --metrics-addr= --endpoint grpc://127.0.0.1:1/local":                  "--token-file: ../../Makefile: line 1: a token must have at least 16 printable ASCII characters",
		"--listen :0 --insecure-no-auth --hooks-config /nowhere/h --metrics-addr= --endpoint grpc://127.0.0.1:1/local": "--hooks-config: githook: open /nowhere/h: no such file or directory",
		"--input - --metrics-addr 256.0.0.1:1 --endpoint grpc://127.0.0.1:1/local":                                     `metrics: listening on "256.0.0.1:1"`,
	} {
		var stdout, stderr bytes.Buffer
		require.Equal(t, cli.ExitFailed, run(t.Context(), strings.Fields(args), strings.NewReader(""), &stdout, &stderr), args)
		require.Contains(t, stderr.String(), want)
		require.NotContains(t, stderr.String(), ".go:")
	}
}

func TestSyntheticTasks(t *testing.T) {
	t.Parallel()
	const n = 20_000
	delayed, priorities := 0, map[uint8]int{}
	for i := range n {
		made := syntheticTask(i, "http://h/?a=1&b=\"", 0.1)
		require.NoError(t, made.Validate())
		priorities[made.Priority]++
		if made.Delay > 0 {
			delayed++
			require.GreaterOrEqual(t, made.Delay, 5*time.Second)
			require.LessOrEqual(t, made.Delay, 30*time.Second)
		}
		if i == 7 {
			require.JSONEq(t, `{"url":"http://h/?a=1&b=\"","n":7}`, string(made.Payload))
		}
	}
	require.InDelta(t, n/10, delayed, n/50)
	require.Len(t, priorities, 256)
	require.Zero(t, syntheticTask(0, "http://h/", 0).Delay)
	require.NotZero(t, syntheticTask(0, "http://h/", 1).Delay)
}
