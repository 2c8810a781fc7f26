package coordsvc

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	pb "github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Coordination"
	"google.golang.org/protobuf/proto"
)

const (
	minPing = 10 * time.Millisecond
	maxPing = 5 * time.Second

	// farewell is how long a client may take to read the last message.
	farewell = 10 * time.Second
)

// Conn is one session stream of the transport. Send and Recv are called from
// one goroutine each, and return when Context ends. The context must end when
// Serve has returned.
type Conn interface {
	Send(*pb.SessionResponse) error
	Recv() (*pb.SessionRequest, error)
	Context() context.Context
}

// stream carries one session for as long as the client keeps the connection.
// What is pushed waits in a bounded queue for the writer; a client that does
// not read loses the stream and never holds up the node.
type stream struct {
	service *Service
	conn    Conn
	node    *node
	session uint64 // guarded by node.mu

	mu     sync.Mutex
	queue  []*pb.SessionResponse
	bytes  int // of what is queued or being sent
	closed bool
	ping   uint64 // the outstanding one

	ready    chan struct{} // the queue is not empty
	overflow chan struct{} // closed when the client is too far behind
	last     chan struct{} // closed when the last message is queued
	started  chan struct{} // closed when session_started has been sent
	deaf     atomic.Bool   // nothing gets in or out any more
}

func newStream(s *Service, n *node, conn Conn) *stream {
	return &stream{
		service:  s,
		conn:     conn,
		node:     n,
		ready:    make(chan struct{}, 1),
		overflow: make(chan struct{}),
		last:     make(chan struct{}),
		started:  make(chan struct{}),
	}
}

// push queues a message. After a failure or session_stopped it does nothing.
func (st *stream) push(msg *pb.SessionResponse) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.closed {
		return
	}
	size := proto.Size(msg)
	if len(st.queue) > 0 && (st.bytes+size > MaxBacklog || len(st.queue) >= MaxBacklogMessages) {
		st.closed = true
		st.queue = nil
		close(st.overflow)
		return
	}
	st.queue = append(st.queue, msg)
	st.bytes += size
	if isLast(msg) {
		st.closed = true
		close(st.last)
	}
	select {
	case st.ready <- struct{}{}:
	default:
	}
}

// isLast tells whether the stream ends with msg.
func isLast(msg *pb.SessionResponse) bool {
	return msg.GetFailure() != nil || msg.GetSessionStopped() != nil
}

// take empties the queue.
func (st *stream) take() []*pb.SessionResponse {
	st.mu.Lock()
	defer st.mu.Unlock()
	queue := st.queue
	st.queue = nil
	return queue
}

// serve runs the stream to its end. The session is detached when it returns.
func (st *stream) serve(start *pb.SessionRequest_SessionStart) error {
	ctx := st.conn.Context()
	read, written := make(chan error, 1), make(chan error, 1)
	st.node.attach(st, start)
	defer st.node.detach(st)
	go func() { read <- st.read(ctx) }()
	go func() { written <- st.write(ctx) }()

	clock := st.service.opts.Clock
	started, last := st.started, st.last
	var tick, late <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-st.overflow:
			return ErrTooFarBehind
		case err := <-written:
			return err
		case err := <-read:
			read = nil
			// The last message may still be on its way to a client that said goodbye.
			if !errors.Is(err, io.EOF) || st.node.detach(st) {
				return readError(err)
			}
		case <-started:
			started = nil
			st.sendPing()
			ticker := clock.NewTicker(pingPeriod(start.GetTimeoutMillis()))
			defer ticker.Stop()
			tick = ticker.Chan()
		case <-last:
			last, tick = nil, nil
			timer := clock.NewTimer(farewell)
			defer timer.Stop()
			late = timer.Chan()
		case <-late:
			if !st.deaf.Load() {
				return ErrTooFarBehind
			}
		case <-tick:
			if !st.sendPing() {
				tick = nil
				st.node.fail(st, Ydb.StatusIds_TIMEOUT, "Ping timeout")
			}
		}
	}
}

// readError is nil for a stream that the client ended in order.
func readError(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func pingPeriod(timeoutMillis uint64) time.Duration {
	return min(max(time.Duration(timeoutMillis/3)*time.Millisecond, minPing), maxPing)
}

// sendPing sends a ping, unless the client still owes the answer to the last.
func (st *stream) sendPing() bool {
	st.mu.Lock()
	if st.ping != 0 {
		st.mu.Unlock()
		return false
	}
	for st.ping == 0 {
		st.ping = rand.Uint64()
	}
	opaque := st.ping
	st.mu.Unlock()
	st.push(ping(opaque))
	return true
}

// takePong reports whether a pong answers the outstanding ping.
func (st *stream) takePong(opaque uint64) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	if opaque != st.ping {
		return false
	}
	st.ping = 0
	return true
}

// read handles requests until the client stops sending. It returns io.EOF when
// the client closed its side in order.
func (st *stream) read(ctx context.Context) error {
	for {
		req, err := st.conn.Recv()
		if err != nil {
			return err
		}
		if st.deaf.Load() {
			continue
		}
		st.node.waitForRoom(ctx)
		switch r := req.GetRequest().(type) {
		case nil:
			st.node.fail(st, Ydb.StatusIds_BAD_REQUEST, "Empty request")
		case *pb.SessionRequest_Ping:
			st.push(pong(r.Ping.GetOpaque()))
		case *pb.SessionRequest_Pong:
			if !st.takePong(r.Pong.GetOpaque()) {
				st.node.fail(st, Ydb.StatusIds_BAD_REQUEST, "Pong data mismatch")
			}
		case *pb.SessionRequest_SessionStart_:
			st.node.fail(st, Ydb.StatusIds_BAD_REQUEST, "Session cannot be started twice")
		default:
			st.node.handle(st, req)
		}
	}
}

// write sends what is queued until the last message, nil, or an error.
func (st *stream) write(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-st.ready:
		}
		for _, msg := range st.take() {
			if err := st.send(ctx, msg); err != nil {
				return err
			}
			if isLast(msg) {
				return nil
			}
		}
	}
}

func (st *stream) send(ctx context.Context, msg *pb.SessionResponse) error {
	if f := msg.GetFailure(); f != nil && st.mustDelay(f.GetStatus()) {
		st.service.delay(ctx)
	}
	if st.deaf.Load() {
		if isLast(msg) {
			<-ctx.Done()
		}
		return ctx.Err()
	}
	if err := st.conn.Send(msg); err != nil {
		return err
	}
	if msg.GetSessionStarted() != nil {
		close(st.started)
	}
	st.mu.Lock()
	st.bytes -= proto.Size(msg)
	st.mu.Unlock()
	return nil
}

// mustDelay tells which failures make a client come back at once, for ever.
func (st *stream) mustDelay(status Ydb.StatusIds_StatusCode) bool {
	switch status {
	case Ydb.StatusIds_SESSION_EXPIRED, Ydb.StatusIds_NOT_FOUND, Ydb.StatusIds_BAD_SESSION:
		return true
	}
	select {
	case <-st.started:
		return false
	default:
		return true
	}
}
