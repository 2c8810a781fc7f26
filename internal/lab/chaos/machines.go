package chaos

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/taskfleet/taskfleet/internal/lab/fleet"
	"github.com/taskfleet/taskfleet/internal/lab/proxy"
)

// stopGrace is what a process gets to end by itself.
const stopGrace = 60 * time.Second

// machine is one worker or producer.
type machine struct {
	Spec
	process *fleet.Process
	proxy   *proxy.Proxy // nil when it is connected directly
}

// machines are the workers and producers that run.
type machines struct {
	fleet    *fleet.Fleet
	bin      string
	logs     string // folder; empty: none are kept
	record   *Recorder
	worker   []string // arguments
	producer []string

	mu      sync.Mutex
	running map[string]*machine
	leaving sync.WaitGroup
	failed  []error // of processes that were to end by themselves
	proxies []*proxy.Proxy
	files   []*os.File
}

// start starts a process.
func (m *machines) start(s Spec) error {
	address, err := m.fleet.Address()
	if err != nil {
		return err
	}
	started := &machine{Spec: s}
	endpoint := m.fleet.DSN
	if s.Proxied {
		if started.proxy, err = proxy.Listen(address); err != nil {
			return err
		}
		m.mu.Lock()
		m.proxies = append(m.proxies, started.proxy)
		m.mu.Unlock()
		endpoint = strings.Replace(endpoint, address, started.proxy.Addr(), 1)
	}
	args := []string{
		"--endpoint", endpoint, "--journal", "--clock-offset", s.Offset.String(),
		"--metrics-addr", "", "--dial-timeout", "1m",
	}
	program := "producer"
	if s.Producer {
		args = append(args, m.producer...)
	} else {
		program = "worker"
		args = append(append(args, "--worker-id", s.ID, "--allow-private"), m.worker...) // the sink is on this machine
	}
	log, err := m.log(s.Name)
	if err != nil {
		return err
	}
	started.process, err = fleet.StartProcess(s.Name, filepath.Join(m.bin, program), args,
		func(line string) { m.record.Line(s, line) }, log)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.running[s.Name] = started
	return nil
}

// log returns what takes the lines of a process's log, if they are kept.
func (m *machines) log(name string) (func(line string), error) {
	if m.logs == "" {
		return nil, nil
	}
	file, err := os.Create(filepath.Join(m.logs, name+".log"))
	if err != nil {
		return nil, fmt.Errorf("chaos: keep the log of %s: %w", name, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.files = append(m.files, file)
	return func(line string) { _, _ = fmt.Fprintln(file, line) }, nil
}

// find returns a process that runs.
func (m *machines) find(name string) (*machine, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	found := m.running[name]
	if found == nil {
		return nil, fmt.Errorf("chaos: no process %s runs", name)
	}
	return found, nil
}

// take returns a process that is no longer expected to run.
func (m *machines) take(name string) (*machine, error) {
	found, err := m.find(name)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.running, name)
	return found, nil
}

func (m *machines) kill(name string) error {
	victim, err := m.take(name)
	if err != nil {
		return err
	}
	victim.process.Kill()
	m.record.Gone(name)
	return nil
}

// leave asks a process to end, and does not wait for it.
func (m *machines) leave(name string) error {
	victim, err := m.take(name)
	if err != nil {
		return err
	}
	victim.process.Signal(syscall.SIGTERM)
	m.leaving.Go(func() {
		if err := victim.process.Wait(stopGrace); err != nil {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.failed = append(m.failed, fmt.Errorf("%w\n%s", err, strings.Join(victim.process.Tail(), "\n")))
		}
		m.record.Gone(name)
	})
	return nil
}

// leaveAll asks those that are chosen to end, and waits for them.
func (m *machines) leaveAll(chosen func(Spec) bool) error {
	m.mu.Lock()
	var names []string
	for name, machine := range m.running {
		if chosen(machine.Spec) {
			names = append(names, name)
		}
	}
	m.mu.Unlock()
	var errs []error
	for _, name := range names {
		errs = append(errs, m.leave(name))
	}
	m.leaving.Wait()
	m.mu.Lock()
	defer m.mu.Unlock()
	return errors.Join(append(errs, m.failed...)...)
}

// check returns an error when a process ended that should run.
func (m *machines) check() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	errs := append([]error(nil), m.failed...)
	for _, machine := range m.running {
		select {
		case <-machine.process.Done():
			errs = append(errs, fmt.Errorf("chaos: %s ended by itself: %v\n%s",
				machine.Name, machine.process.Err(), strings.Join(machine.process.Tail(), "\n")))
		default:
		}
	}
	return errors.Join(errs...)
}

// close kills what is left.
func (m *machines) close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, machine := range m.running {
		machine.process.Kill()
	}
	clear(m.running)
	var errs []error
	for _, p := range m.proxies {
		errs = append(errs, p.Close())
	}
	for _, file := range m.files {
		errs = append(errs, file.Close())
	}
	m.proxies, m.files = nil, nil
	return errors.Join(errs...)
}
