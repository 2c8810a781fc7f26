package fleet

import (
	"fmt"
	"slices"
	"sync"
	"syscall"
	"time"
)

// Program is what a worker's process runs in place of the shipped worker. It is
// called with --endpoint and --worker-id, then Args. The lines of its output go to
// Stdout and Log, which may be nil.
type Program struct {
	Path   string
	Args   []string
	Env    []string // NAME=value, added to the environment
	Stdout func(line string)
	Log    func(line string) // of stderr, which holds the log in JSON
}

// Kept is a worker that is started again whenever it ends.
type Kept struct {
	// Name is its worker id, the same in every life.
	Name string

	fleet   *Fleet
	program Program
	asked   chan struct{} // closed when it is to end for good
	done    chan struct{} // closed when it is not started any more

	mu      sync.Mutex
	process *Process
	deaths  int
	err     error // why it could not be started again
}

// restartDelay is what a supervisor waits before it starts a process again.
const restartDelay = 100 * time.Millisecond

// KeepWorker starts a worker and starts it again, under the same name, whenever it
// ends, until Kept.Stop, StopWorkers or Close.
func (f *Fleet) KeepWorker(p Program) (*Kept, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.started++
	k := &Kept{Name: fmt.Sprintf("worker-%d", f.started), fleet: f, program: p, asked: make(chan struct{}), done: make(chan struct{})}
	if err := k.start(); err != nil {
		return nil, err
	}
	f.kept = append(f.kept, k)
	go k.keep()
	return k, nil
}

// start starts the process. The caller holds mu, or is the only one who knows k.
func (k *Kept) start() (err error) {
	p := k.program
	args := append([]string{"--endpoint", k.fleet.DSN, "--worker-id", k.Name}, p.Args...)
	k.process, err = startProcess(k.Name, p.Path, args, p.Env, p.Stdout, func(line string) {
		k.fleet.follow(k.Name, line)
		if p.Log != nil {
			p.Log(line)
		}
	})
	return err
}

// keep starts the process again and again.
func (k *Kept) keep() {
	defer close(k.done)
	for {
		<-k.current().Done()
		k.fleet.Ownership.Died(k.Name, time.Now())
		select {
		case <-k.asked:
			return
		case <-time.After(restartDelay):
		}
		if !k.again() {
			return
		}
	}
}

// again starts the next process, unless none is wanted or it cannot be.
func (k *Kept) again() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	select {
	case <-k.asked:
		return false
	default:
	}
	k.deaths++
	k.err = k.start()
	return k.err == nil
}

func (k *Kept) current() *Process {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.process
}

// Kill ends the present process with SIGKILL; the next one starts.
func (k *Kept) Kill() { k.current().Kill() }

// Deaths returns how often the process was started again.
func (k *Kept) Deaths() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.deaths
}

// Tail returns the last lines of the present process's log.
func (k *Kept) Tail() []string { return k.current().Tail() }

// Stop asks the present process to end, for good, and waits for it. A worker that
// was stopped already is no error.
func (k *Kept) Stop() error {
	k.fleet.mu.Lock()
	at := slices.Index(k.fleet.kept, k)
	if at >= 0 {
		k.fleet.kept = slices.Delete(k.fleet.kept, at, at+1)
	}
	k.fleet.mu.Unlock()
	if at < 0 {
		return nil
	}
	return k.ask()()
}

// ask lets the process end for good. The function that it returns waits for that,
// and returns an error when a process that was asked did not end cleanly.
func (k *Kept) ask() (wait func() error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	close(k.asked)
	process := k.process
	select {
	case <-process.Done(): // between two lives
		return func() error { <-k.done; return nil }
	default:
	}
	process.Signal(syscall.SIGTERM)
	return func() error {
		err := process.Wait(stopGrace)
		<-k.done
		return err
	}
}

// failed returns an error when the worker could not be started again.
func (k *Kept) failed() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.err
}
