package coordsvc

import (
	"container/list"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	pb "github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Coordination"
)

// watch is a session's wish to hear once of the next change of a semaphore.
type watch struct {
	session   *session
	semaphore *semaphore
	request   uint64
	data      bool
	owners    bool
}

func (w *watch) remove() {
	delete(w.session.watches, w.semaphore.name)
	delete(w.semaphore.watches, w.session)
}

// notify tells the watchers that asked for this kind of change, each once.
func (m *machine) notify(sem *semaphore, data, owners bool) {
	for _, w := range sem.watches {
		if w.data && data || w.owners && owners {
			m.emit(w.session.at, changed(w.request, data, owners))
			w.remove()
		}
	}
}

func (m *machine) describe(s *session, r *pb.SessionRequest_DescribeSemaphore) {
	sem := m.semaphores[r.GetName()]
	if sem == nil {
		m.emit(s.at, undescribed(r.GetReqId(), Ydb.StatusIds_NOT_FOUND, "Semaphore not found"))
		return
	}
	if sem.size(r) > MaxMessage {
		m.emit(s.at, undescribed(r.GetReqId(), Ydb.StatusIds_PRECONDITION_FAILED,
			"Description is larger than a message may be, ask for owners and waiters separately"))
		return
	}
	desc := &pb.SemaphoreDescription{
		Name:      sem.name,
		Data:      sem.data,
		Count:     sem.used,
		Limit:     sem.limit,
		Ephemeral: sem.ephemeral,
	}
	if r.GetIncludeOwners() {
		desc.Owners = holders(&sem.owners)
	}
	if r.GetIncludeWaiters() {
		desc.Waiters = holders(&sem.waiters)
	}
	watching := r.GetWatchData() || r.GetWatchOwners()
	if watching {
		m.replaceWatch(s, sem, r)
	}
	m.emit(s.at, described(r.GetReqId(), desc, watching))
}

// replaceWatch registers a watch; one that the session already has at this
// semaphore ends with a message that nothing changed.
func (m *machine) replaceWatch(s *session, sem *semaphore, r *pb.SessionRequest_DescribeSemaphore) {
	if old := s.watches[sem.name]; old != nil {
		old.remove()
		m.emit(s.at, changed(old.request, false, false))
	}
	w := &watch{session: s, semaphore: sem, request: r.GetReqId(), data: r.GetWatchData(), owners: r.GetWatchOwners()}
	s.watches[sem.name] = w
	sem.watches[s] = w
}

// holders lists places for a description, lowest order id first. Only a waiter
// shows its timeout.
func holders(places *list.List) []*pb.SemaphoreSession {
	out := make([]*pb.SemaphoreSession, 0, places.Len())
	for e := places.Front(); e != nil; e = e.Next() {
		p := e.Value.(*place)
		h := &pb.SemaphoreSession{OrderId: p.order, SessionId: p.session.id, Count: p.count, Data: p.data}
		if !p.owner {
			h.TimeoutMillis = p.timeoutMillis
		}
		out = append(out, h)
	}
	return out
}

// size bounds from above how large a description's message gets.
func (sem *semaphore) size(r *pb.SessionRequest_DescribeSemaphore) int {
	const fixed = 64 // numbers and field headers of one place
	n := len(sem.name) + len(sem.data) + fixed
	add := func(places *list.List) {
		for e := places.Front(); e != nil && n <= MaxMessage; e = e.Next() {
			n += len(e.Value.(*place).data) + fixed
		}
	}
	if r.GetIncludeOwners() {
		add(&sem.owners)
	}
	if r.GetIncludeWaiters() {
		add(&sem.waiters)
	}
	return n
}
