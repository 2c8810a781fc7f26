package coordsvc

import (
	"time"

	pb "github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Coordination"
	"google.golang.org/protobuf/proto"
)

// receiver is what a session is attached to: it takes messages in order and
// never blocks.
type receiver interface {
	push(msg *pb.SessionResponse)
}

// event is a message on its way to one receiver.
type event struct {
	to  receiver
	msg *pb.SessionResponse
}

// machine is the state of one coordination node. It is not safe for concurrent
// use. Every entry point takes the present time, first lets everything happen
// that was due by then, and only then does its own work.
type machine struct {
	limits limits
	now    time.Time

	nextSession uint64
	nextOrder   uint64
	sessions    map[uint64]*session
	semaphores  map[string]*semaphore
	places      map[uint64]*place // by order id

	deadlines deadlines
	outbox    []event
	size      int // of the messages in outbox, in bytes
	changed   changes
}

func newMachine() *machine {
	return &machine{
		limits:      defaultLimits,
		nextSession: 1,
		nextOrder:   1,
		sessions:    make(map[uint64]*session),
		semaphores:  make(map[string]*semaphore),
		places:      make(map[uint64]*place),
		changed:     newChanges(),
	}
}

// emit puts a message for a session's stream in the outbox. Nothing is kept for
// a detached session.
func (m *machine) emit(to receiver, msg *pb.SessionResponse) {
	if to != nil {
		m.outbox = append(m.outbox, event{to, msg})
		m.size += proto.Size(msg)
	}
}

// takeOutbox returns what was said since the last call, in order.
func (m *machine) takeOutbox() []event {
	out := m.outbox
	m.outbox, m.size = nil, 0
	return out
}

// advance lets all timers fire that are due at now.
func (m *machine) advance(now time.Time) {
	if now.After(m.now) {
		m.now = now
	}
	for {
		d := m.deadlines.due(m.now)
		if d == nil {
			return
		}
		d.fire()
	}
}

// handle applies one request that came from the stream a session is attached
// to. It reports false for a message that is no request of a session.
func (m *machine) handle(now time.Time, s *session, req *pb.SessionRequest) bool {
	m.advance(now)
	switch r := req.GetRequest().(type) {
	case *pb.SessionRequest_SessionStop_:
		m.stop(s)
	case *pb.SessionRequest_CreateSemaphore_:
		m.create(s, r.CreateSemaphore)
	case *pb.SessionRequest_UpdateSemaphore_:
		m.update(s, r.UpdateSemaphore)
	case *pb.SessionRequest_DeleteSemaphore_:
		m.delete(s, r.DeleteSemaphore)
	case *pb.SessionRequest_AcquireSemaphore_:
		m.acquire(s, r.AcquireSemaphore)
	case *pb.SessionRequest_ReleaseSemaphore_:
		m.release(s, r.ReleaseSemaphore)
	case *pb.SessionRequest_DescribeSemaphore_:
		m.describe(s, r.DescribeSemaphore)
	default:
		return false
	}
	return true
}
