package coordsvc

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/require"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	pb "github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Coordination"
)

// gate is a storage whose writes wait, or fail, as a test wants.
type gate struct {
	*Memory
	batches atomic.Int64
	hold    atomic.Pointer[chan struct{}]
	fail    atomic.Bool
}

func (g *gate) MetaBatch(puts map[string][]byte, deletes []string) error {
	g.batches.Add(1)
	if wait := g.hold.Load(); wait != nil {
		<-*wait
	}
	if g.fail.CompareAndSwap(true, false) {
		return errors.New("disk is gone")
	}
	return g.Memory.MetaBatch(puts, deletes)
}

func TestRepliesWaitForTheDiskAndShareAWrite(t *testing.T) {
	t.Parallel()
	g := &gate{Memory: NewMemory()}
	s := open(t, g, nil)
	c := dial(t, s, start(0, time.Minute))
	c.expect("started 1")
	c.answerPing() // the next one comes in 5 s

	held := make(chan struct{})
	g.hold.Store(&held)
	before := g.batches.Load()
	const n = 200
	for i := range uint64(n) {
		c.send(acquire(100+i, fmt.Sprint("s", i), 1))
	}
	early := ""
	select {
	case msg := <-c.out:
		early = show(msg)
	case <-time.After(20 * time.Millisecond):
	}
	g.hold.Store(nil)
	close(held)
	require.Empty(t, early, "an answer before it was durable")
	for i := range n {
		c.expect(fmt.Sprintf("acquire %d SUCCESS true", 100+i))
	}
	require.LessOrEqual(t, g.batches.Load()-before, int64(3), "the acquires share writes")
}

func TestReadsWriteNothing(t *testing.T) {
	t.Parallel()
	g := &gate{Memory: NewMemory()}
	s := open(t, g, nil)
	c := dial(t, s, start(0, time.Minute))
	c.expect("started 1")
	before := g.batches.Load()
	for i := range uint64(10) {
		c.send(describe(i, "none"))
		c.expect(fmt.Sprintf("describe %d NOT_FOUND watch=false", i))
		c.send(release(i, "none"))
		c.expect(fmt.Sprintf("release %d SUCCESS false", i))
	}
	require.Equal(t, before, g.batches.Load())
}

func TestFailedWriteEndsStreamsAndLosesNothingThatWasAnswered(t *testing.T) {
	t.Parallel()
	g := &gate{Memory: NewMemory()}
	s := open(t, g, nil)
	c := dial(t, s, start(0, time.Minute))
	c.expect("started 1")
	c.send(acquire(1, "kept", 1))
	c.expect("acquire 1 SUCCESS true")
	g.fail.Store(true)
	c.send(acquire(2, "lost", 1))
	c.expect("failure UNAVAILABLE")
	require.NoError(t, c.ends())

	c = dial(t, s, start(1, time.Minute))
	c.expect("started 1")
	c.send(describe(3, "kept"))
	c.expect(fmt.Sprintf("describe 3 SUCCESS watch=false kept data=\"\" 1/%d ephemeral=true owners=[1 s1 x1 \"\" t0] waiters=", uint64(math.MaxUint64)))
	c.send(describe(4, "lost"))
	c.expect("describe 4 NOT_FOUND watch=false")

	g.fail.Store(true)
	c.send(&pb.SessionRequest{Request: &pb.SessionRequest_SessionStop_{SessionStop: &pb.SessionRequest_SessionStop{}}})
	c.expect("failure UNAVAILABLE") // its session had let go of the stream
	require.NoError(t, c.ends())
	c = dial(t, s, start(1, time.Minute))
	c.expect("started 1")
}

func TestClientThatDoesNotReadLosesItsStreamOnly(t *testing.T) {
	t.Parallel()
	s := open(t, NewMemory(), nil)
	slow := dial(t, s, start(0, time.Minute))
	slow.expect("started 1")
	other := dial(t, s, start(0, time.Minute))
	other.expect("started 2")
	slow.send(&pb.SessionRequest{Request: &pb.SessionRequest_CreateSemaphore_{CreateSemaphore: &pb.SessionRequest_CreateSemaphore{
		ReqId: 1, Name: "big", Limit: 1, Data: make([]byte, MaxSemaphoreData),
	}}})
	for slow.ctx.Err() == nil {
		select {
		case slow.in <- describe(2, "big"):
		case <-slow.ctx.Done():
		}
	}
	require.ErrorIs(t, slow.ends(), ErrTooFarBehind)
	other.send(acquire(1, "s", 1))
	other.expect("acquire 1 SUCCESS true")
	require.False(t, s.Sessions(testNode)[0].Attached)
}

func TestClientThatDoesNotReadTheLastMessage(t *testing.T) {
	t.Parallel()
	clock := clockwork.NewFakeClock()
	s := open(t, NewMemory(), clock)
	c := dial(t, s, start(0, time.Minute))
	c.expect("started 1")
	for range cap(c.out) + 1 {
		c.send(&pb.SessionRequest{Request: &pb.SessionRequest_Ping{Ping: &pb.SessionRequest_PingPong{Opaque: 7}}})
	}
	require.True(t, s.DisconnectSession(testNode, 1))
	require.NoError(t, clock.BlockUntilContext(t.Context(), 3)) // expiry, pings, farewell
	clock.Advance(farewell)
	require.ErrorIs(t, c.ends(), ErrTooFarBehind)
}

func TestPingsAreSentAndMissed(t *testing.T) {
	t.Parallel()
	clock := clockwork.NewFakeClock()
	s := open(t, NewMemory(), clock)
	c := dial(t, s, start(0, 9*time.Second))
	c.expect("started 1")
	c.answerPing()
	c.send(describe(1, "none"))
	require.Equal(t, "describe 1 NOT_FOUND watch=false", show(<-c.out))

	require.NoError(t, clock.BlockUntilContext(t.Context(), 1))
	clock.Advance(3 * time.Second)
	second := (<-c.out).GetPing()
	require.NotZero(t, second.GetOpaque())
	clock.Advance(3 * time.Second)
	require.Equal(t, Ydb.StatusIds_TIMEOUT, status(<-c.out))
	require.NoError(t, c.ends())

	require.False(t, s.Sessions(testNode)[0].Attached)
	clock.Advance(9*time.Second - time.Millisecond)
	require.Len(t, s.Sessions(testNode), 1, "a detached session has its whole timeout")
	clock.Advance(time.Millisecond)
	require.Empty(t, s.Sessions(testNode))
}

func TestWrongPongEndsTheStream(t *testing.T) {
	t.Parallel()
	s := open(t, NewMemory(), nil)
	c := dial(t, s, start(0, time.Minute))
	c.mute = true
	c.expect("started 1")
	c.send(&pb.SessionRequest{Request: &pb.SessionRequest_Pong{Pong: &pb.SessionRequest_PingPong{Opaque: 1}}})
	c.expect("failure BAD_REQUEST")
	require.NoError(t, c.ends())
}

// Failures that would make a client come back at once are held back.
func TestFailuresThatInviteARetryAreDelayed(t *testing.T) {
	t.Parallel()
	clock := clockwork.NewFakeClock()
	s := open(t, NewMemory(), clock)
	for _, c := range []struct {
		start *pb.SessionRequest_SessionStart
		want  Ydb.StatusIds_StatusCode
	}{
		{&pb.SessionRequest_SessionStart{Path: "/local/missing"}, Ydb.StatusIds_NOT_FOUND},
		{start(77, time.Second), Ydb.StatusIds_SESSION_EXPIRED},
		{&pb.SessionRequest_SessionStart{}, Ydb.StatusIds_BAD_REQUEST},
	} {
		conn := dial(t, s, c.start)
		require.NoError(t, clock.BlockUntilContext(t.Context(), 1))
		clock.Advance(199 * time.Millisecond)
		select {
		case msg := <-conn.out:
			t.Fatalf("too early: %s", show(msg))
		case <-time.After(10 * time.Millisecond):
		}
		clock.Advance(301 * time.Millisecond)
		require.Equal(t, c.want, status(conn.next()))
		require.NoError(t, conn.ends())
	}
}

func TestRestartKeepsLeasesAndCounters(t *testing.T) {
	t.Parallel()
	clock := clockwork.NewFakeClock()
	storage := NewMemory()
	s := open(t, storage, clock)
	a, b := dial(t, s, start(0, 6*time.Second)), dial(t, s, start(0, time.Minute))
	a.expect("started 1")
	b.expect("started 2")
	a.send(acquire(1, "s", math.MaxUint64))
	a.expect("acquire 1 SUCCESS true")
	b.send(acquire(2, "s", math.MaxUint64))
	b.expect("pending 2")
	require.NoError(t, s.Close())
	a.expect("failure UNAVAILABLE")
	b.expect("failure UNAVAILABLE")

	s = open(t, storage, clock)
	b = dial(t, s, start(2, time.Minute))
	b.expect("started 2")
	b.answerPing()
	b.send(acquire(3, "s", math.MaxUint64))
	b.expect("pending 3")
	require.NoError(t, clock.BlockUntilContext(t.Context(), 2)) // the node's deadline and b's pings
	clock.Advance(7 * time.Second)                              // of 6 s and 2 s of grace
	require.Len(t, s.Sessions(testNode), 2)
	clock.Advance(time.Second)
	b.expect("acquire 3 SUCCESS true")
	b.send(describe(4, "s"))
	b.expect(fmt.Sprintf("describe 4 SUCCESS watch=false s data=\"\" %d/%[1]d ephemeral=true owners=[2 s2 x%[1]d \"\" t0] waiters=", uint64(math.MaxUint64)))
	c := dial(t, s, start(0, time.Minute))
	c.expect("started 3")
}

func TestDropOfANodeInUse(t *testing.T) {
	t.Parallel()
	storage := NewMemory()
	s := open(t, storage, nil)
	c := dial(t, s, start(0, time.Minute))
	c.expect("started 1")
	c.send(acquire(1, "s", 1))
	c.expect("acquire 1 SUCCESS true")
	require.NoError(t, s.DropNode(testNode))
	c.expect("failure UNAVAILABLE")
	require.NoError(t, c.ends())
	require.Empty(t, storage.meta)
	require.Empty(t, storage.nodes)
	again := dial(t, s, start(1, time.Minute))
	again.expect("failure NOT_FOUND")
	require.NoError(t, again.ends())

	require.NoError(t, s.CreateNode(testNode, nil))
	fresh := dial(t, s, start(1, time.Minute))
	fresh.expect("failure SESSION_EXPIRED")
}

// A drop that a crash cut short leaves records without an entry.
func TestLeftoversOfADropAreErased(t *testing.T) {
	t.Parallel()
	storage := NewMemory()
	require.NoError(t, open(t, storage, nil).Close())
	require.NoError(t, storage.DropNode(testNode))
	s, err := New(Options{Store: storage})
	require.NoError(t, err)
	require.Empty(t, s.Nodes())
	require.Empty(t, storage.meta)
	require.NoError(t, s.Close())
}

func TestStopAnswersEvenWhenTheClientClosesItsSide(t *testing.T) {
	t.Parallel()
	s := open(t, NewMemory(), nil)
	c := dial(t, s, start(0, time.Minute))
	c.expect("started 1")
	c.send(&pb.SessionRequest{Request: &pb.SessionRequest_SessionStop_{SessionStop: &pb.SessionRequest_SessionStop{}}})
	c.mute = true
	c.closeSend()
	c.expect("stopped 1")
	require.NoError(t, c.ends())
	require.Empty(t, s.Sessions(testNode))
}

func TestEndingSessionsFromOutside(t *testing.T) {
	t.Parallel()
	for want, end := range map[string]func(*Service) bool{
		"failure SESSION_EXPIRED": func(s *Service) bool { return s.ExpireSession(testNode, 1) },
		"failure BAD_SESSION":     func(s *Service) bool { return s.StealSession(testNode, 1) },
		"failure UNAVAILABLE":     func(s *Service) bool { return s.DisconnectSession(testNode, 1) },
	} {
		s := open(t, NewMemory(), nil)
		c := dial(t, s, start(0, time.Minute))
		c.expect("started 1")
		require.True(t, end(s))
		c.expect(want)
		require.NoError(t, c.ends())
		require.False(t, s.ExpireSession(testNode, 2))
		require.False(t, s.ExpireSession("/local/none", 1))
	}
}

func TestBlackHole(t *testing.T) {
	t.Parallel()
	clock := clockwork.NewFakeClock()
	s := open(t, NewMemory(), clock)
	c := dial(t, s, start(0, 3*time.Second))
	c.expect("started 1")
	c.answerPing()
	require.True(t, s.BlackHole(testNode, 1))
	c.send(acquire(2, "s", 1))
	require.NoError(t, clock.BlockUntilContext(t.Context(), 1))
	clock.Advance(time.Second) // a ping that is lost
	clock.Advance(time.Second) // and found missing
	require.Eventually(t, func() bool { return !s.Sessions(testNode)[0].Attached }, patience, time.Millisecond)
	clock.Advance(3 * time.Second)
	require.Empty(t, s.Sessions(testNode))
	select {
	case msg := <-c.out:
		t.Fatalf("something got through: %s", show(msg))
	case <-c.ctx.Done():
		t.Fatal("the client was told")
	case <-time.After(20 * time.Millisecond):
	}
}

// Many clients come and go at once; at the end everything is free again.
func TestManyClientsAtOnce(t *testing.T) {
	t.Parallel()
	s := open(t, NewMemory(), nil)
	var holders, most atomic.Int64
	var wg sync.WaitGroup
	for range 24 {
		wg.Go(func() {
			for range 10 {
				c := dial(t, s, start(0, time.Minute))
				_ = c.next()
				c.send(acquire(1, "s", math.MaxUint64))
				msg := c.next()
				if msg.GetAcquireSemaphorePending() != nil {
					msg = c.next()
				}
				if msg.GetAcquireSemaphoreResult().GetAcquired() {
					most.Store(max(most.Load(), holders.Add(1)))
					holders.Add(-1)
				}
				c.send(release(2, "s"))
				c.send(&pb.SessionRequest{Request: &pb.SessionRequest_SessionStop_{SessionStop: &pb.SessionRequest_SessionStop{}}})
				for c.next().GetSessionStopped() == nil {
				}
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 1, most.Load())
	require.Empty(t, s.Sessions(testNode))
	c := dial(t, s, start(0, time.Minute))
	_ = c.next()
	c.send(describe(1, "s"))
	c.expect("describe 1 NOT_FOUND watch=false")
}

func TestClosedServiceRefusesStreams(t *testing.T) {
	t.Parallel()
	s := open(t, NewMemory(), nil)
	require.NoError(t, s.Close())
	c := dial(t, s, start(0, time.Minute))
	c.expect("failure UNAVAILABLE")
	require.NoError(t, c.ends())
	var refused *Error
	require.ErrorAs(t, s.CreateNode("/local/other", nil), &refused)
}
