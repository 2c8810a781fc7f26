package coordsvc

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	pb "github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Coordination"
)

// Readers wait while this much of a node's outbox waits for the disk.
const (
	maxOutbox      = 16_384
	maxOutboxBytes = 64 << 20
)

const linkFailure = "Link failure"

// node is the actor around one machine: requests come from many streams, one
// goroutine makes them durable and sends the replies.
type node struct {
	path    string
	storage Storage
	clock   clockwork.Clock
	log     *slog.Logger
	failing bool // the latest write failed; run's own

	mu      sync.Mutex
	config  *pb.Config
	machine *machine            // nil when the node is shut or its records could not be read
	ended   *pb.SessionResponse // what new streams get once the node is shut
	taken   chan struct{}       // closed when the outbox is next taken

	wake chan struct{}
	quit chan struct{}
	done chan struct{}
}

func newNode(path string, config *pb.Config, m *machine, opts Options) *node {
	return &node{
		path:    path,
		storage: opts.Store,
		clock:   opts.Clock,
		log:     opts.Logger.With("node", path),
		config:  config,
		machine: m,
		taken:   make(chan struct{}),
		wake:    make(chan struct{}, 1),
		quit:    make(chan struct{}),
		done:    make(chan struct{}),
	}
}

// run makes changes durable and delivers replies until the node is shut.
func (n *node) run() {
	defer close(n.done)
	for {
		next, pending := n.flush()
		var due <-chan time.Time
		var timer clockwork.Timer
		if pending {
			timer = n.clock.NewTimer(next.Sub(n.clock.Now()))
			due = timer.Chan()
		}
		select {
		case <-n.wake:
		case <-due:
		case <-n.quit:
			n.flush()
			return
		}
		if timer != nil {
			timer.Stop()
		}
	}
}

// signal asks run for a flush. The mutex may be held.
func (n *node) signal() {
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// flush lets due timers fire, writes what changed in one batch, and then sends
// what the machine had to say. It returns when the next timer is due.
func (n *node) flush() (next time.Time, ok bool) {
	n.mu.Lock()
	if n.machine == nil {
		n.mu.Unlock()
		return time.Time{}, false
	}
	n.machine.advance(n.clock.Now())
	out := n.machine.takeOutbox()
	b := n.machine.takeBatch(nodePrefix(n.path))
	next, ok = n.machine.deadlines.next()
	close(n.taken)
	n.taken = make(chan struct{})
	n.mu.Unlock()

	if !b.empty() {
		err := n.storage.MetaBatch(b.puts, b.deletes)
		n.report(err)
		if err != nil {
			n.restart(out)
			n.signal()
			return time.Time{}, false
		}
	}
	for _, ev := range out {
		ev.to.push(ev.msg)
	}
	return next, ok
}

// report logs the first of a row of failures to write, and their end: each
// client that comes back meets the next one.
func (n *node) report(err error) {
	switch {
	case err != nil && !n.failing:
		n.log.Error("coordination node restarts: its changes cannot be written", "error", err)
	case err == nil && n.failing:
		n.log.Info("coordination node writes again")
	}
	n.failing = err != nil
}

// restart does what a change of leader does in YDB: all streams end with
// UNAVAILABLE, and the state is read back from the storage. Nobody has been
// told of what is lost.
func (n *node) restart(unsent []event) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.machine == nil {
		return
	}
	n.machine.shut(linkFailure)
	for _, ev := range append(unsent, n.machine.takeOutbox()...) {
		ev.to.push(failure(Ydb.StatusIds_UNAVAILABLE, linkFailure))
	}
	n.machine = nil
	n.reload()
}

// reload reads the machine back from the storage; the mutex is held.
func (n *node) reload() {
	l := newLoader()
	err := n.storage.MetaScan(nodePrefix(n.path), func(key string, value []byte) error {
		_, kind, rest, err := splitKey(key)
		if err != nil {
			return err
		}
		return l.add(kind, rest, value)
	})
	if err == nil {
		n.machine, err = l.finish(n.clock.Now(), gracePeriod(n.config))
	}
	if err != nil {
		n.log.Error("coordination node cannot be read", "error", err)
	}
}

// attach starts a session on a stream. The answer comes through the stream.
func (n *node) attach(st *stream, start *pb.SessionRequest_SessionStart) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ended != nil {
		st.push(n.ended)
		return
	}
	if n.machine == nil {
		n.reload()
	}
	if n.machine == nil {
		st.push(failure(Ydb.StatusIds_UNAVAILABLE, linkFailure))
		return
	}
	if s := n.machine.attach(n.clock.Now(), st, start); s != nil {
		st.session = s.id
	}
	n.signal()
}

// attached returns the session of a stream, nil when it has ended or moved to
// another stream; the mutex is held.
func (n *node) attached(st *stream) *session {
	if n.machine == nil {
		return nil
	}
	if s := n.machine.sessions[st.session]; s != nil && s.at == receiver(st) {
		return s
	}
	return nil
}

// handle applies a request. One of a session that is no longer the stream's is
// ignored: the stream's failure is on its way.
func (n *node) handle(st *stream, req *pb.SessionRequest) {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := n.attached(st)
	if s == nil {
		return
	}
	if !n.machine.handle(n.clock.Now(), s, req) {
		n.machine.emit(st, failure(Ydb.StatusIds_BAD_REQUEST, "Unimplemented request"))
		n.machine.detach(n.clock.Now(), s)
	}
	n.signal()
}

// fail ends a stream with a failure, after everything that was said before. Its
// session is detached.
func (n *node) fail(st *stream, status Ydb.StatusIds_StatusCode, reason string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if s := n.attached(st); s != nil {
		n.machine.emit(st, failure(status, reason))
		n.machine.detach(n.clock.Now(), s)
		n.signal()
	}
}

// detach notes that a stream has ended; false when it had no session any more.
func (n *node) detach(st *stream) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := n.attached(st)
	if s == nil {
		return false
	}
	n.machine.detach(n.clock.Now(), s)
	n.signal()
	return true
}

// waitForRoom blocks while too much waits for the disk.
func (n *node) waitForRoom(ctx context.Context) {
	for {
		n.mu.Lock()
		full := n.machine != nil && (len(n.machine.outbox) > maxOutbox || n.machine.size > maxOutboxBytes)
		taken := n.taken
		n.mu.Unlock()
		if !full {
			return
		}
		select {
		case <-taken:
		case <-ctx.Done():
			return
		case <-n.done:
			return
		}
	}
}

// shut ends all streams and waits until what was said is durable. Streams that
// come later get ended.
func (n *node) shut(ended *pb.SessionResponse) {
	n.mu.Lock()
	n.ended = ended
	if n.machine != nil {
		n.machine.shut(linkFailure)
	}
	n.mu.Unlock()
	close(n.quit)
	<-n.done
	n.mu.Lock()
	n.machine = nil
	n.mu.Unlock()
}

// shut ends the streams of all sessions with UNAVAILABLE. The sessions stay.
func (m *machine) shut(reason string) {
	for _, s := range m.sessions {
		if s.at != nil {
			m.emit(s.at, failure(Ydb.StatusIds_UNAVAILABLE, reason))
			m.detach(m.now, s)
		}
	}
}
