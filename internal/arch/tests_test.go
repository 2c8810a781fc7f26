package arch

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// ownServer lists the test files that still start an embedded server for
// themselves. It only ever gets shorter.
var ownServer = map[string]bool{
	"pkg/taskingest/faults_test.go": true,
	"pkg/taskingest/setup_test.go":  true,
}

// TestDatabasesOfTestsComeFromTestdb holds that no test starts a server for itself,
// so that each that can run on another database does. The server's own tests and
// the examples, which show how it is started, do.
func TestDatabasesOfTestsComeFromTestdb(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("git", "-C", "../..", "grep", "-lF", "ydbembed.Start(",
		"--", "*_test.go", ":!pkg/ydbembed", ":!internal/ydbembed", ":!*example_test.go", ":!internal/arch").Output()
	require.NoError(t, err)
	found := map[string]bool{}
	for _, file := range strings.Fields(string(out)) {
		found[file] = true
		if !ownServer[file] {
			t.Errorf("%s starts a server: take a database from internal/testdb", file)
		}
	}
	for file := range ownServer {
		if !found[file] {
			t.Errorf("%s starts no server any more: take it off the list", file)
		}
	}
}
