package coordsvc

import (
	"context"
	"io"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	pb "github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Coordination"
	"google.golang.org/protobuf/proto"
)

// packets writes messages as a fuzzer's input: a byte for the sender and the
// pause before, a byte for the length, the message.
func packets(tb testing.TB, reqs ...*pb.SessionRequest) []byte {
	tb.Helper()
	var out []byte
	for i, req := range reqs {
		raw, err := proto.Marshal(req)
		require.NoError(tb, err)
		require.Less(tb, len(raw), 256)
		out = append(out, byte(i), byte(len(raw)))
		out = append(out, raw...)
	}
	return out
}

// unpack reads packets; what is no message is left out.
func unpack(in []byte, f func(tag byte, req *pb.SessionRequest)) {
	for len(in) >= 2 {
		tag, n := in[0], min(int(in[1]), len(in)-2)
		req := &pb.SessionRequest{}
		if proto.Unmarshal(in[2:2+n], req) == nil {
			f(tag, req)
		}
		in = in[2+n:]
	}
}

func seeds(f *testing.F) {
	watching := describe(7, "s")
	watching.GetDescribeSemaphore().WatchData = true
	watching.GetDescribeSemaphore().WatchOwners = true
	begin := &pb.SessionRequest{Request: &pb.SessionRequest_SessionStart_{SessionStart: start(0, time.Second)}}
	again := &pb.SessionRequest{Request: &pb.SessionRequest_SessionStart_{SessionStart: start(1, time.Second)}}
	create := &pb.SessionRequest{Request: &pb.SessionRequest_CreateSemaphore_{CreateSemaphore: &pb.SessionRequest_CreateSemaphore{ReqId: 1, Name: "p", Limit: 3}}}
	update := &pb.SessionRequest{Request: &pb.SessionRequest_UpdateSemaphore_{UpdateSemaphore: &pb.SessionRequest_UpdateSemaphore{ReqId: 1, Name: "p", Data: []byte("x")}}}
	erase := &pb.SessionRequest{Request: &pb.SessionRequest_DeleteSemaphore_{DeleteSemaphore: &pb.SessionRequest_DeleteSemaphore{ReqId: 1, Name: "p", Force: true}}}
	persistent := acquire(9, "p", 2)
	persistent.GetAcquireSemaphore().Ephemeral = false
	persistent.GetAcquireSemaphore().TimeoutMillis = 10
	stop := &pb.SessionRequest{Request: &pb.SessionRequest_SessionStop_{SessionStop: &pb.SessionRequest_SessionStop{}}}
	f.Add(packets(f, begin, begin, acquire(1, "s", math.MaxUint64), acquire(2, "s", 1), watching, release(3, "s"), stop))
	f.Add(packets(f, begin, create, persistent, persistent, update, persistent, erase, again, stop))
	f.Add(packets(f, begin, &pb.SessionRequest{}, begin))
	f.Add(packets(f, begin, &pb.SessionRequest{Request: &pb.SessionRequest_Unsupported_5{Unsupported_5: &pb.Unsupported{}}}))
}

// FuzzMachine sends random messages of two clients with random pauses. The
// state stays sound, and reading it back gives sound state too.
func FuzzMachine(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, in []byte) {
		now := time.Unix(1_700_000_000, 0)
		m, storage := newMachine(), NewMemory()
		var attached [2]*session
		boxes := [2]*inbox{{}, {}}
		unpack(in, func(tag byte, req *pb.SessionRequest) {
			who := tag & 1
			now = now.Add(time.Duration(tag>>1) * 10 * time.Millisecond)
			m.advance(now)
			s := attached[who]
			switch {
			case req.GetSessionStart() != nil && s == nil:
				boxes[who] = &inbox{}
				attached[who] = m.attach(now, boxes[who], req.GetSessionStart())
			case s != nil && s.at != receiver(boxes[who]):
				attached[who] = nil
			case s != nil && !m.handle(now, s, req):
				m.detach(now, s)
				attached[who] = nil
			}
			checkInvariants(t, m)
			m.takeOutbox()
			b := m.takeBatch(nodePrefix("/n"))
			require.NoError(t, storage.MetaBatch(b.puts, b.deletes))
		})
		l := newLoader()
		require.NoError(t, storage.MetaScan(nodePrefix("/n"), func(key string, value []byte) error {
			_, kind, rest, err := splitKey(key)
			require.NoError(t, err)
			return l.add(kind, rest, value)
		}))
		again, err := l.finish(now, time.Second)
		require.NoError(t, err)
		checkInvariants(t, again)
		require.Len(t, again.sessions, len(m.sessions))
		require.Len(t, again.places, len(m.places))
		for order, p := range m.places {
			require.Equal(t, p.owner, again.places[order].owner)
		}
	})
}

// script is a client that sends what it has and closes its side.
type script struct {
	ctx  context.Context
	reqs []*pb.SessionRequest
}

func (s *script) Context() context.Context           { return s.ctx }
func (s *script) Send(msg *pb.SessionResponse) error { return nil }

func (s *script) Recv() (*pb.SessionRequest, error) {
	if len(s.reqs) == 0 {
		return nil, io.EOF
	}
	req := s.reqs[0]
	s.reqs = s.reqs[1:]
	return req, nil
}

// FuzzServe sends random messages over a whole stream: it ends, and the node
// still serves the next one.
func FuzzServe(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, in []byte) {
		s, err := New(Options{Store: NewMemory(), FailureDelay: -1})
		require.NoError(t, err)
		defer s.Close()
		require.NoError(t, s.CreateNode(testNode, nil))
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		client := &script{ctx: ctx}
		unpack(in, func(_ byte, req *pb.SessionRequest) { client.reqs = append(client.reqs, req) })
		if err := s.Serve(client); err != nil {
			require.ErrorIs(t, err, ErrNotStarted)
		}
		require.NoError(t, ctx.Err())
		require.NoError(t, s.Serve(&script{ctx: ctx, reqs: []*pb.SessionRequest{
			{Request: &pb.SessionRequest_SessionStart_{SessionStart: start(0, time.Second)}}, acquire(1, "after", 1),
		}}))
		sessions := s.Sessions(testNode)
		require.NotEmpty(t, sessions)
		require.False(t, sessions[len(sessions)-1].Attached)
	})
}
