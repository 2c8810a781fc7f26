package rebalancer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/taskfleet/taskfleet/internal/coord"
)

// fakeNode is a coordination node in memory: sessions, ephemeral semaphores with
// first-in-first-out queues, and watches of their owners. It tells no lies about
// order and adds no delays, so that tests can run on a virtual clock.
type fakeNode struct {
	mu         sync.Mutex
	sessions   uint64
	orders     uint64
	requests   int // acquires, updates, releases and reads
	bytes      int // of the answers to reads
	tablet     *tablet
	semaphores map[string]*fakeSemaphore
	openErr    error                            // what opening a session answers, if set
	fail       func(request, name string) error // what a request answers, if set and not nil
	opens      []time.Time                      // when that was asked
}

type fakeSemaphore struct {
	persistent bool
	data       []byte
	holders    []*fakeHolder // owners first, then waiters, each in the order of arrival
	watches    map[*fakeSession]*fakeWatch
}

type fakeWatch struct {
	data bool // of the data; otherwise of the owners
	fire chan struct{}
}

// tell fires the watches of one kind.
func (s *fakeSemaphore) tell(data bool) {
	for session, w := range s.watches {
		if w.data == data {
			close(w.fire)
			delete(s.watches, session)
		}
	}
}

type fakeHolder struct {
	session   *fakeSession
	order     uint64
	exclusive bool
	data      []byte
	owner     bool
	granted   chan struct{}
}

type fakeSession struct {
	node   *fakeNode
	id     uint64
	ctx    context.Context
	cancel context.CancelCauseFunc
}

type fakeLease struct {
	session *fakeSession
	name    string
	ctx     context.Context
	cancel  context.CancelCauseFunc
}

// tablet makes a fakeNode as slow as one thread that carries out one request
// after the other: each answer comes when all requests before it are done.
type tablet struct {
	change time.Duration // one request that changes something
	read   time.Duration // one that does not
	perKiB time.Duration // of an answer
	free   time.Time     // when all that was asked so far is done
}

// answer waits for the tablet. The caller does not hold mu.
func (n *fakeNode) answer(change bool, bytes int) {
	if n.tablet == nil {
		return
	}
	n.mu.Lock()
	cost := n.tablet.read + time.Duration(bytes)*n.tablet.perKiB/1024
	if change {
		cost = n.tablet.change
	}
	now := time.Now()
	if n.tablet.free.Before(now) {
		n.tablet.free = now
	}
	n.tablet.free = n.tablet.free.Add(cost)
	wait := n.tablet.free.Sub(now)
	n.mu.Unlock()
	<-time.After(wait)
}

// refuse returns what a request answers instead, if anything.
func (n *fakeNode) refuse(request, name string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.fail == nil {
		return nil
	}
	return n.fail(request, name)
}

func newFakeNode() *fakeNode { return &fakeNode{semaphores: make(map[string]*fakeSemaphore)} }

func (n *fakeNode) open(ctx context.Context) (session, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.opens = append(n.opens, time.Now())
	if n.openErr != nil {
		return nil, n.openErr
	}
	n.sessions++
	s := &fakeSession{node: n, id: n.sessions}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	return s, ctx.Err()
}

// expire drops everything that a session holds or waits for.
func (n *fakeNode) expire(s *fakeSession) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for name := range n.semaphores {
		n.remove(name, s)
	}
}

func (n *fakeNode) remove(name string, s *fakeSession) {
	sem := n.semaphores[name]
	if sem == nil {
		return
	}
	kept := sem.holders[:0]
	changed := false
	for _, h := range sem.holders {
		if h.session == s {
			changed = changed || h.owner
			continue
		}
		kept = append(kept, h)
	}
	sem.holders = kept
	n.settle(name, changed)
}

// settle grants what can be granted, tells the watchers, and drops a semaphore
// that nobody holds.
func (n *fakeNode) settle(name string, changed bool) {
	sem := n.semaphores[name]
	for i, h := range sem.holders {
		blocked := i > 0 && (h.exclusive || sem.holders[0].exclusive)
		if blocked {
			break
		}
		if !h.owner {
			h.owner, changed = true, true
			close(h.granted)
		}
	}
	if changed {
		sem.tell(false)
	}
	if len(sem.holders) == 0 && !sem.persistent {
		sem.tell(true)
		delete(n.semaphores, name)
	}
}

// left returns the semaphores that somebody holds or waits for.
func (n *fakeNode) left() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var names []string
	for name, sem := range n.semaphores {
		if len(sem.holders) > 0 {
			names = append(names, name)
		}
	}
	return names
}

// waiters returns the sessions that wait for a semaphore.
func (n *fakeNode) waiters(name string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.semaphores[name] == nil {
		return 0
	}
	waiting := 0
	for _, h := range n.semaphores[name].holders {
		if !h.owner {
			waiting++
		}
	}
	return waiting
}

func (s *fakeSession) ID() uint64               { return s.id }
func (s *fakeSession) Context() context.Context { return s.ctx }

// Close ends a session on both sides; one that is lost already, on neither.
func (s *fakeSession) Close(context.Context) error {
	if s.ctx.Err() == nil {
		s.cancel(coord.ErrClosed)
		s.node.expire(s)
	}
	return nil
}

// lose ends the session on the client's side only, as a network that is gone does.
func (s *fakeSession) lose() {
	s.cancel(fmt.Errorf("the test cut it: %w", coord.ErrSessionLost))
}

func (s *fakeSession) Acquire(ctx context.Context, name string, r coord.Request) (lease, error) {
	if s.ctx.Err() != nil {
		return nil, context.Cause(s.ctx)
	}
	if err := s.node.refuse("acquire", name); err != nil {
		return nil, err
	}
	n := s.node
	n.mu.Lock()
	n.requests++
	sem := n.semaphores[name]
	if sem == nil {
		sem = newFakeSemaphore()
		n.semaphores[name] = sem
	}
	if slices.ContainsFunc(sem.holders, func(h *fakeHolder) bool { return h.session == s }) {
		n.mu.Unlock()
		return nil, coord.ErrBusy
	}
	n.orders++
	h := &fakeHolder{session: s, order: n.orders, exclusive: r.Exclusive, data: r.Data, granted: make(chan struct{})}
	sem.holders = append(sem.holders, h)
	n.settle(name, false)
	n.mu.Unlock()
	n.answer(true, 0)

	timer := time.NewTimer(r.Timeout)
	defer timer.Stop()
	var err error
	select {
	case <-h.granted:
		return s.lease(name), nil
	case <-timer.C:
		err = coord.ErrTimeout
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-s.ctx.Done():
		return nil, context.Cause(s.ctx) // the server forgets it when the session expires
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if h.owner { // granted at the very moment
		return s.lease(name), nil
	}
	n.requests++
	n.remove(name, s)
	return nil, err
}

func (s *fakeSession) lease(name string) lease {
	l := &fakeLease{session: s, name: name}
	l.ctx, l.cancel = context.WithCancelCause(s.ctx)
	return l
}

func (s *fakeSession) Owners(ctx context.Context, name string) ([]coord.Owner, <-chan struct{}, error) {
	if err := errors.Join(s.ctx.Err(), ctx.Err(), s.node.refuse("owners", name)); err != nil {
		return nil, nil, err
	}
	n := s.node
	read := 0
	defer func() { n.answer(false, read) }()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.requests++
	sem := n.semaphores[name]
	if sem == nil {
		return nil, nil, coord.ErrNotFound
	}
	watch := sem.watch(s, false)
	owners := make([]coord.Owner, 0, len(sem.holders))
	for _, h := range sem.holders {
		if h.owner {
			owners = append(owners, coord.Owner{SessionID: h.session.id, OrderID: h.order, Data: h.data})
			read += len(h.data) + ownerBytes
		}
	}
	n.bytes += read
	return owners, watch, nil
}

// ownerBytes is about what an owner takes on the wire beside its data.
const ownerBytes = 16

func newFakeSemaphore() *fakeSemaphore {
	return &fakeSemaphore{watches: make(map[*fakeSession]*fakeWatch)}
}

// watch replaces the session's watch.
func (s *fakeSemaphore) watch(session *fakeSession, data bool) chan struct{} {
	if old := s.watches[session]; old != nil {
		close(old.fire)
	}
	w := &fakeWatch{data: data, fire: make(chan struct{})}
	s.watches[session] = w
	return w.fire
}

func (s *fakeSession) Ensure(ctx context.Context, name string) error {
	if err := errors.Join(s.ctx.Err(), ctx.Err()); err != nil {
		return err
	}
	n := s.node
	defer n.answer(true, 0)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.requests++
	if n.semaphores[name] == nil {
		n.semaphores[name] = newFakeSemaphore()
		n.semaphores[name].persistent = true
	}
	return nil
}

func (s *fakeSession) Data(ctx context.Context, name string) ([]byte, <-chan struct{}, error) {
	if err := errors.Join(s.ctx.Err(), ctx.Err(), s.node.refuse("data", name)); err != nil {
		return nil, nil, err
	}
	n := s.node
	read := 0
	defer func() { n.answer(false, read) }()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.requests++
	sem := n.semaphores[name]
	if sem == nil {
		return nil, nil, coord.ErrNotFound
	}
	read = len(sem.data)
	n.bytes += read
	return sem.data, sem.watch(s, true), nil
}

func (s *fakeSession) SetData(ctx context.Context, name string, data []byte) error {
	if err := errors.Join(s.ctx.Err(), ctx.Err()); err != nil {
		return err
	}
	n := s.node
	defer n.answer(true, 0)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.requests++
	sem := n.semaphores[name]
	if sem == nil {
		return coord.ErrNotFound
	}
	sem.data = data
	sem.tell(true)
	return nil
}

func (l *fakeLease) Context() context.Context { return l.ctx }

func (l *fakeLease) Update(_ context.Context, data []byte) error {
	n := l.session.node
	defer n.answer(true, 0)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.requests++
	for _, h := range n.semaphores[l.name].holders {
		if h.session == l.session {
			h.data = data
		}
	}
	n.settle(l.name, true)
	return nil
}

func (l *fakeLease) Release(context.Context) error {
	if l.ctx.Err() != nil {
		return nil
	}
	l.cancel(coord.ErrReleased)
	n := l.session.node
	defer n.answer(true, 0)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.requests++
	n.remove(l.name, l.session)
	return nil
}
