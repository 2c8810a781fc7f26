package fleet

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// Process is a program that the fleet runs. It ends at the latest when the
// program that started it ends, where the system can see to that.
type Process struct {
	Name string
	cmd  *exec.Cmd
	done chan struct{} // closed when the process has ended and its output is read
	err  error         // of Wait, valid after done

	mu   sync.Mutex
	tail []string // last lines of its stderr, for a report
}

const tailLines = 20

// StartProcess runs a program. Each line of its output goes to stdout or
// stderr, which may be nil; they are called from one goroutine each.
func StartProcess(name, path string, args []string, stdout, stderr func(line string)) (*Process, error) {
	return startProcess(name, path, args, nil, stdout, stderr)
}

func startProcess(name, path string, args, env []string, stdout, stderr func(line string)) (*Process, error) {
	p := &Process{Name: name, cmd: exec.Command(path, args...), done: make(chan struct{})}
	p.cmd.SysProcAttr = childAttributes()
	p.cmd.Env = append(append(os.Environ(), "YDB_ANONYMOUS_CREDENTIALS=1"), env...)
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	errs, err := p.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("fleet: start %s: %w", name, err)
	}
	var readers sync.WaitGroup
	readers.Go(func() { read(out, stdout) })
	readers.Go(func() { read(errs, p.remember, stderr) })
	go func() {
		readers.Wait()
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// read hands each line to those that want it.
func read(r io.Reader, to ...func(line string)) {
	scanner := bufio.NewScanner(r)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		for _, line := range to {
			if line != nil {
				line(scanner.Text())
			}
		}
	}
	_, _ = io.Copy(io.Discard, r) // a line too long ends the scan, not the pipe
}

func (p *Process) remember(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tail = append(p.tail, line)
	if len(p.tail) > tailLines {
		p.tail = p.tail[1:]
	}
}

// Tail returns the last lines of stderr.
func (p *Process) Tail() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.tail...)
}

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err returns how the process ended; call it after Done.
func (p *Process) Err() error { return p.err }

// Signal sends a signal; a process that has ended is no error.
func (p *Process) Signal(sig os.Signal) {
	_ = p.cmd.Process.Signal(sig)
}

// Kill ends the process at once and waits for that.
func (p *Process) Kill() {
	p.Signal(syscall.SIGKILL)
	<-p.done
}

// Stop asks the process to end, and waits as Wait does.
func (p *Process) Stop(grace time.Duration) error {
	p.Signal(syscall.SIGTERM)
	return p.Wait(grace)
}

// Wait waits for the end of a process that was asked to end, and kills it when
// it has not within the grace. It returns an error when the process did not end
// cleanly.
func (p *Process) Wait(grace time.Duration) error {
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.done:
	case <-timer.C:
		p.Kill()
		return fmt.Errorf("fleet: %s did not stop within %s", p.Name, grace)
	}
	if p.err != nil {
		return fmt.Errorf("fleet: %s: %w", p.Name, p.err)
	}
	return nil
}

// FindBinaries returns the folder that holds the named programs: dir, or that of
// the running program.
func FindBinaries(dir string, names ...string) (string, error) {
	if dir == "" {
		self, err := os.Executable()
		if err != nil {
			return "", fmt.Errorf("fleet: find programs: %w", err)
		}
		dir = filepath.Dir(self)
	}
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return "", fmt.Errorf("fleet: program %s is not in %s: run `make build`, or name the folder with --bin-dir", name, dir)
		}
	}
	return dir, nil
}
