package coordsvc

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	pb "github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Coordination"
)

// model is the coordination service as a reader of its rules would write it
// down: one list of places per semaphore, searched from the front each time.
// Each step returns nothing; what streams must hear collects in heard.
type model struct {
	now         time.Time
	nextSession uint64
	nextOrder   uint64
	sessions    map[uint64]*modelSession
	semaphores  map[string]*modelSemaphore
	heard       map[int][]string // by stream
}

type modelSession struct {
	id, timeout, seq uint64
	key              string
	stream           int // 0 = detached
	expires          time.Time
}

type modelSemaphore struct {
	name, data string
	limit      uint64
	ephemeral  bool
	places     []*modelPlace // in the order of order ids
	watches    map[uint64]modelWatch
}

type modelWatch struct {
	req          uint64
	data, owners bool
}

type modelPlace struct {
	order, session, count, timeout uint64
	data                           string
	owner                          bool
	req                            uint64 // 0 = nobody waits for an answer
	deadline                       time.Time
}

func newModel(now time.Time) *model {
	return &model{
		now: now, nextSession: 1, nextOrder: 1,
		sessions:   map[uint64]*modelSession{},
		semaphores: map[string]*modelSemaphore{},
		heard:      map[int][]string{},
	}
}

func (m *model) say(stream int, format string, args ...any) {
	if stream != 0 {
		m.heard[stream] = append(m.heard[stream], fmt.Sprintf(format, args...))
	}
}

func (m *model) tell(session uint64, format string, args ...any) {
	m.say(m.sessions[session].stream, format, args...)
}

// start attaches stream; it returns the session's id, 0 for a failure.
func (m *model) start(stream int, r *pb.SessionRequest_SessionStart) uint64 {
	s := m.sessions[r.SessionId]
	switch {
	case r.SessionId == 0:
		s = &modelSession{id: m.nextSession, key: string(r.ProtectionKey)}
		m.nextSession++
		m.sessions[s.id] = s
	case s == nil:
		m.say(stream, "failure SESSION_EXPIRED")
		return 0
	case r.SeqNo < s.seq, s.key != "" && s.key != string(r.ProtectionKey):
		m.say(stream, "failure BAD_SESSION")
		return 0
	}
	m.say(s.stream, "failure BAD_SESSION")
	m.hush(s)
	s.stream, s.seq, s.timeout = stream, r.SeqNo, r.TimeoutMillis
	m.say(stream, "started %d", s.id)
	return s.id
}

func (m *model) hush(s *modelSession) {
	for _, sem := range m.semaphores {
		delete(sem.watches, s.id)
		if p := sem.place(s.id); p != nil {
			p.req = 0
		}
	}
}

func (m *model) detach(s *modelSession) {
	m.hush(s)
	s.stream = 0
	s.expires = m.now.Add(time.Duration(s.timeout) * time.Millisecond)
}

func (m *model) stop(s *modelSession) {
	m.say(s.stream, "stopped %d", s.id)
	m.end(s)
}

func (m *model) end(s *modelSession) {
	m.hush(s)
	s.stream = 0
	var held []*modelPlace
	where := map[*modelPlace]*modelSemaphore{}
	for _, sem := range m.semaphores {
		if p := sem.place(s.id); p != nil {
			held = append(held, p)
			where[p] = sem
		}
	}
	slices.SortFunc(held, func(a, b *modelPlace) int { return int(a.order) - int(b.order) })
	for _, p := range held {
		m.leave(where[p], p)
	}
	delete(m.sessions, s.id)
}

func (sem *modelSemaphore) place(session uint64) *modelPlace {
	for _, p := range sem.places {
		if p.session == session {
			return p
		}
	}
	return nil
}

func (sem *modelSemaphore) used() (n uint64) {
	for _, p := range sem.places {
		if p.owner {
			n += p.count
		}
	}
	return n
}

// nextUp is the waiter with the lowest order id.
func (sem *modelSemaphore) nextUp() *modelPlace {
	for _, p := range sem.places {
		if !p.owner {
			return p
		}
	}
	return nil
}

func (m *model) advanceQueue(sem *modelSemaphore) (grew bool) {
	for {
		p := sem.nextUp()
		if p == nil || p.count > sem.limit-sem.used() {
			return grew
		}
		p.owner, grew = true, true
		if p.req != 0 {
			m.tell(p.session, "acquire %d SUCCESS true", p.req)
			p.req = 0
		}
	}
}

func (m *model) notify(sem *modelSemaphore, data, owners bool) {
	for session, w := range sem.watches {
		if data && w.data || owners && w.owners {
			m.tell(session, "changed %d data=%v owners=%v", w.req, data, owners)
			delete(sem.watches, session)
		}
	}
}

func (m *model) leave(sem *modelSemaphore, p *modelPlace) {
	sem.places = slices.DeleteFunc(sem.places, func(q *modelPlace) bool { return q == p })
	if sem.ephemeral && len(sem.places) == 0 {
		m.notify(sem, true, true)
		delete(m.semaphores, sem.name)
		return
	}
	if m.advanceQueue(sem) || p.owner {
		m.notify(sem, false, true)
	}
}

func (m *model) create(s *modelSession, r *pb.SessionRequest_CreateSemaphore) {
	status := "SUCCESS"
	switch sem := m.semaphores[r.Name]; {
	case r.Limit == 0:
		status = "BAD_REQUEST"
	case sem != nil && sem.ephemeral:
		status = "PRECONDITION_FAILED"
	case sem != nil:
		status = "ALREADY_EXISTS"
	default:
		m.semaphores[r.Name] = &modelSemaphore{name: r.Name, data: string(r.Data), limit: r.Limit, watches: map[uint64]modelWatch{}}
	}
	m.say(s.stream, "create %d %s", r.ReqId, status)
}

func (m *model) update(s *modelSession, r *pb.SessionRequest_UpdateSemaphore) {
	sem := m.semaphores[r.Name]
	if sem == nil {
		m.say(s.stream, "update %d NOT_FOUND", r.ReqId)
		return
	}
	m.say(s.stream, "update %d SUCCESS", r.ReqId)
	if sem.data != string(r.Data) {
		sem.data = string(r.Data)
		m.notify(sem, true, false)
	}
}

func (m *model) delete(s *modelSession, r *pb.SessionRequest_DeleteSemaphore) {
	status := "SUCCESS"
	switch sem := m.semaphores[r.Name]; {
	case sem == nil:
		status = "NOT_FOUND"
	case sem.ephemeral, len(sem.places) > 0 && !r.Force:
		status = "PRECONDITION_FAILED"
	default:
		for _, p := range sem.places {
			if !p.owner && p.req != 0 {
				m.tell(p.session, "acquire %d ABORTED false", p.req)
			}
		}
		m.notify(sem, true, true)
		delete(m.semaphores, r.Name)
	}
	m.say(s.stream, "delete %d %s", r.ReqId, status)
}

func (m *model) acquire(s *modelSession, r *pb.SessionRequest_AcquireSemaphore) {
	refuse := func(status string) { m.say(s.stream, "acquire %d %s false", r.ReqId, status) }
	sem := m.semaphores[r.Name]
	switch {
	case r.Count == 0:
		refuse("BAD_REQUEST")
		return
	case sem == nil && !r.Ephemeral:
		refuse("NOT_FOUND")
		return
	case sem != nil && sem.ephemeral != r.Ephemeral:
		refuse("PRECONDITION_FAILED")
		return
	case sem != nil && r.Count > sem.limit:
		refuse("BAD_REQUEST")
		return
	case sem == nil:
		sem = &modelSemaphore{name: r.Name, limit: math.MaxUint64, ephemeral: true, watches: map[uint64]modelWatch{}}
		m.semaphores[r.Name] = sem
	}
	fits := r.Count <= sem.limit-sem.used()
	p := sem.place(s.id)
	switch {
	case p != nil && r.Count > p.count:
		refuse("BAD_REQUEST")
		return
	case p != nil && p.owner:
		m.say(s.stream, "acquire %d SUCCESS true", r.ReqId)
		differs := p.count != r.Count || p.data != string(r.Data)
		p.count, p.data = r.Count, string(r.Data)
		if m.advanceQueue(sem) || differs {
			m.notify(sem, false, true)
		}
		return
	case p != nil:
		if p.req != 0 {
			m.say(s.stream, "acquire %d ABORTED false", p.req)
		}
		if r.TimeoutMillis == 0 && !(sem.nextUp() == p && fits) {
			m.say(s.stream, "acquire %d SUCCESS false", r.ReqId)
			m.leave(sem, p)
			return
		}
	default:
		if r.TimeoutMillis == 0 && (sem.nextUp() != nil || !fits) {
			m.say(s.stream, "acquire %d SUCCESS false", r.ReqId)
			return
		}
		p = &modelPlace{order: m.nextOrder, session: s.id}
		m.nextOrder++
		sem.places = append(sem.places, p)
	}
	p.count, p.timeout, p.data, p.req = r.Count, r.TimeoutMillis, string(r.Data), r.ReqId
	p.deadline = m.deadline(p)
	if m.advanceQueue(sem) {
		m.notify(sem, false, true)
	}
	if !p.owner {
		m.say(s.stream, "pending %d", r.ReqId)
	}
}

func (m *model) deadline(p *modelPlace) time.Time {
	if p.timeout == math.MaxUint64 {
		return time.Time{}
	}
	return m.now.Add(time.Duration(p.timeout) * time.Millisecond)
}

func (m *model) release(s *modelSession, r *pb.SessionRequest_ReleaseSemaphore) {
	sem := m.semaphores[r.Name]
	if sem == nil || sem.place(s.id) == nil {
		m.say(s.stream, "release %d SUCCESS false", r.ReqId)
		return
	}
	p := sem.place(s.id)
	if p.req != 0 {
		m.say(s.stream, "acquire %d ABORTED false", p.req)
	}
	m.say(s.stream, "release %d SUCCESS true", r.ReqId)
	m.leave(sem, p)
}

func (m *model) describe(s *modelSession, r *pb.SessionRequest_DescribeSemaphore) {
	sem := m.semaphores[r.Name]
	if sem == nil {
		m.say(s.stream, "describe %d NOT_FOUND watch=false", r.ReqId)
		return
	}
	watch := r.WatchData || r.WatchOwners
	if watch {
		if old, ok := sem.watches[s.id]; ok {
			m.say(s.stream, "changed %d data=false owners=false", old.req)
		}
		sem.watches[s.id] = modelWatch{r.ReqId, r.WatchData, r.WatchOwners}
	}
	var owners, waiters strings.Builder
	for _, p := range sem.places {
		switch {
		case p.owner && r.IncludeOwners:
			fmt.Fprintf(&owners, "[%d s%d x%d %q t0]", p.order, p.session, p.count, p.data)
		case !p.owner && r.IncludeWaiters:
			fmt.Fprintf(&waiters, "[%d s%d x%d %q t%d]", p.order, p.session, p.count, p.data, p.timeout)
		}
	}
	m.say(s.stream, "describe %d SUCCESS watch=%v %s data=%q %d/%d ephemeral=%v owners=%s waiters=%s", r.ReqId, watch,
		sem.name, sem.data, sem.used(), sem.limit, sem.ephemeral, owners.String(), waiters.String())
}

// pass lets time go by; deadlines fire one after the other, the earliest first.
func (m *model) pass(to time.Time) {
	for {
		var first time.Time
		var fire func()
		due := func(at time.Time, f func()) {
			if !at.IsZero() && !at.After(to) && (fire == nil || at.Before(first)) {
				first, fire = at, f
			}
		}
		for _, s := range m.sessions {
			if s.stream == 0 {
				due(s.expires, func() { m.end(s) })
			}
		}
		for _, sem := range m.semaphores {
			for _, p := range sem.places {
				if !p.owner {
					due(p.deadline, func() {
						if p.req != 0 {
							m.tell(p.session, "acquire %d SUCCESS false", p.req)
						}
						m.leave(sem, p)
					})
				}
			}
		}
		if fire == nil {
			m.now = to
			return
		}
		m.now = first
		fire()
	}
}

// restart is what a server that comes back knows.
func (m *model) restart(grace time.Duration) {
	for _, s := range m.sessions {
		m.detach(s)
		s.seq = 0
		s.expires = s.expires.Add(grace)
	}
	for _, sem := range m.semaphores {
		for _, p := range sem.places {
			p.deadline = m.deadline(p)
		}
	}
}
