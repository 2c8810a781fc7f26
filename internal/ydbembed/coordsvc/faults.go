package coordsvc

import (
	"context"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	pb "github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Coordination"
)

// Call is one request of a session stream, as Options.Intercept sees it.
type Call struct {
	// Kind is the name of the request: SessionStart, SessionStop, Ping, Pong,
	// CreateSemaphore, UpdateSemaphore, DeleteSemaphore, AcquireSemaphore,
	// ReleaseSemaphore, DescribeSemaphore, Unknown.
	Kind      string
	Node      string // path
	Session   uint64 // 0 for the start of a new one
	Semaphore string // empty where the request names none
}

// Verdict says what becomes of a request. The zero Verdict lets it pass.
type Verdict struct {
	// Status, if not zero, is answered instead of handling the request: as its
	// result, or as the failure that ends the stream where there is no result.
	Status Ydb.StatusIds_StatusCode
	// Drop loses the request; there is no answer.
	Drop bool
	// DropReply handles the request and loses every answer to it.
	DropReply bool
}

// intercept asks Options.Intercept, and reports whether the request is to be
// handled.
func (s *Service) intercept(ctx context.Context, st *stream, req *pb.SessionRequest) bool {
	if s.opts.Intercept == nil {
		return true
	}
	kind, id, name := requestFacts(req)
	call := Call{Kind: kind, Semaphore: name, Node: req.GetSessionStart().GetPath(), Session: req.GetSessionStart().GetSessionId()}
	if st.node != nil {
		call.Node = st.node.path
	}
	if kind != "SessionStart" {
		st.node.mu.Lock()
		call.Session = st.session
		st.node.mu.Unlock()
	}
	v := s.opts.Intercept(ctx, call)
	switch {
	case v.Drop:
		return false
	case v.Status != 0:
		st.refuse(req, v.Status)
		return false
	case v.DropReply && id != 0:
		st.mu.Lock()
		st.dropped[id] = struct{}{}
		st.mu.Unlock()
	}
	return true
}

const injected = "Injected fault"

// refuse answers a request with a status without handling it.
func (st *stream) refuse(req *pb.SessionRequest, status Ydb.StatusIds_StatusCode) {
	switch r := req.GetRequest().(type) {
	case *pb.SessionRequest_CreateSemaphore_:
		st.push(created(r.CreateSemaphore.GetReqId(), status, injected))
	case *pb.SessionRequest_UpdateSemaphore_:
		st.push(updated(r.UpdateSemaphore.GetReqId(), status, injected))
	case *pb.SessionRequest_DeleteSemaphore_:
		st.push(deleted(r.DeleteSemaphore.GetReqId(), status, injected))
	case *pb.SessionRequest_AcquireSemaphore_:
		st.push(refused(r.AcquireSemaphore.GetReqId(), status, injected))
	case *pb.SessionRequest_ReleaseSemaphore_:
		st.push(releaseResult(&pb.SessionResponse_ReleaseSemaphoreResult{
			ReqId: r.ReleaseSemaphore.GetReqId(), Status: status, Issues: issues(injected),
		}))
	case *pb.SessionRequest_DescribeSemaphore_:
		st.push(undescribed(r.DescribeSemaphore.GetReqId(), status, injected))
	default:
		st.node.fail(st, status, injected)
	}
}

// requestFacts returns a request's kind, its id, and the semaphore it names.
func requestFacts(req *pb.SessionRequest) (kind string, id uint64, name string) {
	switch r := req.GetRequest().(type) {
	case *pb.SessionRequest_SessionStart_:
		return "SessionStart", 0, ""
	case *pb.SessionRequest_SessionStop_:
		return "SessionStop", 0, ""
	case *pb.SessionRequest_Ping:
		return "Ping", 0, ""
	case *pb.SessionRequest_Pong:
		return "Pong", 0, ""
	case *pb.SessionRequest_CreateSemaphore_:
		return "CreateSemaphore", r.CreateSemaphore.GetReqId(), r.CreateSemaphore.GetName()
	case *pb.SessionRequest_UpdateSemaphore_:
		return "UpdateSemaphore", r.UpdateSemaphore.GetReqId(), r.UpdateSemaphore.GetName()
	case *pb.SessionRequest_DeleteSemaphore_:
		return "DeleteSemaphore", r.DeleteSemaphore.GetReqId(), r.DeleteSemaphore.GetName()
	case *pb.SessionRequest_AcquireSemaphore_:
		return "AcquireSemaphore", r.AcquireSemaphore.GetReqId(), r.AcquireSemaphore.GetName()
	case *pb.SessionRequest_ReleaseSemaphore_:
		return "ReleaseSemaphore", r.ReleaseSemaphore.GetReqId(), r.ReleaseSemaphore.GetName()
	case *pb.SessionRequest_DescribeSemaphore_:
		return "DescribeSemaphore", r.DescribeSemaphore.GetReqId(), r.DescribeSemaphore.GetName()
	}
	return "Unknown", 0, ""
}

// replyID returns the id of the request that msg answers, 0 if it answers none.
func replyID(msg *pb.SessionResponse) uint64 {
	switch r := msg.GetResponse().(type) {
	case *pb.SessionResponse_CreateSemaphoreResult_:
		return r.CreateSemaphoreResult.GetReqId()
	case *pb.SessionResponse_UpdateSemaphoreResult_:
		return r.UpdateSemaphoreResult.GetReqId()
	case *pb.SessionResponse_DeleteSemaphoreResult_:
		return r.DeleteSemaphoreResult.GetReqId()
	case *pb.SessionResponse_AcquireSemaphorePending_:
		return r.AcquireSemaphorePending.GetReqId()
	case *pb.SessionResponse_AcquireSemaphoreResult_:
		return r.AcquireSemaphoreResult.GetReqId()
	case *pb.SessionResponse_ReleaseSemaphoreResult_:
		return r.ReleaseSemaphoreResult.GetReqId()
	case *pb.SessionResponse_DescribeSemaphoreResult_:
		return r.DescribeSemaphoreResult.GetReqId()
	case *pb.SessionResponse_DescribeSemaphoreChanged_:
		return r.DescribeSemaphoreChanged.GetReqId()
	}
	return 0
}
