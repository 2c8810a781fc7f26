package conformance

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

const sdk = "github.com/ydb-platform/ydb-go-sdk/v3"

// testTimeout bounds one test of the SDK, startLimit the start of a server.
const (
	testTimeout = 2 * time.Minute
	startLimit  = 30 * time.Second
)

// TestSDK runs each listed test of the SDK against a server of its own, and
// fails when the test fails, is skipped or did not run.
func TestSDK(t *testing.T) {
	goTool(t, "..", "build", "-o", "bin/", "./cmd/ydbembed")
	server := filepath.Join("..", "bin", "ydbembed")
	suite := filepath.Join(t.TempDir(), "integration.test")
	source := filepath.Join(goTool(t, ".", "list", "-m", "-f", "{{.Dir}}", sdk), "tests", "integration")
	goTool(t, source, "test", "-c", "-tags", "integration", "-o", suite, ".")

	for _, name := range names(t, suite) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runOne(t, suite, source, name, startServer(t, server))
		})
	}
}

// try widens what runs, to see how far the server is.
var try = flag.String("try", "", "run all tests of the SDK that match the regular expression, instead of the held ones")

// names lists the tests to run.
func names(t *testing.T, suite string) []string {
	t.Helper()
	if *try == "" {
		return slices.Concat(required, held)
	}
	out, err := exec.CommandContext(t.Context(), suite, "-test.list", *try).Output()
	if err != nil {
		t.Fatalf("list the tests that match %q: %v", *try, err)
	}
	return slices.DeleteFunc(strings.Fields(string(out)), func(name string) bool {
		return !strings.HasPrefix(name, "Test")
	})
}

// TestVersions holds that the tests come from the SDK that the project uses.
func TestVersions(t *testing.T) {
	ours := goTool(t, ".", "list", "-m", "-f", "{{.Version}}", sdk)
	project := goTool(t, "..", "list", "-m", "-f", "{{.Version}}", sdk)
	if ours != project {
		t.Fatalf("conformance/go.mod has the SDK %s, the project %s", ours, project)
	}
}

// goTool runs the go command in a folder and returns what it printed.
func goTool(t *testing.T, dir string, args ...string) string {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir, cmd.Stderr = dir, &stderr
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %s in %s: %v\n%s", strings.Join(args, " "), dir, err, stderr.String())
	}
	return strings.TrimSpace(string(out))
}

// startServer starts ydbembed on a free port and returns its connection string.
// The server is stopped with the test.
func startServer(t *testing.T, path string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startLimit+testTimeout)
	t.Cleanup(cancel)
	var log bytes.Buffer
	cmd := exec.CommandContext(ctx, path, "--memory", "--listen", "127.0.0.1:0")
	cmd.Stderr = &log
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may be gone already, and Wait tells
		if err := cmd.Wait(); err != nil {
			t.Errorf("ydbembed did not stop cleanly: %v\n%s", err, log.String())
		}
	})
	line := make(chan string, 1)
	go func() {
		s := bufio.NewScanner(stdout)
		s.Scan()
		line <- s.Text()
	}()
	select {
	case first := <-line:
		if dsn, ok := strings.CutPrefix(first, "ydbembed ready "); ok {
			return dsn
		}
		t.Fatalf("ydbembed printed %q instead of being ready\n%s", first, log.String())
	case <-time.After(startLimit):
		t.Fatalf("ydbembed was not ready within %s\n%s", startLimit, log.String())
	}
	return ""
}

// runOne runs one test of the compiled suite and reads its verdict.
func runOne(t *testing.T, suite, source, name, dsn string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, suite, "-test.v", "-test.count=1", "-test.run", "^"+name+"$")
	cmd.Dir = source // where the go command runs tests: they read ./testdata
	cmd.Env = append(os.Environ(),
		"YDB_CONNECTION_STRING="+dsn,
		"YDB_ACCESS_TOKEN_CREDENTIALS=",
		"YDB_VERSION=25.4",
	)
	out, err := cmd.CombinedOutput()
	passed := regexp.MustCompile(`(?m)^--- PASS: ` + name + ` `).Match(out)
	if err != nil || !passed {
		t.Fatalf("%s of the SDK did not pass: %v\n%s", name, err, tail(out))
	}
}

// tail returns the end of a long output.
func tail(out []byte) []byte {
	const keep = 16 << 10
	return out[max(0, len(out)-keep):]
}
