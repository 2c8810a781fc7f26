package coordsvc

import (
	"context"
	"errors"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/require"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	pb "github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Coordination"
)

const (
	testNode = "/local/node"
	patience = 10 * time.Second
)

// testConn is a stream in memory, seen from both ends.
type testConn struct {
	t      *testing.T
	ctx    context.Context
	cancel context.CancelFunc
	in     chan *pb.SessionRequest
	out    chan *pb.SessionResponse
	served chan error // what Serve returned
	mute   bool       // pings are left unanswered
	closed sync.Once
}

func (c *testConn) Context() context.Context { return c.ctx }

func (c *testConn) Recv() (*pb.SessionRequest, error) {
	select {
	case req, ok := <-c.in:
		if !ok {
			return nil, io.EOF
		}
		return req, nil
	case <-c.ctx.Done():
		return nil, c.ctx.Err()
	}
}

func (c *testConn) Send(msg *pb.SessionResponse) error {
	select {
	case c.out <- msg:
		return nil
	case <-c.ctx.Done():
		return c.ctx.Err()
	}
}

// dial opens a stream and sends the start.
func dial(t *testing.T, s *Service, start *pb.SessionRequest_SessionStart) *testConn {
	t.Helper()
	c := &testConn{t: t, in: make(chan *pb.SessionRequest), out: make(chan *pb.SessionResponse, 16), served: make(chan error, 1)}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	go func() {
		defer c.cancel()
		c.served <- s.Serve(c)
	}()
	t.Cleanup(c.cancel)
	c.send(&pb.SessionRequest{Request: &pb.SessionRequest_SessionStart_{SessionStart: start}})
	return c
}

func (c *testConn) send(req *pb.SessionRequest) {
	c.t.Helper()
	select {
	case c.in <- req:
	case <-c.ctx.Done():
		c.t.Fatal("the stream has ended")
	case <-time.After(patience):
		c.t.Fatal("the service does not read")
	}
}

func (c *testConn) closeSend() { c.closed.Do(func() { close(c.in) }) }

// next returns the next message that is no ping; pings are answered.
func (c *testConn) next() *pb.SessionResponse {
	c.t.Helper()
	for {
		msg := c.receive()
		p := msg.GetPing()
		if p == nil {
			return msg
		}
		if !c.mute {
			select {
			case c.in <- pongFor(p):
			case <-c.ctx.Done():
			}
		}
	}
}

// receive returns the next message, also of a stream that has ended since.
func (c *testConn) receive() *pb.SessionResponse {
	c.t.Helper()
	select {
	case msg := <-c.out:
		return msg
	default:
	}
	select {
	case msg := <-c.out:
		return msg
	case <-c.ctx.Done():
		select {
		case msg := <-c.out:
			return msg
		default:
			c.t.Fatal("the stream has ended")
		}
	case <-time.After(patience):
		c.t.Fatal("the service says nothing")
	}
	return nil
}

func pongFor(p *pb.SessionResponse_PingPong) *pb.SessionRequest {
	return &pb.SessionRequest{Request: &pb.SessionRequest_Pong{Pong: &pb.SessionRequest_PingPong{Opaque: p.GetOpaque()}}}
}

// answerPing waits for a ping, which must be the next message.
func (c *testConn) answerPing() {
	c.t.Helper()
	p := c.receive().GetPing()
	require.NotZero(c.t, p.GetOpaque())
	c.send(pongFor(p))
}

func (c *testConn) expect(lines ...string) {
	c.t.Helper()
	for _, line := range lines {
		require.Equal(c.t, line, show(c.next()))
	}
}

// ends waits for Serve to return.
func (c *testConn) ends() error {
	c.t.Helper()
	select {
	case err := <-c.served:
		return err
	case <-time.After(patience):
		c.t.Fatal("the stream does not end")
		return errors.New("unreachable")
	}
}

func acquire(req uint64, name string, count uint64) *pb.SessionRequest {
	return &pb.SessionRequest{Request: &pb.SessionRequest_AcquireSemaphore_{AcquireSemaphore: &pb.SessionRequest_AcquireSemaphore{
		ReqId: req, Name: name, Count: count, TimeoutMillis: infinite, Ephemeral: true,
	}}}
}

func release(req uint64, name string) *pb.SessionRequest {
	return &pb.SessionRequest{Request: &pb.SessionRequest_ReleaseSemaphore_{ReleaseSemaphore: &pb.SessionRequest_ReleaseSemaphore{ReqId: req, Name: name}}}
}

func describe(req uint64, name string) *pb.SessionRequest {
	return &pb.SessionRequest{Request: &pb.SessionRequest_DescribeSemaphore_{DescribeSemaphore: &pb.SessionRequest_DescribeSemaphore{
		ReqId: req, Name: name, IncludeOwners: true, IncludeWaiters: true,
	}}}
}

func start(id uint64, timeout time.Duration) *pb.SessionRequest_SessionStart {
	return &pb.SessionRequest_SessionStart{Path: testNode, SessionId: id, TimeoutMillis: uint64(timeout.Milliseconds())}
}

// open starts a service with one node on a storage.
func open(t *testing.T, storage Storage, clock clockwork.Clock) *Service {
	t.Helper()
	s, err := New(Options{Store: storage, Clock: clock})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	require.NoError(t, s.CreateNode(testNode, &pb.Config{SelfCheckPeriodMillis: 1000, SessionGracePeriodMillis: 1000}))
	return s
}

func status(msg *pb.SessionResponse) Ydb.StatusIds_StatusCode { return msg.GetFailure().GetStatus() }
