package rebalancer

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	ydb "github.com/ydb-platform/ydb-go-sdk/v3"

	"github.com/taskfleet/taskfleet/internal/coord"
)

// The states of a Worker.
const (
	// StateActive: takes its share.
	StateActive = stateActive
	// StateDraining: stops, and hands over.
	StateDraining = stateDraining
	// StateDrained: idle by order of Manager.Drain.
	StateDrained = stateDrained
	// StatePaused: idle by its own decision (Rebalancer.Pause).
	StatePaused = statePaused
	// StateGone: drained, and not running.
	StateGone = "gone"
)

// Worker is one worker of a fleet, as the coordination node knows it.
type Worker struct {
	ID          string
	Session     uint64
	Incarnation string
	Weight      int
	State       string
	Version     string
	Kinds       []string  // of tasks that it handles; nil: it does not say
	KindsCut    bool      // it handles more than Kinds
	Drained     time.Time // since when; zero: it is not
	Partitions  []uint16  // whose semaphores it holds, in order
}

// parallelReads bounds the reads of Workers in flight.
const parallelReads = 16

// Manager looks at a fleet from outside and gives it orders. It holds a
// coordination session of its own and owns nothing. Its methods may be called
// concurrently.
type Manager struct {
	session *coord.Session
	orders  sync.Mutex // one order at a time
}

// Manage opens a manager of the fleet whose coordination node is node, an
// absolute path. It must be closed.
func Manage(ctx context.Context, db *ydb.Driver, node string) (*Manager, error) {
	session, err := coord.Open(ctx, db, node, coord.Config{Description: "taskfleet manager"})
	if err != nil {
		return nil, fmt.Errorf("rebalancer: manage: %w", err)
	}
	return &Manager{session: session}, nil
}

// Close ends the session; it returns the error of ctx when that ends first.
func (m *Manager) Close(ctx context.Context) error { return m.session.Close(ctx) }

// Workers returns the workers of the fleet by id: those that are registered, and
// those that are drained and do not run. It reads one semaphore per partition,
// so it is for people and not for loops.
func (m *Manager) Workers(ctx context.Context, partitions int) ([]Worker, error) {
	workers, err := m.registered(ctx)
	if err != nil {
		return nil, err
	}
	owners, err := m.owners(ctx, partitions)
	if err != nil {
		return nil, err
	}
	for i := range workers {
		w := &workers[i]
		if w.Session == 0 {
			continue
		}
		for p, session := range owners {
			if session == w.Session {
				w.Partitions = append(w.Partitions, uint16(p))
			}
		}
	}
	return workers, nil
}

// registered returns the workers without their partitions.
func (m *Manager) registered(ctx context.Context) ([]Worker, error) {
	places, err := m.holders(ctx, registryName)
	if err != nil {
		return nil, err
	}
	d, err := m.drained(ctx)
	if err != nil {
		return nil, err
	}
	var workers []Worker
	here := make(map[string]bool)
	all, _ := readRegistry(places)
	for _, r := range all {
		here[r.Worker] = true
		workers = append(workers, Worker{
			ID: r.Worker, Session: r.session, Incarnation: r.Incarnation, Weight: r.Weight, State: r.State,
			Version: r.Version, Drained: d[r.Worker],
			Kinds: r.Kinds, KindsCut: r.KindsCut,
		})
	}
	for id, since := range d {
		if !here[id] {
			workers = append(workers, Worker{ID: id, State: StateGone, Drained: since})
		}
	}
	slices.SortFunc(workers, func(a, b Worker) int {
		return cmp.Or(strings.Compare(a.ID, b.ID), cmp.Compare(a.Session, b.Session))
	})
	return workers, nil
}

// owners returns the session that holds each partition; 0: nobody does.
func (m *Manager) owners(ctx context.Context, partitions int) ([]uint64, error) {
	owners, errs := make([]uint64, partitions), make([]error, partitions)
	var wg sync.WaitGroup
	slot := make(chan struct{}, parallelReads)
	for p := range partitions {
		slot <- struct{}{}
		wg.Go(func() {
			defer func() { <-slot }()
			var held []coord.Owner
			if held, errs[p] = m.holders(ctx, partitionName(uint16(p))); len(held) > 0 {
				owners[p] = held[0].SessionID
			}
		})
	}
	wg.Wait()
	return owners, errors.Join(errs...)
}

// holders returns who holds a semaphore; nobody does when there is none.
func (m *Manager) holders(ctx context.Context, name string) ([]coord.Owner, error) {
	owners, err := m.session.Holders(ctx, name)
	if errors.Is(err, coord.ErrNotFound) {
		return nil, nil
	}
	return owners, err
}

func (m *Manager) drained(ctx context.Context) (drained, error) {
	data, _, err := m.session.Data(ctx, drainedName)
	if errors.Is(err, coord.ErrNotFound) {
		return drained{}, nil
	}
	if err != nil {
		return nil, err
	}
	return readDrained(data)
}

// UnknownWorkerError names a worker that the fleet does not have.
type UnknownWorkerError struct {
	ID    string
	Known []string // the ids that it has, in order
}

func (e *UnknownWorkerError) Error() string {
	known := "the fleet has none"
	if len(e.Known) > 0 {
		known = "the fleet has " + strings.Join(e.Known, ", ")
	}
	return fmt.Sprintf("rebalancer: unknown worker %q: %s", e.ID, known)
}

// Drain orders a worker to give its partitions away and to stay idle, also after
// a restart under the same id, until Resume. It returns when the order is stored;
// the worker follows within a second or so, and its running tasks have its
// drain timeout. A worker that is not registered is an *UnknownWorkerError. It
// may be repeated. The time at is for people who look at the fleet, and decides
// nothing.
func (m *Manager) Drain(ctx context.Context, worker string, at time.Time) error {
	return m.order(ctx, worker, func(d drained) bool {
		if _, is := d[worker]; is {
			return false
		}
		d[worker] = at
		return true
	})
}

// Resume ends what Drain began. A worker that is neither drained nor registered
// is an *UnknownWorkerError. It may be repeated.
func (m *Manager) Resume(ctx context.Context, worker string) error {
	return m.order(ctx, worker, func(d drained) bool {
		_, is := d[worker]
		delete(d, worker)
		return is
	})
}

// managerName is the semaphore that a manager holds while it changes an order.
const managerName = "fleet-manager"

// order changes the list of drained workers, one manager at a time.
func (m *Manager) order(ctx context.Context, worker string, change func(drained) bool) error {
	workers, err := m.registered(ctx)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(workers, func(w Worker) bool { return w.ID == worker }) {
		unknown := &UnknownWorkerError{ID: worker}
		for _, w := range workers {
			unknown.Known = append(unknown.Known, w.ID)
		}
		unknown.Known = slices.Compact(unknown.Known)
		return unknown
	}
	m.orders.Lock()
	defer m.orders.Unlock()
	lock, err := m.session.Acquire(ctx, managerName, coord.Request{Exclusive: true, Timeout: 10 * time.Second})
	if err != nil {
		return err
	}
	err = m.change(ctx, change)
	return errors.Join(err, lock.Release(context.WithoutCancel(ctx)))
}

func (m *Manager) change(ctx context.Context, change func(drained) bool) error {
	if err := m.session.Ensure(ctx, drainedName); err != nil {
		return err
	}
	d, err := m.drained(ctx)
	if err != nil {
		return err
	}
	if !change(d) {
		return nil
	}
	data, err := json.Marshal(d)
	if err != nil {
		return fmt.Errorf("rebalancer: encode the drained workers: %w", err)
	}
	return m.session.SetData(ctx, drainedName, data)
}
