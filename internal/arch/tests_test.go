package arch

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDatabasesOfTestsComeFromTestdb holds that no test starts a server for itself,
// so that each that can run on another database does. The server's own tests and
// the examples, which show how it is started, do.
func TestDatabasesOfTestsComeFromTestdb(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("git", "-C", "../..", "grep", "-lF", "ydbembed.Start(",
		"--", "*_test.go", ":!pkg/ydbembed", ":!internal/ydbembed", ":!*example_test.go", ":!internal/arch").Output()
	require.EqualError(t, err, "exit status 1", "which is that nothing is found: a test takes a database from internal/testdb, unlike\n%s", out)
}
