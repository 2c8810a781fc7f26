package coordsvc

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	pb "github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Coordination"
)

// session is a client's lease of the node. While it is attached it never ends
// by itself; detached, it has its timeout to come back.
type session struct {
	id            uint64
	timeoutMillis uint64
	description   string
	protectionKey []byte
	seqNo         uint64   // of the last attach
	at            receiver // nil when detached
	expiry        *deadline
	places        map[string]*place // by semaphore name: owned or waiting
	watches       map[string]*watch // by semaphore name
}

func newSession(id uint64) *session {
	return &session{id: id, places: make(map[string]*place), watches: make(map[string]*watch)}
}

func (s *session) timeout() time.Duration {
	return time.Duration(s.timeoutMillis) * time.Millisecond
}

// attach opens a new session or takes over an existing one for the stream to.
// The answer, session_started or failure, goes to the outbox; the session is
// nil when it was a failure.
func (m *machine) attach(now time.Time, to receiver, start *pb.SessionRequest_SessionStart) *session {
	m.advance(now)
	s, status, reason := m.sessionFor(start)
	if s == nil {
		m.emit(to, failure(status, reason))
		return nil
	}
	if s.at != nil {
		m.emit(s.at, failure(Ydb.StatusIds_BAD_SESSION, "Session stolen by another local client"))
	}
	m.silence(s)
	s.at = to
	s.seqNo = start.GetSeqNo()
	m.deadlines.cancel(s.expiry)
	m.emit(to, started(s.id))
	return s
}

// sessionFor finds or makes the session that an attach names, or says why not.
func (m *machine) sessionFor(start *pb.SessionRequest_SessionStart) (*session, Ydb.StatusIds_StatusCode, string) {
	switch {
	case start.GetTimeoutMillis() > uint64(MaxSessionTimeout.Milliseconds()):
		return nil, Ydb.StatusIds_BAD_REQUEST, "Session timeout is out of range"
	case len(start.GetDescription()) > MaxDescription:
		return nil, Ydb.StatusIds_BAD_REQUEST, "Description is too large"
	case len(start.GetProtectionKey()) > MaxProtectionKey:
		return nil, Ydb.StatusIds_BAD_REQUEST, "Protection key is too large"
	}
	if start.GetSessionId() == 0 {
		if len(m.sessions) >= m.limits.sessions {
			return nil, Ydb.StatusIds_PRECONDITION_FAILED, "Too many sessions already exist"
		}
		s := newSession(m.nextSession)
		m.nextSession++
		m.changed.counters = true
		s.timeoutMillis = start.GetTimeoutMillis()
		s.description = start.GetDescription()
		s.protectionKey = start.GetProtectionKey()
		m.sessions[s.id] = s
		m.changed.session(s.id)
		return s, 0, ""
	}
	s := m.sessions[start.GetSessionId()]
	switch {
	case s == nil:
		return nil, Ydb.StatusIds_SESSION_EXPIRED, "Session does not exist"
	case start.GetSeqNo() < s.seqNo:
		return nil, Ydb.StatusIds_BAD_SESSION, "Attach request is out of sequence"
	case len(s.protectionKey) > 0 && !bytes.Equal(s.protectionKey, start.GetProtectionKey()):
		return nil, Ydb.StatusIds_BAD_SESSION, "Attach request protection key mismatch"
	}
	if s.timeoutMillis != start.GetTimeoutMillis() || s.description != start.GetDescription() {
		s.timeoutMillis = start.GetTimeoutMillis()
		s.description = start.GetDescription()
		m.changed.session(s.id)
	}
	return s, 0, ""
}

// detach notes that the stream of s has ended: s may come back within its
// timeout.
func (m *machine) detach(now time.Time, s *session) {
	m.advance(now)
	m.silence(s)
	s.at = nil
	m.expireAfter(s, s.timeout())
}

// silence forgets which requests of s wait for an answer and what it watches:
// they belong to the stream that sent them. Places in queues stay.
func (m *machine) silence(s *session) {
	for _, p := range s.places {
		p.answer = false
	}
	for _, w := range s.watches {
		w.remove()
	}
}

func (m *machine) expireAfter(s *session, d time.Duration) {
	m.deadlines.cancel(s.expiry)
	s.expiry = m.deadlines.add(m.now.Add(d), func() { m.end(s) })
}

// stop ends a session as its client asked.
func (m *machine) stop(s *session) {
	m.emit(s.at, stopped(s.id))
	m.end(s)
}

// expire ends a session at once, attached or not.
func (m *machine) expire(now time.Time, s *session) {
	m.advance(now)
	m.emit(s.at, failure(Ydb.StatusIds_SESSION_EXPIRED, "Session has expired"))
	m.end(s)
}

// end deletes a session and releases everything that it owns or waits for.
func (m *machine) end(s *session) {
	m.silence(s)
	s.at = nil
	m.deadlines.cancel(s.expiry)
	delete(m.sessions, s.id)
	m.changed.session(s.id)
	places := slices.SortedFunc(maps.Values(s.places), func(a, b *place) int { return cmp.Compare(a.order, b.order) })
	for _, p := range places {
		m.leave(p)
	}
}
