package coordsvc

import (
	"bytes"
	"math"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	pb "github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Coordination"
)

func (m *machine) acquire(s *session, r *pb.SessionRequest_AcquireSemaphore) {
	sem, status, reason := m.semaphoreFor(r)
	if sem == nil {
		m.emit(s.at, refused(r.GetReqId(), status, reason))
		return
	}
	p := s.places[sem.name]
	switch {
	case p != nil && r.GetCount() > p.count:
		m.emit(s.at, refused(r.GetReqId(), Ydb.StatusIds_BAD_REQUEST, "Increasing count is not allowed"))
	case p != nil && p.owner:
		m.reacquire(p, r)
	case p != nil:
		m.requeue(p, r)
	default:
		m.enqueue(s, sem, r)
	}
}

// semaphoreFor checks a request and finds its semaphore, or makes the ephemeral
// one that it names.
func (m *machine) semaphoreFor(r *pb.SessionRequest_AcquireSemaphore) (*semaphore, Ydb.StatusIds_StatusCode, string) {
	switch {
	case r.GetCount() == 0:
		return nil, Ydb.StatusIds_BAD_REQUEST, "Acquire must have count > 0"
	case r.GetTimeoutMillis() != infinite && r.GetTimeoutMillis() > uint64(MaxAcquireTimeout.Milliseconds()):
		return nil, Ydb.StatusIds_BAD_REQUEST, "Acquire timeout is out of range"
	case len(r.GetData()) > MaxSemaphoreData:
		return nil, Ydb.StatusIds_BAD_REQUEST, "Acquire data is too large"
	}
	sem := m.semaphores[r.GetName()]
	switch {
	case sem == nil && !r.GetEphemeral():
		return nil, Ydb.StatusIds_NOT_FOUND, "Semaphore does not exist"
	case sem == nil && len(r.GetName()) > MaxSemaphoreName: // YDB lets it pass; here no packet may create a record without bound
		return nil, Ydb.StatusIds_BAD_REQUEST, "Semaphore name is too long"
	case sem == nil && len(m.semaphores) >= m.limits.semaphores:
		return nil, Ydb.StatusIds_PRECONDITION_FAILED, "Too many semaphores already exist"
	case sem == nil:
		sem = newSemaphore(r.GetName(), math.MaxUint64, true)
		m.semaphores[sem.name] = sem
		m.changed.semaphore(sem.name)
	case sem.ephemeral != r.GetEphemeral():
		return nil, Ydb.StatusIds_PRECONDITION_FAILED, "Semaphore ephemeral mode mismatch"
	case r.GetCount() > sem.limit:
		return nil, Ydb.StatusIds_BAD_REQUEST, "Cannot acquire more than allowed by the semaphore"
	}
	return sem, Ydb.StatusIds_SUCCESS, ""
}

// reacquire lets an owner lower its count and change its data. It keeps its
// order id.
func (m *machine) reacquire(p *place, r *pb.SessionRequest_AcquireSemaphore) {
	m.emit(p.session.at, acquired(r.GetReqId(), true))
	lowered := r.GetCount() < p.count
	if !lowered && bytes.Equal(p.data, r.GetData()) {
		return
	}
	p.semaphore.used -= p.count - r.GetCount()
	p.count = r.GetCount()
	p.data = r.GetData()
	m.changed.place(p.order)
	if lowered {
		m.promote(p.semaphore)
	}
	m.notify(p.semaphore, false, true)
}

// requeue replaces the request of a waiter, which keeps its order id.
func (m *machine) requeue(p *place, r *pb.SessionRequest_AcquireSemaphore) {
	m.answer(p, Ydb.StatusIds_ABORTED, "Operation superseded by another request")
	if r.GetTimeoutMillis() == 0 && !(p.first() && r.GetCount() <= p.semaphore.free()) {
		m.emit(p.session.at, acquired(r.GetReqId(), false))
		m.leave(p)
		return
	}
	p.set(r)
	m.changed.place(p.order)
	m.wait(p)
}

// enqueue gives a session a new place at the end of the queue.
func (m *machine) enqueue(s *session, sem *semaphore, r *pb.SessionRequest_AcquireSemaphore) {
	if r.GetTimeoutMillis() == 0 && (sem.waiters.Len() > 0 || r.GetCount() > sem.free()) {
		m.emit(s.at, acquired(r.GetReqId(), false))
		return
	}
	p := &place{order: m.nextOrder, session: s, semaphore: sem}
	m.nextOrder++
	m.changed.counters = true
	p.set(r)
	m.stand(p)
	m.changed.place(p.order)
	m.wait(p)
}

// stand puts a place at the end of its semaphore's queue.
func (m *machine) stand(p *place) {
	p.link = p.semaphore.waiters.PushBack(p)
	p.session.places[p.semaphore.name] = p
	m.places[p.order] = p
}

func (p *place) set(r *pb.SessionRequest_AcquireSemaphore) {
	p.count = r.GetCount()
	p.timeoutMillis = r.GetTimeoutMillis()
	p.data = r.GetData()
	p.request, p.answer = r.GetReqId(), true
}

func (p *place) first() bool { return !p.owner && p.link.Prev() == nil }

// wait grants the place if it can be granted, else starts its timeout and says
// that the request is pending.
func (m *machine) wait(p *place) {
	m.deadlines.cancel(p.timeout)
	if m.promote(p.semaphore) {
		m.notify(p.semaphore, false, true)
	}
	if !p.owner {
		m.startTimeout(p)
		m.emit(p.session.at, pending(p.request))
	}
}

func (m *machine) startTimeout(p *place) {
	if p.timeoutMillis == infinite {
		return
	}
	d := time.Duration(p.timeoutMillis) * time.Millisecond
	p.timeout = m.deadlines.add(m.now.Add(d), func() {
		if p.answer {
			p.answer = false
			m.emit(p.session.at, acquired(p.request, false))
		}
		m.leave(p)
	})
}

func (m *machine) release(s *session, r *pb.SessionRequest_ReleaseSemaphore) {
	p := s.places[r.GetName()]
	if p == nil {
		m.emit(s.at, released(r.GetReqId(), false))
		return
	}
	if !p.owner {
		m.answer(p, Ydb.StatusIds_ABORTED, "Operation superseded by another request")
	}
	m.emit(s.at, released(r.GetReqId(), true))
	m.leave(p)
}

// answer ends the request that waits for the outcome of p, if there is one.
func (m *machine) answer(p *place, status Ydb.StatusIds_StatusCode, reason string) {
	if p.answer {
		p.answer = false
		m.emit(p.session.at, refused(p.request, status, reason))
	}
}

// leave takes a place away, lets others move up, and tells the watchers.
func (m *machine) leave(p *place) {
	sem := p.semaphore
	if p.owner {
		sem.used -= p.count
		sem.owners.Remove(p.link)
	} else {
		sem.waiters.Remove(p.link)
	}
	m.forget(p)
	switch {
	case sem.ephemeral && sem.empty():
		m.drop(sem)
	case p.owner:
		m.promote(sem)
		m.notify(sem, false, true)
	case m.promote(sem):
		m.notify(sem, false, true)
	}
}

// forget removes a place from everywhere but its semaphore's lists.
func (m *machine) forget(p *place) {
	m.deadlines.cancel(p.timeout)
	delete(p.session.places, p.semaphore.name)
	delete(m.places, p.order)
	m.changed.place(p.order)
}

// promote makes owners of the waiters at the head of the queue for as long as
// the next one fits, and reports whether it made any.
func (m *machine) promote(sem *semaphore) bool {
	any := false
	for e := sem.waiters.Front(); e != nil; e = sem.waiters.Front() {
		p := e.Value.(*place)
		if p.count > sem.free() {
			break
		}
		sem.waiters.Remove(e)
		p.link = sem.owners.PushBack(p)
		p.owner = true
		sem.used += p.count
		m.deadlines.cancel(p.timeout)
		if p.answer {
			p.answer = false
			m.emit(p.session.at, acquired(p.request, true))
		}
		any = true
	}
	return any
}
