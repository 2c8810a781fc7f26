package ydbembed

import (
	"context"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/taskfleet/taskfleet/internal/ydbembed/fault"
	"github.com/taskfleet/taskfleet/internal/ydbembed/issue"
)

// Faults makes a server misbehave on purpose.
//
// A kind is the short name of a method, such as ExecuteQuery, CommitTransaction,
// CreateSession or ListEndpoints, or of a request of a coordination session,
// such as SessionStart, AcquireSemaphore, DescribeSemaphore or Ping. A fault
// catches the next call of its kind and is spent; Keep makes it stay.
type Faults struct {
	server  *Server
	set     *fault.Set
	silence *fault.Silence
}

// Option changes which calls a fault catches.
type Option func(*fault.Rule)

// Keep makes a fault catch every call of its kind until Stop.
func Keep() Option { return func(r *fault.Rule) { r.Keep = true } }

// Containing makes a fault catch only calls whose query text, or semaphore
// name, contains text.
func Containing(text string) Option { return func(r *fault.Rule) { r.Contains = text } }

// Saying sets the text of the error that Fail or FailTransport answers with.
func Saying(text string) Option {
	return func(r *fault.Rule) {
		if answer, ok := r.Err.(*issue.Error); ok {
			r.Err = issue.New(answer.Status, 0, "%s", text)
		} else {
			r.Err = status.Error(status.Code(r.Err), text)
		}
	}
}

// Fault is an armed fault.
type Fault struct{ fault *fault.Fault }

// Hits returns how many calls the fault has caught.
func (f *Fault) Hits() int { return f.fault.Hits() }

// Wait returns when the fault has caught n calls, or with an error when ctx ends.
func (f *Fault) Wait(ctx context.Context, n int) error { return f.fault.Wait(ctx, n) }

// Stop disarms the fault. Calls that it holds or delays go on.
func (f *Fault) Stop() { f.fault.Stop() }

// Count only counts calls, all until Stop.
func (f *Faults) Count(kind string, options ...Option) *Fault {
	return f.add(fault.Rule{Kind: kind, Keep: true}, options)
}

// Fail answers a call with a status of YDB instead of running it.
func (f *Faults) Fail(kind string, code Ydb.StatusIds_StatusCode, options ...Option) *Fault {
	return f.add(fault.Rule{Kind: kind, Err: issue.New(code, 0, "Injected fault")}, options)
}

// FailTransport answers a call with an error of gRPC instead of running it, as
// a broken connection does. A coordination request is lost instead.
func (f *Faults) FailTransport(kind string, code codes.Code, options ...Option) *Fault {
	return f.add(fault.Rule{Kind: kind, Err: status.Error(code, "injected fault")}, options)
}

// Delay runs a call later, unless its client gives up before.
func (f *Faults) Delay(kind string, by time.Duration, options ...Option) *Fault {
	return f.add(fault.Rule{Kind: kind, Delay: by}, options)
}

// Hold keeps a call from running until the fault's Stop, or until its client
// gives up.
func (f *Faults) Hold(kind string, options ...Option) *Fault {
	return f.add(fault.Rule{Kind: kind, Hold: true}, options)
}

// DropAnswer runs a call and loses the answer: the client cannot know what
// happened. For ExecuteQuery, ExecuteDataQuery and CommitTransaction it catches
// the next call that commits writes, after they are durable.
func (f *Faults) DropAnswer(kind string, options ...Option) *Fault {
	rule := fault.Rule{Kind: kind, Err: fault.ErrLost}
	switch kind {
	case "ExecuteQuery", "ExecuteDataQuery", "CommitTransaction":
		rule.Commit = true
	}
	return f.add(rule, options)
}

func (f *Faults) add(rule fault.Rule, options []Option) *Fault {
	for _, o := range options {
		o(&rule)
	}
	return &Fault{fault: f.set.Add(rule)}
}

// Silence makes the server stop answering, as a hung host does: connections
// stay open and nothing comes in or out until Resume. Time goes on meanwhile.
func (f *Faults) Silence() { f.silence.Begin() }

// Resume ends a Silence; what was held goes on its way.
func (f *Faults) Resume() { f.silence.Resume() }

// Sessions lists the ids of the query and table sessions.
func (f *Faults) Sessions() []string { return f.server.sessions.IDs() }

// EndSession ends a query session as YDB does when it moves load away: the
// client is told by its attach stream, open transactions roll back. It reports
// whether there was such a session.
func (f *Faults) EndSession(id string) bool { return f.server.sessions.Shutdown(id) == nil }

// EndSessions ends all of them and returns how many there were.
func (f *Faults) EndSessions() int { return f.server.sessions.ShutdownAll() }

// CoordinationSession is a session of a coordination node.
type CoordinationSession struct {
	Node        string // absolute path
	ID          uint64
	Description string // what the client called itself
	Attached    bool   // has a stream
}

// CoordinationSessions lists the sessions of every coordination node.
func (f *Faults) CoordinationSessions() []CoordinationSession {
	var out []CoordinationSession
	for _, node := range f.server.coord.Nodes() {
		for _, s := range f.server.coord.Sessions(node) {
			out = append(out, CoordinationSession{Node: node, ID: s.ID, Description: s.Description, Attached: s.Attached})
		}
	}
	return out
}

// ExpireCoordinationSession ends a coordination session as its timeout would:
// its semaphores are free, and the client learns it when it next talks. It
// reports whether there was such a session.
func (f *Faults) ExpireCoordinationSession(node string, id uint64) bool {
	return f.server.coord.ExpireSession(node, id)
}

// DisconnectCoordinationSession ends the stream of a coordination session; the
// session waits for its client to come back.
func (f *Faults) DisconnectCoordinationSession(node string, id uint64) bool {
	return f.server.coord.DisconnectSession(node, id)
}

// StealCoordinationSession ends the stream of a coordination session as if
// another client had attached to the session, which waits for that other client
// until it expires. It reports whether there was such a session.
func (f *Faults) StealCoordinationSession(node string, id uint64) bool {
	return f.server.coord.StealSession(node, id)
}

// SilenceCoordinationSession makes the present stream of a coordination session
// deaf and dumb for good, without telling either side.
func (f *Faults) SilenceCoordinationSession(node string, id uint64) bool {
	return f.server.coord.BlackHole(node, id)
}

// Clear disarms every fault and ends a Silence.
func (f *Faults) Clear() { f.clear() }

func (f *Faults) clear() {
	f.set.Clear()
	f.silence.Resume()
}
