package fleet

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// Build brings the programs in bin/ of the working copy up to date, for tests, and
// returns that folder. Processes that build at the same time wait for each other.
// The result of a test is cached only as long as the programs stay the same.
func Build() (bin string, err error) {
	const module = "github.com/taskfleet/taskfleet"
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return "", fmt.Errorf("fleet: find the working copy: %w", err)
	}
	dir := strings.TrimSpace(string(root))
	bin = filepath.Join(dir, "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return "", fmt.Errorf("fleet: build the programs: %w", err)
	}
	lock, err := os.Create(filepath.Join(bin, ".lock"))
	if err != nil {
		return "", fmt.Errorf("fleet: build the programs: %w", err)
	}
	defer lock.Close() // which unlocks
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", fmt.Errorf("fleet: build the programs: lock: %w", err)
	}
	programs := []string{"producer", "taskctl", "worker", "ydbembed"}
	build := exec.Command("go", "build", "-o", "bin/")
	build.Dir = dir
	for _, name := range programs {
		build.Args = append(build.Args, "./cmd/"+name)
	}
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("fleet: build the programs: %w\n%s", err, out)
	}
	return FindBinaries(bin, programs...) // go test notes which files were looked at
}
