package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Fleet is a database, a sink and the workers of one machine. Its methods are
// safe for concurrent use.
type Fleet struct {
	// DSN is the connection string of the embedded database.
	DSN string
	// Sink receives the deliveries.
	Sink *Sink
	// Ownership follows the workers' partitions.
	Ownership *Ownership

	bin    string
	dir    string
	server *Process

	mu        sync.Mutex
	workers   map[string]*Process // running
	kept      []*Kept
	metrics   map[string]string // address of /metrics, by the name of the process
	started   int
	producers int
	killed    int
}

// startTimeout bounds the start of the database.
const startTimeout = 30 * time.Second

// Start starts the embedded database on a new temporary folder, and the
// sink. The programs are those in the folder bin. Close ends everything.
func Start(ctx context.Context, bin string) (*Fleet, error) {
	dir, err := os.MkdirTemp("", "taskfleet-fleet-")
	if err != nil {
		return nil, fmt.Errorf("fleet: make a folder: %w", err)
	}
	f := &Fleet{Ownership: NewOwnership(), bin: bin, dir: dir, workers: map[string]*Process{}, metrics: map[string]string{}}
	if err := f.start(ctx); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func (f *Fleet) start(ctx context.Context) (err error) {
	if f.Sink, err = StartSink(); err != nil {
		return fmt.Errorf("fleet: start the sink: %w", err)
	}
	return f.startServer(ctx, "127.0.0.1:0")
}

// startServer starts the database and waits until it is ready.
func (f *Fleet) startServer(ctx context.Context, listen string) error {
	ready := make(chan string, 1)
	server, err := StartProcess("ydbembed", filepath.Join(f.bin, "ydbembed"),
		[]string{"--listen", listen, "--data", filepath.Join(f.dir, "data")},
		func(line string) {
			if dsn, ok := strings.CutPrefix(line, "ydbembed ready "); ok {
				ready <- dsn
			}
		}, nil)
	if err != nil {
		return err
	}
	f.mu.Lock()
	f.server = server
	f.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	select {
	case f.DSN = <-ready:
		return nil
	case <-server.Done():
		return fmt.Errorf("fleet: ydbembed ended at its start: %s", strings.Join(server.Tail(), "\n"))
	case <-ctx.Done():
		return fmt.Errorf("fleet: ydbembed is not ready: %w", ctx.Err())
	}
}

// RestartServer ends the database with SIGKILL and starts it again on the same
// address and data.
func (f *Fleet) RestartServer(ctx context.Context) error {
	f.KillServer()
	return f.StartServer(ctx)
}

// KillServer ends the database with SIGKILL, until StartServer.
func (f *Fleet) KillServer() {
	f.mu.Lock()
	server := f.server
	f.server = nil
	f.mu.Unlock()
	server.Kill()
}

// StartServer starts the database again, on the same address and data.
func (f *Fleet) StartServer(ctx context.Context) error {
	address, err := f.Address()
	if err != nil {
		return err
	}
	return f.startServer(ctx, address)
}

// Address is the host and port of the database.
func (f *Fleet) Address() (string, error) {
	dsn, err := url.Parse(f.DSN)
	if err != nil {
		return "", fmt.Errorf("fleet: address of the server: %w", err)
	}
	return dsn.Host, nil
}

// StartWorker starts one more worker and returns its name.
func (f *Fleet) StartWorker(args ...string) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	name := fmt.Sprintf("worker-%d", f.started+1)
	args = append([]string{"--endpoint", f.DSN, "--worker-id", name, "--metrics-addr", "127.0.0.1:0", "--log-format", "json",
		"--allow-private" /* the sink */}, args...)
	p, err := StartProcess(name, filepath.Join(f.bin, "worker"), args, nil, func(line string) { f.follow(name, line) })
	if err != nil {
		return "", err
	}
	f.started++
	f.workers[name] = p
	return name, nil
}

// follow reads a program's log for what it says of partitions and of its metrics.
func (f *Fleet) follow(worker, line string) {
	var entry struct {
		Time      time.Time `json:"time"`
		Msg       string    `json:"msg"`
		Partition int       `json:"partition"`
		Addr      string    `json:"addr"`
	}
	if json.Unmarshal([]byte(line), &entry) != nil {
		return
	}
	switch entry.Msg {
	case "metrics served":
		f.mu.Lock()
		f.metrics[worker] = entry.Addr
		f.mu.Unlock()
	case "partition acquired":
		f.Ownership.Acquired(entry.Partition, worker, entry.Time)
	case "partition released":
		f.Ownership.Released(entry.Partition, worker, entry.Time)
	}
}

// StartProducer starts a producer; each line of its stdout goes to stdout.
func (f *Fleet) StartProducer(stdout func(line string), args ...string) (*Process, error) {
	args = append([]string{"--endpoint", f.DSN, "--metrics-addr", "127.0.0.1:0", "--log-format", "json"}, args...)
	f.mu.Lock()
	f.producers++
	name := fmt.Sprintf("producer-%d", f.producers)
	f.mu.Unlock()
	return StartProcess(name, filepath.Join(f.bin, "producer"), args, stdout, func(line string) { f.follow(name, line) })
}

// Metrics returns where the workers and producers that were started serve their
// metrics, host and port by name. One that has just been started is missing.
func (f *Fleet) Metrics() map[string]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.metrics)
}

// KillWorker ends a worker with SIGKILL.
func (f *Fleet) KillWorker(name string) error {
	p, err := f.take(name)
	if err != nil {
		return err
	}
	at := time.Now()
	p.Kill()
	f.Ownership.Died(name, at)
	f.mu.Lock()
	f.killed++
	f.mu.Unlock()
	return nil
}

// StopWorker asks a worker to end, and waits for it.
func (f *Fleet) StopWorker(name string) error {
	p, err := f.take(name)
	if err != nil {
		return err
	}
	return p.Stop(stopGrace)
}

// take removes a worker from those that are expected to run.
func (f *Fleet) take(name string) (*Process, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.workers[name]
	if p == nil {
		return nil, fmt.Errorf("fleet: no worker %s runs", name)
	}
	delete(f.workers, name)
	return p, nil
}

// StallWorker stops a worker's process, as a machine does that is suspended,
// until WakeWorker. Its partitions count as without an owner from then on.
func (f *Fleet) StallWorker(name string) error {
	at := time.Now()
	if err := f.signalWorker(name, syscall.SIGSTOP); err != nil {
		return err
	}
	f.Ownership.Died(name, at)
	return nil
}

// WakeWorker lets a stalled worker go on.
func (f *Fleet) WakeWorker(name string) error { return f.signalWorker(name, syscall.SIGCONT) }

func (f *Fleet) signalWorker(name string, sig os.Signal) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.workers[name]
	if p == nil {
		return fmt.Errorf("fleet: no worker %s runs", name)
	}
	p.Signal(sig)
	return nil
}

// Running returns how many workers are expected to run.
func (f *Fleet) Running() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.workers) + len(f.kept)
}

// Workers returns how many workers were started, and how many killed.
func (f *Fleet) Workers() (started, killed int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.started, f.killed
}

// Failed returns an error when a process that should run has ended.
func (f *Fleet) Failed() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range append(f.running(), f.server) {
		if p == nil {
			continue // the server is being restarted
		}
		select {
		case <-p.Done():
			return fmt.Errorf("fleet: %s ended: %w: %s", p.Name, p.Err(), strings.Join(p.Tail(), "\n"))
		default:
		}
	}
	for _, k := range f.kept {
		if err := k.failed(); err != nil {
			return err
		}
	}
	return nil
}

func (f *Fleet) running() []*Process {
	var all []*Process
	for _, p := range f.workers {
		all = append(all, p)
	}
	return all
}

// stopGrace is what a worker gets to hand its partitions back.
const stopGrace = 20 * time.Second

// StopWorkers asks all workers to end, and waits for them.
func (f *Fleet) StopWorkers() error {
	f.mu.Lock()
	workers, kept := f.running(), f.kept
	clear(f.workers)
	f.kept = nil
	f.mu.Unlock()
	for _, p := range workers {
		p.Signal(syscall.SIGTERM)
	}
	var waits []func() error
	for _, k := range kept {
		waits = append(waits, k.ask())
	}
	var errs []error
	for _, wait := range waits {
		errs = append(errs, wait())
	}
	for _, p := range workers {
		errs = append(errs, p.Wait(stopGrace)) // a second signal would end it at once
	}
	return errors.Join(errs...)
}

// Close ends what still runs and removes the folder.
func (f *Fleet) Close() error {
	errs := []error{f.StopWorkers()}
	if f.server != nil {
		errs = append(errs, f.server.Stop(stopGrace))
	}
	if f.Sink != nil {
		errs = append(errs, f.Sink.Close())
	}
	return errors.Join(append(errs, os.RemoveAll(f.dir))...)
}
