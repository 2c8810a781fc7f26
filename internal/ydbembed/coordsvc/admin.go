package coordsvc

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
)

// SessionInfo is what a session looks like from outside.
type SessionInfo struct {
	ID          uint64
	Description string
	Timeout     time.Duration
	Attached    bool
}

// Nodes lists the paths of all nodes, sorted.
func (s *Service) Nodes() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.nodes))
}

// Sessions lists the sessions of a node, oldest first; nil when there is no
// such node.
func (s *Service) Sessions(path string) []SessionInfo {
	n, err := s.node(path)
	if err != nil {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.machine == nil {
		return nil
	}
	n.machine.advance(n.clock.Now())
	n.signal()
	var out []SessionInfo
	for _, ss := range n.machine.sessions {
		out = append(out, SessionInfo{ss.id, ss.description, ss.timeout(), ss.at != nil})
	}
	slices.SortFunc(out, func(a, b SessionInfo) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// ExpireSession ends a session as its timeout would, attached or not; false
// when there is none of that id.
func (s *Service) ExpireSession(path string, id uint64) bool {
	return s.withSession(path, id, func(n *node, ss *session) {
		n.machine.expire(n.clock.Now(), ss)
	})
}

// StealSession ends the stream of a session as if another client had attached
// to it: BAD_SESSION. The session stays, detached.
func (s *Service) StealSession(path string, id uint64) bool {
	return s.endStream(path, id, Ydb.StatusIds_BAD_SESSION, "Session stolen by another local client")
}

// DisconnectSession ends the stream of a session as a change of leader does:
// UNAVAILABLE. The session stays, detached.
func (s *Service) DisconnectSession(path string, id uint64) bool {
	return s.endStream(path, id, Ydb.StatusIds_UNAVAILABLE, linkFailure)
}

func (s *Service) endStream(path string, id uint64, status Ydb.StatusIds_StatusCode, reason string) bool {
	return s.withSession(path, id, func(n *node, ss *session) {
		if ss.at != nil {
			n.machine.emit(ss.at, failure(status, reason))
			n.machine.detach(n.clock.Now(), ss)
		}
	})
}

// BlackHole makes the present stream of a session deaf and dumb for good, as a
// network that loses every packet: neither side is told.
func (s *Service) BlackHole(path string, id uint64) bool {
	return s.withSession(path, id, func(_ *node, ss *session) {
		if st, ok := ss.at.(*stream); ok {
			st.deaf.Store(true)
		}
	})
}

func (s *Service) withSession(path string, id uint64, f func(*node, *session)) bool {
	n, err := s.node(path)
	if err != nil {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.machine == nil || n.machine.sessions[id] == nil {
		return false
	}
	f(n, n.machine.sessions[id])
	n.signal()
	return true
}
