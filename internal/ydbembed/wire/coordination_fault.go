package wire

import (
	"errors"
	"strings"
	"sync"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Coordination"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/taskfleet/taskfleet/internal/ydbembed/fault"
	"github.com/taskfleet/taskfleet/internal/ydbembed/issue"
)

// coordinationStream applies the faults to the requests of a coordination
// session. Their kinds are the names of the requests, their texts the names of
// semaphores. A request that a fault delays or holds keeps those after it
// waiting too, as the stream is read in order.
type coordinationStream struct {
	grpc.ServerStream
	faults *fault.Set

	sendMu sync.Mutex // an injected answer may meet the handler's own

	mu   sync.Mutex
	lost map[uint64]struct{} // requests whose answers are dropped
}

// RecvMsg returns the next request that no fault takes. A fault with a status
// answers in the handler's place, one with another error loses the request.
func (s *coordinationStream) RecvMsg(m any) error {
	for {
		if err := s.ServerStream.RecvMsg(m); err != nil {
			return err
		}
		r := m.(*Ydb_Coordination.SessionRequest)
		kind, text, id := coordinationFacts(r)
		err := s.faults.Before(s.Context(), fault.Call{Kind: kind, Text: text})
		var refused *issue.Error
		switch {
		case err == nil:
			return nil
		case errors.Is(err, fault.ErrLost):
			s.lose(id)
			return nil
		case s.Context().Err() != nil:
			return err
		case errors.As(err, &refused):
			if err := s.SendMsg(coordinationRefusal(r, refused)); err != nil {
				return err
			}
		}
	}
}

// SendMsg sends a message unless it answers a request whose answer is lost.
func (s *coordinationStream) SendMsg(m any) error {
	if s.isLost(m.(*Ydb_Coordination.SessionResponse)) {
		return nil
	}
	s.sendMu.Lock()
	defer s.sendMu.Unlock()
	return s.ServerStream.SendMsg(m)
}

func (s *coordinationStream) lose(id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lost == nil {
		s.lost = map[uint64]struct{}{}
	}
	s.lost[id] = struct{}{}
}

func (s *coordinationStream) isLost(m *Ydb_Coordination.SessionResponse) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.lost) == 0 {
		return false
	}
	_, body := chosen(m.ProtoReflect(), "response")
	_, lost := s.lost[number(body, "req_id")]
	return lost
}

// chosen returns the field of a message's oneof that is set, and its message.
func chosen(m protoreflect.Message, oneof protoreflect.Name) (protoreflect.FieldDescriptor, protoreflect.Message) {
	f := m.WhichOneof(m.Descriptor().Oneofs().ByName(oneof))
	if f == nil {
		return nil, nil
	}
	return f, m.Get(f).Message()
}

func number(m protoreflect.Message, field protoreflect.Name) uint64 {
	if m == nil {
		return 0
	}
	if f := m.Descriptor().Fields().ByName(field); f != nil {
		return m.Get(f).Uint()
	}
	return 0
}

// coordinationFacts names a request as faults do: AcquireSemaphore, Ping, and
// so on, with the semaphore (or for SessionStart the node) that it is about.
func coordinationFacts(r *Ydb_Coordination.SessionRequest) (kind, text string, id uint64) {
	f, body := chosen(r.ProtoReflect(), "request")
	if f == nil {
		return "", "", 0
	}
	kind = strings.ToUpper(f.JSONName()[:1]) + f.JSONName()[1:]
	for _, name := range []protoreflect.Name{"name", "path"} {
		if f := body.Descriptor().Fields().ByName(name); f != nil {
			text = body.Get(f).String()
		}
	}
	return kind, text, number(body, "req_id")
}

// coordinationRefusal answers a request with e: as its result, or as the
// failure of the session where it has none.
func coordinationRefusal(r *Ydb_Coordination.SessionRequest, e *issue.Error) *Ydb_Coordination.SessionResponse {
	out := &Ydb_Coordination.SessionResponse{}
	m := out.ProtoReflect()
	asked, body := chosen(r.ProtoReflect(), "request")
	result := m.Descriptor().Fields().ByName("failure")
	if asked != nil {
		if f := m.Descriptor().Fields().ByName(asked.Name() + "_result"); f != nil {
			result = f
		}
	}
	reply := m.Mutable(result).Message()
	if f := reply.Descriptor().Fields().ByName("req_id"); f != nil {
		reply.Set(f, protoreflect.ValueOfUint64(number(body, "req_id")))
	}
	setOutcome(reply, e.Status, e.Proto())
	return out
}
