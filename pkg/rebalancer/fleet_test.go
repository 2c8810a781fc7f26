package rebalancer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// fleet is a number of workers in one process, and the judge of what they may
// do: it knows who works on what, and fails the test at the first moment at
// which two do, an epoch does not rise, or a partition is released before it is
// empty.
type fleet struct {
	t          *testing.T
	partitions int

	mu         sync.Mutex
	changed    chan struct{} // closed and replaced at every event
	epochs     map[uint16]uint64
	worked     map[uint16]uint64 // the highest epoch that anybody worked under
	owners     map[uint16]*tenure
	lastOwned  map[uint16]time.Time // when a partition's last tenure ended
	gaps       []time.Duration      // between two tenures of a partition
	fenceErr   error                // what Raise answers, if set
	raises     int
	raised     int
	violations []string
}

// tenure is one worker's time with one partition.
type tenure struct {
	worker string
	lease  context.Context
	epoch  uint64
}

func newFleet(t *testing.T, partitions int) *fleet {
	f := &fleet{
		t: t, partitions: partitions, changed: make(chan struct{}),
		epochs: make(map[uint16]uint64), worked: make(map[uint16]uint64),
		owners: make(map[uint16]*tenure), lastOwned: make(map[uint16]time.Time),
	}
	t.Cleanup(func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		require.Empty(t, f.violations)
	})
	return f
}

// Raise is the fence of all workers.
func (f *fleet) Raise(_ context.Context, partitions []uint16, _ string) (map[uint16]uint64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fenceErr != nil {
		return nil, f.fenceErr
	}
	f.raises++
	f.raised += len(partitions)
	raised := make(map[uint16]uint64, len(partitions))
	for _, p := range partitions {
		f.epochs[p]++
		raised[p] = f.epochs[p]
	}
	return raised, nil
}

func (f *fleet) event() {
	close(f.changed)
	f.changed = make(chan struct{})
}

func (f *fleet) violation(format string, args ...any) {
	f.violations = append(f.violations, fmt.Sprintf(format, args...))
}

// await returns when cond holds; cond runs under the fleet's lock, after every
// event.
func (f *fleet) await(limit time.Duration, what string, cond func() bool) time.Duration {
	f.t.Helper()
	began := time.Now()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		f.mu.Lock()
		ok, changed := cond(), f.changed
		state := f.loads()
		f.mu.Unlock()
		if ok {
			return time.Since(began)
		}
		select {
		case <-changed:
		case <-timer.C:
			require.FailNow(f.t, "not in time: "+what, "after %v: %v", limit, state)
		}
	}
}

// loads counts the live tenures of each worker.
func (f *fleet) loads() map[string]int {
	n := make(map[string]int)
	for _, o := range f.owners {
		if o.lease.Err() == nil {
			n[o.worker]++
		}
	}
	return n
}

// balanced tells whether these workers, of equal weight, own everything with
// loads that differ by at most one.
func (f *fleet) balanced(workers ...*member) func() bool {
	return func() bool {
		n := f.loads()
		sum := 0
		for _, w := range workers {
			load := n[w.id]
			if load < f.partitions/len(workers) || load > (f.partitions+len(workers)-1)/len(workers) {
				return false
			}
			sum += load
		}
		return sum == f.partitions
	}
}

// member is one worker: its rebalancer, and a consumer that takes its time.
type member struct {
	NopObserver
	f  *fleet
	id string
	r  *Rebalancer

	mu       sync.Mutex
	drain    func(ctx context.Context, partition uint16) error // nil: at once
	sessions []session
	plans    int
	failures []string
}

func (f *fleet) config(id string) Config {
	return Config{
		WorkerID: id, Partitions: f.partitions, Node: "/local/taskfleet/node", Fence: f,
		Logger: slog.New(slog.DiscardHandler),
	}
}

// join starts a worker whose sessions come from open.
func (f *fleet) join(cfg Config, open opener) *member {
	f.t.Helper()
	m := &member{f: f, id: cfg.WorkerID}
	cfg.Consumer, cfg.Observer = m, m
	cfg = cfg.withDefaults()
	require.NoError(f.t, cfg.validate())
	m.r = newRebalancer(cfg, func(ctx context.Context) (session, error) {
		s, err := open(ctx)
		if err == nil {
			m.mu.Lock()
			m.sessions = append(m.sessions, s)
			m.mu.Unlock()
		}
		return s, err
	})
	require.NoError(f.t, m.r.Start(context.WithoutCancel(f.t.Context())))
	return m
}

// leave stops a worker in order.
func (m *member) leave() {
	m.f.t.Helper()
	require.NoError(m.f.t, m.r.Stop(context.WithoutCancel(m.f.t.Context())))
}

// abort ends a worker without draining, as a test's last act.
func (m *member) abort() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(m.f.t, m.r.Stop(ctx), context.Canceled)
}

func (m *member) session() session {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sessions[len(m.sessions)-1]
}

// Acquired is the Consumer's.
func (m *member) Acquired(lease context.Context, p uint16, epoch uint64) {
	f := m.f
	f.mu.Lock()
	defer f.mu.Unlock()
	if o := f.owners[p]; o != nil && o.lease.Err() == nil && lease.Err() == nil {
		f.violation("partition %d: %s acquired it under epoch %d while %s works under %d", p, m.id, epoch, o.worker, o.epoch)
	}
	if epoch <= f.worked[p] {
		f.violation("partition %d: epoch %d after %d", p, epoch, f.worked[p])
	}
	f.worked[p] = epoch
	if last, ok := f.lastOwned[p]; ok {
		f.gaps = append(f.gaps, time.Since(last))
	}
	t := &tenure{worker: m.id, lease: lease, epoch: epoch}
	f.owners[p] = t
	f.event()
	context.AfterFunc(lease, func() { f.ended(p, t) })
}

func (f *fleet) ended(p uint16, t *tenure) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.owners[p] == t {
		delete(f.owners, p)
	}
	f.lastOwned[p] = time.Now()
	f.event()
}

// Revoke is the Consumer's.
func (m *member) Revoke(ctx context.Context, p uint16) error {
	m.mu.Lock()
	drain := m.drain
	m.mu.Unlock()
	if drain != nil {
		return drain(ctx, p)
	}
	return nil
}

func (m *member) setDrain(drain func(ctx context.Context, p uint16) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drain = drain
}

// Planned is the Observer's.
func (m *member) Planned(int, int, int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.plans++
}

func (m *member) planned() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.plans
}

// Failed is the Observer's.
func (m *member) Failed(op string, err error) {
	m.mu.Lock()
	m.failures = append(m.failures, op+": "+err.Error())
	m.mu.Unlock()
	m.f.mu.Lock()
	defer m.f.mu.Unlock()
	m.f.event()
}

func (m *member) failed() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string(nil), m.failures...)
}

var errTest = errors.New("the test says so")
