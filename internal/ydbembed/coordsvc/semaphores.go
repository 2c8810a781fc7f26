package coordsvc

import (
	"bytes"
	"container/list"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	pb "github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Coordination"
)

// semaphore hands out up to limit tokens. Owners and waiters are both in the
// order of their order ids, and every owner comes before every waiter.
type semaphore struct {
	name      string
	data      []byte
	limit     uint64
	used      uint64
	ephemeral bool
	owners    list.List // of *place
	waiters   list.List // of *place
	watches   map[*session]*watch
}

func newSemaphore(name string, limit uint64, ephemeral bool) *semaphore {
	return &semaphore{name: name, limit: limit, ephemeral: ephemeral, watches: make(map[*session]*watch)}
}

func (sem *semaphore) empty() bool { return sem.owners.Len() == 0 && sem.waiters.Len() == 0 }

func (sem *semaphore) free() uint64 { return sem.limit - sem.used }

// place is one session's standing at one semaphore, as owner or as waiter.
type place struct {
	order         uint64
	session       *session
	semaphore     *semaphore
	count         uint64
	timeoutMillis uint64
	data          []byte
	owner         bool
	link          *list.Element // in owners or waiters

	answer  bool   // a request of the present stream waits for the outcome
	request uint64 // its id
	timeout *deadline
}

func (m *machine) create(s *session, r *pb.SessionRequest_CreateSemaphore) {
	status, reason := m.mayCreate(r)
	if status == Ydb.StatusIds_SUCCESS {
		sem := newSemaphore(r.GetName(), r.GetLimit(), false)
		sem.data = r.GetData()
		m.semaphores[sem.name] = sem
		m.changed.semaphore(sem.name)
	}
	m.emit(s.at, created(r.GetReqId(), status, reason))
}

func (m *machine) mayCreate(r *pb.SessionRequest_CreateSemaphore) (Ydb.StatusIds_StatusCode, string) {
	if r.GetLimit() == 0 {
		return Ydb.StatusIds_BAD_REQUEST, "Semaphores must have limit > 0"
	}
	if status, reason := checkSizes(r.GetName(), r.GetData()); status != Ydb.StatusIds_SUCCESS {
		return status, reason
	}
	sem := m.semaphores[r.GetName()]
	switch {
	case sem != nil && sem.ephemeral:
		return Ydb.StatusIds_PRECONDITION_FAILED, "Cannot create semaphore due to ephemeral locks"
	case sem != nil:
		return Ydb.StatusIds_ALREADY_EXISTS, "Semaphore already exists"
	case len(m.semaphores) >= m.limits.semaphores:
		return Ydb.StatusIds_PRECONDITION_FAILED, "Too many semaphores already exist"
	}
	return Ydb.StatusIds_SUCCESS, ""
}

func checkSizes(name string, data []byte) (Ydb.StatusIds_StatusCode, string) {
	if len(name) > MaxSemaphoreName {
		return Ydb.StatusIds_BAD_REQUEST, "Semaphore name is too long"
	}
	if len(data) > MaxSemaphoreData {
		return Ydb.StatusIds_BAD_REQUEST, "Semaphore data is too large"
	}
	return Ydb.StatusIds_SUCCESS, ""
}

func (m *machine) update(s *session, r *pb.SessionRequest_UpdateSemaphore) {
	status, reason := checkSizes(r.GetName(), r.GetData())
	if status != Ydb.StatusIds_SUCCESS {
		m.emit(s.at, updated(r.GetReqId(), status, reason))
		return
	}
	sem := m.semaphores[r.GetName()]
	if sem == nil {
		m.emit(s.at, updated(r.GetReqId(), Ydb.StatusIds_NOT_FOUND, "Semaphore does not exist"))
		return
	}
	m.emit(s.at, updated(r.GetReqId(), Ydb.StatusIds_SUCCESS, ""))
	if !bytes.Equal(sem.data, r.GetData()) {
		sem.data = r.GetData()
		m.changed.semaphore(sem.name)
		m.notify(sem, true, false)
	}
}

func (m *machine) delete(s *session, r *pb.SessionRequest_DeleteSemaphore) {
	sem := m.semaphores[r.GetName()]
	status, reason := Ydb.StatusIds_SUCCESS, ""
	switch {
	case sem == nil:
		status, reason = Ydb.StatusIds_NOT_FOUND, "Semaphore does not exist"
	case sem.ephemeral:
		status, reason = Ydb.StatusIds_PRECONDITION_FAILED, "Cannot delete ephemeral semaphores"
	case !sem.empty() && !r.GetForce():
		status, reason = Ydb.StatusIds_PRECONDITION_FAILED, "Semaphore not empty"
	default:
		m.destroy(sem)
	}
	m.emit(s.at, deleted(r.GetReqId(), status, reason))
}

// destroy deletes a semaphore with its owners, who are not told, and its
// waiters, who are.
func (m *machine) destroy(sem *semaphore) {
	for e := sem.owners.Front(); e != nil; e = e.Next() {
		m.forget(e.Value.(*place))
	}
	for e := sem.waiters.Front(); e != nil; e = e.Next() {
		p := e.Value.(*place)
		m.answer(p, Ydb.StatusIds_ABORTED, "Semaphore destroyed")
		m.forget(p)
	}
	m.drop(sem)
}

// drop removes a semaphore that nobody has a place at any more.
func (m *machine) drop(sem *semaphore) {
	m.notify(sem, true, true)
	delete(m.semaphores, sem.name)
	m.changed.semaphore(sem.name)
}
