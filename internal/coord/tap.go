package coord

import (
	"context"
	"sync"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Coordination"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Issue"
	"github.com/ydb-platform/ydb-go-sdk/v3/trace"
)

// tap listens to the messages of one session through the SDK's trace, and keeps
// what the SDK throws away: the status of replies, the failure of a stream, and
// when the server was last heard.
type tap struct {
	delay  time.Duration          // between two openings of the stream
	heard  func()                 // the server said something
	failed func(err *StatusError) // the server says that the session is over

	mu       sync.Mutex
	opened   time.Time         // when the stream was last opened
	asked    map[uint64]string // names of requests in flight by req_id
	refusals map[string]error  // the last refusal of each kind of request and name
}

// trace returns the hooks to hand to the driver.
func (t *tap) trace() trace.Coordination {
	return trace.Coordination{
		OnSessionNewStream: func(info trace.CoordinationSessionNewStreamStartInfo) func(trace.CoordinationSessionNewStreamDoneInfo) {
			t.pace(*info.Context)
			return nil
		},
		OnSessionStart: func(trace.CoordinationSessionStartStartInfo) func(trace.CoordinationSessionStartDoneInfo) {
			t.forget()
			return nil
		},
		OnSessionSend: func(info trace.CoordinationSessionSendStartInfo) func(trace.CoordinationSessionSendDoneInfo) {
			t.sent(info.Request)
			return nil
		},
		OnSessionReceive: func(trace.CoordinationSessionReceiveStartInfo) func(trace.CoordinationSessionReceiveDoneInfo) {
			return func(info trace.CoordinationSessionReceiveDoneInfo) { t.received(info.Response) }
		},
	}
}

// pace holds back the opening of a stream that follows too soon on the one
// before, also when the session has ended: the SDK may not have noticed yet. It
// calls this in a goroutine of its own and watches its deadlines meanwhile.
func (t *tap) pace(stream context.Context) {
	t.mu.Lock()
	now := time.Now()
	at := t.opened.Add(t.delay)
	if at.Before(now) {
		at = now
	}
	t.opened = at
	t.mu.Unlock()
	timer := time.NewTimer(at.Sub(now))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-stream.Done():
	}
}

// forget drops the requests of the stream before: they are sent again, with new
// numbers, or never answered.
func (t *tap) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asked = make(map[uint64]string)
}

func (t *tap) sent(m *Ydb_Coordination.SessionRequest) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch r := m.GetRequest().(type) {
	case *Ydb_Coordination.SessionRequest_AcquireSemaphore_:
		t.asked[r.AcquireSemaphore.GetReqId()] = acquireOf(r.AcquireSemaphore.GetName())
	case *Ydb_Coordination.SessionRequest_DescribeSemaphore_:
		t.asked[r.DescribeSemaphore.GetReqId()] = describeOf(r.DescribeSemaphore.GetName())
	case *Ydb_Coordination.SessionRequest_CreateSemaphore_:
		t.asked[r.CreateSemaphore.GetReqId()] = createOf(r.CreateSemaphore.GetName())
	case *Ydb_Coordination.SessionRequest_UpdateSemaphore_:
		t.asked[r.UpdateSemaphore.GetReqId()] = updateOf(r.UpdateSemaphore.GetName())
	}
}

func (t *tap) received(m *Ydb_Coordination.SessionResponse) {
	switch r := m.GetResponse().(type) {
	case nil:
		return
	case *Ydb_Coordination.SessionResponse_Failure_:
		if status := r.Failure.GetStatus(); endsSession(status) {
			t.failed(newStatusError(status, r.Failure.GetIssues()))
		}
		return
	case *Ydb_Coordination.SessionResponse_AcquireSemaphoreResult_:
		t.answered(r.AcquireSemaphoreResult)
	case *Ydb_Coordination.SessionResponse_DescribeSemaphoreResult_:
		t.answered(r.DescribeSemaphoreResult)
	case *Ydb_Coordination.SessionResponse_CreateSemaphoreResult_:
		t.answered(r.CreateSemaphoreResult)
	case *Ydb_Coordination.SessionResponse_UpdateSemaphoreResult_:
		t.answered(r.UpdateSemaphoreResult)
	}
	t.heard()
}

// result is the answer to one request.
type result interface {
	GetReqId() uint64
	GetStatus() Ydb.StatusIds_StatusCode
	GetIssues() []*Ydb_Issue.IssueMessage
}

func (t *tap) answered(r result) {
	t.mu.Lock()
	defer t.mu.Unlock()
	request, ok := t.asked[r.GetReqId()]
	if !ok {
		return
	}
	delete(t.asked, r.GetReqId())
	if r.GetStatus() == Ydb.StatusIds_SUCCESS {
		delete(t.refusals, request)
		return
	}
	t.refusals[request] = newStatusError(r.GetStatus(), r.GetIssues())
}

// refusal returns, once, why the last answered request of this kind and name was
// refused; nil if it was not.
func (t *tap) refusal(request string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	err := t.refusals[request]
	delete(t.refusals, request)
	return err
}

func acquireOf(name string) string  { return "acquire " + name }
func describeOf(name string) string { return "describe " + name }
func createOf(name string) string   { return "create " + name }
func updateOf(name string) string   { return "update " + name }
