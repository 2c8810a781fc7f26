package coordsvc

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// loader rebuilds a machine from its records, which come in any order.
type loader struct {
	machine *machine
	places  []storedPlace
}

type storedPlace struct {
	order uint64
	placeRecord
}

func newLoader() *loader { return &loader{machine: newMachine()} }

// add takes in one record.
func (l *loader) add(kind byte, rest string, value []byte) error {
	m := l.machine
	switch kind {
	case kindCounters:
		var r countersRecord
		if err := json.Unmarshal(value, &r); err != nil {
			return fmt.Errorf("coordsvc: counters: %w", err)
		}
		m.nextSession, m.nextOrder = r.NextSession, r.NextOrder
	case kindSession:
		id, err := number(rest)
		if err != nil {
			return err
		}
		var r sessionRecord
		if err := json.Unmarshal(value, &r); err != nil {
			return fmt.Errorf("coordsvc: session %d: %w", id, err)
		}
		s := newSession(id)
		s.timeoutMillis, s.description, s.protectionKey = r.TimeoutMillis, r.Description, r.ProtectionKey
		m.sessions[id] = s
	case kindSemaphore:
		var r semaphoreRecord
		if err := json.Unmarshal(value, &r); err != nil {
			return fmt.Errorf("coordsvc: semaphore %q: %w", rest, err)
		}
		sem := newSemaphore(rest, r.Limit, r.Ephemeral)
		sem.data = r.Data
		m.semaphores[rest] = sem
	case kindPlace:
		order, err := number(rest)
		if err != nil {
			return err
		}
		p := storedPlace{order: order}
		if err := json.Unmarshal(value, &p.placeRecord); err != nil {
			return fmt.Errorf("coordsvc: place %d: %w", order, err)
		}
		l.places = append(l.places, p)
	default:
		return fmt.Errorf("coordsvc: record of unknown kind %q", kind)
	}
	return nil
}

// finish queues everybody in the order of order ids, which makes the same
// owners as before, and starts all timeouts anew; sessions get the grace period
// on top.
func (l *loader) finish(now time.Time, grace time.Duration) (*machine, error) {
	m := l.machine
	m.now = now
	slices.SortFunc(l.places, func(a, b storedPlace) int { return cmp.Compare(a.order, b.order) })
	for _, r := range l.places {
		s, sem := m.sessions[r.Session], m.semaphores[r.Semaphore]
		if s == nil || sem == nil || r.Count == 0 || r.Count > sem.limit || r.order >= m.nextOrder || s.places[sem.name] != nil {
			return nil, fmt.Errorf("coordsvc: place %d of session %d at semaphore %q contradicts other records", r.order, r.Session, r.Semaphore)
		}
		m.stand(&place{
			order: r.order, session: s, semaphore: sem,
			count: r.Count, timeoutMillis: r.TimeoutMillis, data: r.Data,
		})
	}
	for _, sem := range m.semaphores {
		m.promote(sem)
		for e := sem.waiters.Front(); e != nil; e = e.Next() {
			m.startTimeout(e.Value.(*place))
		}
	}
	for _, s := range m.sessions {
		if s.id >= m.nextSession {
			return nil, fmt.Errorf("coordsvc: session %d is newer than the counter of sessions", s.id)
		}
		m.expireAfter(s, s.timeout()+grace)
	}
	return m, nil
}
