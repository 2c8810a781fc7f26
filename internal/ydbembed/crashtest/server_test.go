package crashtest

import (
	"bufio"
	"bytes"
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/ydb-platform/ydb-go-sdk/v3"
)

// patience bounds what takes no time when all is well.
const patience = 30 * time.Second

// server is a running ydbembed process.
type server struct {
	cmd *exec.Cmd
	dsn string
	log *bytes.Buffer
}

// start runs the program on the folder and waits until it is ready.
func start(t *testing.T, program, dir string) *server {
	t.Helper()
	s := &server{log: &bytes.Buffer{}}
	s.cmd = exec.Command(program, "--data", dir, "--listen", "127.0.0.1:0")
	s.cmd.Stderr = s.log
	stdout, err := s.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, s.cmd.Start())
	t.Cleanup(func() { _ = s.cmd.Process.Kill() }) // dead already unless the test failed
	line := make(chan string, 1)
	go func() {
		scanner := bufio.NewScanner(stdout)
		scanner.Scan()
		line <- scanner.Text()
	}()
	select {
	case first := <-line:
		dsn, ok := strings.CutPrefix(first, "ydbembed ready ")
		require.True(t, ok, "the server printed %q\n%s", first, s.log)
		s.dsn = dsn
	case <-time.After(patience):
		require.Fail(t, "the server is not ready", "%s", s.log)
	}
	return s
}

// kill ends the process as a power cut would, as far as a process can tell.
func (s *server) kill(t *testing.T) {
	t.Helper()
	require.NoError(t, s.cmd.Process.Kill(), "the server ended by itself:\n%s", s.log)
	require.ErrorContains(t, s.cmd.Wait(), "signal: killed", "%s", s.log)
}

// dialTimeout is how long a client tries to reach a server that is gone before
// it gives up its sessions.
const dialTimeout = 500 * time.Millisecond

// connect opens a client of its own, with its own connection and sessions.
func connect(ctx context.Context, dsn string) (*ydb.Driver, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return ydb.Open(ctx, dsn, ydb.WithDialTimeout(dialTimeout))
}

// disconnect closes a client whose server may be gone.
func disconnect(db *ydb.Driver) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = db.Close(ctx) // a dead server cannot be told goodbye
}
