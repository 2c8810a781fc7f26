package store

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/require"
)

// victim is set in a process that is there to be killed: the data folder, and
// the place where the disk is full.
const victim = "STORE_TEST_VICTIM"

// TestKillOnAFullDisk kills the process, on a real file system, while it waits
// for room.
func TestKillOnAFullDisk(t *testing.T) {
	for name := range places {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestVictim$")
			cmd.Env = append(os.Environ(), victim+"="+dir+"|"+name)
			out, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			acknowledged, full := 0, false
			for lines := bufio.NewScanner(out); !full && lines.Scan(); {
				switch lines.Text() {
				case "acknowledged":
					acknowledged++
				case "full":
					full = true
				}
			}
			require.True(t, full)
			require.NoError(t, cmd.Process.Kill())
			require.Error(t, cmd.Wait())
			s, err := Open(Options{Dir: dir, TTLInterval: -1})
			require.NoError(t, err)
			requireRows(t, s, acknowledged)
			require.NoError(t, s.Close())
		})
	}
}

// TestVictim is the process that TestKillOnAFullDisk kills.
func TestVictim(t *testing.T) {
	dir, place, ok := strings.Cut(os.Getenv(victim), "|")
	if !ok {
		return
	}
	var full atomic.Bool
	fs := errorfs.Wrap(vfs.Default, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if full.Load() && places[place].match(op) {
			return syscall.ENOSPC
		}
		return nil
	}))
	s, err := Open(Options{Dir: dir, TTLInterval: -1, fs: fs, memTableBytes: testMemTable})
	require.NoError(t, err)
	tbl := makeTable(t, s)
	full.Store(true)
	for k := 0; ; k++ {
		tx := s.Begin(Serializable)
		tx.Put(tbl, row(2, k, strings.Repeat("x", 10_000)), nil)
		if err := tx.Commit(context.Background()); err != nil {
			require.ErrorIs(t, err, ErrNoSpace)
			fmt.Println("full")
			<-t.Context().Done() // the kill comes first
			return
		}
		fmt.Println("acknowledged")
	}
}
