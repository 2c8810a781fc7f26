package coordsvc

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"
)

// Records of a node in the storage. All keys of a node begin with
// recordsPrefix, its path and a zero byte; then comes one letter for the kind,
// then the record's own key.
//
//	c            counters
//	s session id
//	m name       semaphore
//	p order id   place: an owner or a waiter; which of the two follows from
//	             the order of places and is not stored
const recordsPrefix = "coordination\x00"

func nodePrefix(path string) string { return recordsPrefix + path + "\x00" }

const (
	kindCounters  = 'c'
	kindSession   = 's'
	kindSemaphore = 'm'
	kindPlace     = 'p'
)

type countersRecord struct {
	NextSession uint64 `json:"next_session"`
	NextOrder   uint64 `json:"next_order"`
}

type sessionRecord struct {
	TimeoutMillis uint64 `json:"timeout_millis"`
	Description   string `json:"description,omitempty"`
	ProtectionKey []byte `json:"protection_key,omitempty"`
}

type semaphoreRecord struct {
	Limit     uint64 `json:"limit"`
	Data      []byte `json:"data,omitempty"`
	Ephemeral bool   `json:"ephemeral,omitempty"`
}

type placeRecord struct {
	Session       uint64 `json:"session"`
	Semaphore     string `json:"semaphore"`
	Count         uint64 `json:"count"`
	TimeoutMillis uint64 `json:"timeout_millis"`
	Data          []byte `json:"data,omitempty"`
}

// changes says which records differ from what is stored.
type changes struct {
	counters   bool
	sessions   map[uint64]struct{}
	semaphores map[string]struct{}
	places     map[uint64]struct{}
}

func newChanges() changes {
	return changes{
		sessions:   make(map[uint64]struct{}),
		semaphores: make(map[string]struct{}),
		places:     make(map[uint64]struct{}),
	}
}

func (c *changes) session(id uint64)     { c.sessions[id] = struct{}{} }
func (c *changes) semaphore(name string) { c.semaphores[name] = struct{}{} }
func (c *changes) place(order uint64)    { c.places[order] = struct{}{} }

// batch is one atomic write.
type batch struct {
	puts    map[string][]byte
	deletes []string
}

func (b *batch) empty() bool { return len(b.puts) == 0 && len(b.deletes) == 0 }

// takeBatch returns the write that brings the storage up to the present state,
// and marks everything as stored.
func (m *machine) takeBatch(prefix string) batch {
	b := batch{puts: make(map[string][]byte)}
	put := func(key string, record any) {
		v, err := json.Marshal(record)
		if err != nil { // records hold only numbers, strings and bytes
			panic(err)
		}
		b.puts[key] = v
	}
	if m.changed.counters {
		put(prefix+string(rune(kindCounters)), countersRecord{m.nextSession, m.nextOrder})
	}
	for id := range m.changed.sessions {
		key := numberKey(prefix, kindSession, id)
		if s := m.sessions[id]; s != nil {
			put(key, sessionRecord{s.timeoutMillis, s.description, s.protectionKey})
		} else {
			b.deletes = append(b.deletes, key)
		}
	}
	for name := range m.changed.semaphores {
		key := prefix + string(rune(kindSemaphore)) + name
		if sem := m.semaphores[name]; sem != nil {
			put(key, semaphoreRecord{sem.limit, sem.data, sem.ephemeral})
		} else {
			b.deletes = append(b.deletes, key)
		}
	}
	for order := range m.changed.places {
		key := numberKey(prefix, kindPlace, order)
		if p := m.places[order]; p != nil {
			put(key, placeRecord{p.session.id, p.semaphore.name, p.count, p.timeoutMillis, p.data})
		} else {
			b.deletes = append(b.deletes, key)
		}
	}
	m.changed = newChanges()
	return b
}

func numberKey(prefix string, kind byte, n uint64) string {
	key := append([]byte(prefix), kind)
	return string(binary.BigEndian.AppendUint64(key, n))
}

// splitKey takes a storage key apart.
func splitKey(key string) (path string, kind byte, rest string, err error) {
	path, rest, ok := strings.Cut(strings.TrimPrefix(key, recordsPrefix), "\x00")
	if !ok || rest == "" {
		return "", 0, "", fmt.Errorf("coordsvc: key %q is not a record's", key)
	}
	return path, rest[0], rest[1:], nil
}

func number(rest string) (uint64, error) {
	if len(rest) != 8 {
		return 0, fmt.Errorf("coordsvc: key of a record ends with %d bytes, not with a number", len(rest))
	}
	return binary.BigEndian.Uint64([]byte(rest)), nil
}
