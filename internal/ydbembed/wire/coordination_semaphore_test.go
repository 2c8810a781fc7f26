package wire_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/ydb-platform/ydb-go-genproto/Ydb_Coordination_V1"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	pb "github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Coordination"

	"github.com/taskfleet/taskfleet/internal/ydbembed/coordsvc"
)

// A case's requests go over one stream, and results come back one for one.
// Before it there are: "full", limit 2, owned whole by another session, for
// which another one waits; "free", limit 5; "lock", ephemeral, owned by the other.
func TestCoordinationSemaphoreStatuses(t *testing.T) {
	t.Parallel()
	const (
		ok           = Ydb.StatusIds_SUCCESS
		bad          = Ydb.StatusIds_BAD_REQUEST
		notFound     = Ydb.StatusIds_NOT_FOUND
		precondition = Ydb.StatusIds_PRECONDITION_FAILED
	)
	acq := func(name string, count, timeout uint64, ephemeral bool) *pb.SessionRequest {
		return acquireSem(&pb.SessionRequest_AcquireSemaphore{Name: name, Count: count, TimeoutMillis: timeout, Ephemeral: ephemeral})
	}
	const day = 24 * 60 * 60 * 1000
	long := strings.Repeat("n", 1025)
	big := make([]byte, 1<<20+1)

	for _, c := range []struct {
		name string
		reqs []*pb.SessionRequest
		want []result
	}{
		{"create", []*pb.SessionRequest{createSem("new", 1, nil)}, []result{{1, ok, false, ""}}},
		{"create again", []*pb.SessionRequest{createSem("free", 5, nil)}, []result{{1, Ydb.StatusIds_ALREADY_EXISTS, false, "Semaphore already exists"}}},
		{"create over an ephemeral one", []*pb.SessionRequest{createSem("lock", 5, nil)}, []result{{1, precondition, false, "Cannot create semaphore due to ephemeral locks"}}},
		{"create without limit", []*pb.SessionRequest{createSem("new", 0, nil)}, []result{{1, bad, false, "Semaphores must have limit > 0"}}},
		{"create with the longest name and most data", []*pb.SessionRequest{createSem(long[1:], 1, big[1:])}, []result{{1, ok, false, ""}}},
		{"create with a long name", []*pb.SessionRequest{createSem(long, 1, nil)}, []result{{1, bad, false, "Semaphore name is too long"}}},
		{"create with too much data", []*pb.SessionRequest{createSem("new", 1, big)}, []result{{1, bad, false, "Semaphore data is too large"}}},

		{"update", []*pb.SessionRequest{updateSem("free", []byte("x")), updateSem("free", []byte("x"))}, []result{{2, ok, false, ""}, {2, ok, false, ""}}},
		{"update an ephemeral one", []*pb.SessionRequest{updateSem("lock", []byte("x"))}, []result{{2, ok, false, ""}}},
		{"update nothing", []*pb.SessionRequest{updateSem("none", nil)}, []result{{2, notFound, false, "Semaphore does not exist"}}},
		{"update a long name", []*pb.SessionRequest{updateSem(long, nil)}, []result{{2, bad, false, "Semaphore name is too long"}}},
		{"update too much data is not applied", []*pb.SessionRequest{updateSem("free", big), updateSem("free", nil)}, []result{{2, bad, false, "Semaphore data is too large"}, {2, ok, false, ""}}},

		{"delete", []*pb.SessionRequest{deleteSem("free", false)}, []result{{3, ok, false, ""}}},
		{"delete nothing", []*pb.SessionRequest{deleteSem("none", true)}, []result{{3, notFound, false, "Semaphore does not exist"}}},
		{"delete an ephemeral one", []*pb.SessionRequest{deleteSem("lock", true)}, []result{{3, precondition, false, "Cannot delete ephemeral semaphores"}}},
		{"delete one in use", []*pb.SessionRequest{deleteSem("full", false)}, []result{{3, precondition, false, "Semaphore not empty"}}},
		{"delete one in use by force", []*pb.SessionRequest{deleteSem("full", true)}, []result{{3, ok, false, ""}}},

		{"acquire nothing of it", []*pb.SessionRequest{acq("free", 0, 0, false)}, []result{{4, bad, false, "Acquire must have count > 0"}}},
		{"acquire for a day", []*pb.SessionRequest{acq("free", 1, day, false)}, []result{{4, ok, true, ""}}},
		{"acquire for too long", []*pb.SessionRequest{acq("free", 1, day+1, false)}, []result{{4, bad, false, "Acquire timeout is out of range"}}},
		{"acquire for ever", []*pb.SessionRequest{acq("free", 1, math.MaxUint64, false)}, []result{{4, ok, true, ""}}},
		{"acquire with too much data", []*pb.SessionRequest{acquireSem(&pb.SessionRequest_AcquireSemaphore{Name: "free", Count: 1, Data: big})}, []result{{4, bad, false, "Acquire data is too large"}}},
		{"acquire what is not there", []*pb.SessionRequest{acq("none", 1, 0, false)}, []result{{4, notFound, false, "Semaphore does not exist"}}},
		{"acquire ephemeral makes it", []*pb.SessionRequest{acq("none", 1, 0, true)}, []result{{4, ok, true, ""}}},
		{"acquire ephemeral with a long name", []*pb.SessionRequest{acq(long, 1, 0, true)}, []result{{4, bad, false, "Semaphore name is too long"}}},
		{"acquire a persistent one as ephemeral", []*pb.SessionRequest{acq("free", 1, 0, true)}, []result{{4, precondition, false, "Semaphore ephemeral mode mismatch"}}},
		{"acquire an ephemeral one as persistent", []*pb.SessionRequest{acq("lock", 1, 0, false)}, []result{{4, precondition, false, "Semaphore ephemeral mode mismatch"}}},
		{"acquire more than there is", []*pb.SessionRequest{acq("free", 6, 0, false)}, []result{{4, bad, false, "Cannot acquire more than allowed by the semaphore"}}},
		{"try a full one", []*pb.SessionRequest{acq("full", 1, 0, false)}, []result{{4, ok, false, ""}}},
		{"acquire more as owner", []*pb.SessionRequest{acq("free", 2, 0, false), acq("free", 3, 0, false)}, []result{{4, ok, true, ""}, {4, bad, false, "Increasing count is not allowed"}}},
		{"acquire less as owner", []*pb.SessionRequest{acq("free", 2, 0, false), acq("free", 1, 0, false)}, []result{{4, ok, true, ""}, {4, ok, true, ""}}},

		{"release", []*pb.SessionRequest{acq("free", 2, 0, false), releaseSem("free"), releaseSem("free")}, []result{{4, ok, true, ""}, {5, ok, true, ""}, {5, ok, false, ""}}},
		{"release nothing", []*pb.SessionRequest{releaseSem("none")}, []result{{5, ok, false, ""}}},

		{"describe", []*pb.SessionRequest{describeSem("full")}, []result{{6, ok, false, ""}}},
		{"describe nothing", []*pb.SessionRequest{describeSem("none")}, []result{{6, notFound, false, "Semaphore not found"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			client := crowdedNode(t)
			s, _ := startRaw(t, client)
			s.send(c.reqs...)
			for _, want := range c.want {
				require.Equal(t, want, resultOf(t, s.receive()))
			}
		})
	}
}

func crowdedNode(t *testing.T) Ydb_Coordination_V1.CoordinationServiceClient {
	t.Helper()
	server := startCoord(t, coordsvc.NewMemory(), "127.0.0.1:0")
	require.NoError(t, server.svc.CreateNode(rawNode, nil))
	client := server.client()
	other, _ := startRaw(t, client)
	other.send(createSem("full", 2, nil), createSem("free", 5, nil),
		acquireSem(&pb.SessionRequest_AcquireSemaphore{Name: "full", Count: 2}),
		acquireSem(&pb.SessionRequest_AcquireSemaphore{Name: "lock", Count: 1, Ephemeral: true}))
	for range 4 {
		require.Equal(t, Ydb.StatusIds_SUCCESS, resultOf(t, other.receive()).status)
	}
	third, _ := startRaw(t, client)
	third.send(acquireSem(&pb.SessionRequest_AcquireSemaphore{Name: "full", Count: 1, TimeoutMillis: math.MaxUint64}))
	require.NotNil(t, third.receive().GetAcquireSemaphorePending())
	return client
}

// The order of messages within one request is part of the protocol: clients
// drop the stream when an answer comes that they do not expect yet.
func TestCoordinationOrderOfEvents(t *testing.T) {
	t.Parallel()
	server := startCoord(t, coordsvc.NewMemory(), "127.0.0.1:0")
	require.NoError(t, server.svc.CreateNode(rawNode, nil))
	client := server.client()
	a, aID := startRaw(t, client)
	b, bID := startRaw(t, client)
	wait := func(req uint64) *pb.SessionRequest {
		return acquireSem(&pb.SessionRequest_AcquireSemaphore{ReqId: req, Name: "s", Count: 1, TimeoutMillis: math.MaxUint64, Data: []byte("d")})
	}
	watch := func(req uint64) *pb.SessionRequest {
		r := describeSem("s")
		d := r.GetDescribeSemaphore()
		d.ReqId, d.WatchData, d.WatchOwners = req, true, true
		return r
	}
	changed := func(req uint64, data, owners bool) *pb.SessionResponse_DescribeSemaphoreChanged {
		return &pb.SessionResponse_DescribeSemaphoreChanged{ReqId: req, DataChanged: data, OwnersChanged: owners}
	}
	sameChange := func(want *pb.SessionResponse_DescribeSemaphoreChanged, msg *pb.SessionResponse) {
		t.Helper()
		require.Equal(t, want.String(), msg.GetDescribeSemaphoreChanged().String())
	}

	a.send(createSem("s", 1, nil), wait(10))
	require.Equal(t, Ydb.StatusIds_SUCCESS, resultOf(t, a.receive()).status)
	require.Equal(t, result{10, Ydb.StatusIds_SUCCESS, true, ""}, resultOf(t, a.receive()))
	b.send(wait(20), wait(21))
	require.EqualValues(t, 20, b.receive().GetAcquireSemaphorePending().GetReqId())
	require.Equal(t, result{20, Ydb.StatusIds_ABORTED, false, "Operation superseded by another request"}, resultOf(t, b.receive()))
	require.EqualValues(t, 21, b.receive().GetAcquireSemaphorePending().GetReqId())

	a.send(watch(11), watch(12))
	first := a.receive().GetDescribeSemaphoreResult()
	require.True(t, first.GetWatchAdded())
	owners, waiters := first.GetSemaphoreDescription().GetOwners(), first.GetSemaphoreDescription().GetWaiters()
	require.Len(t, owners, 1)
	require.Len(t, waiters, 1)
	require.Equal(t, aID, owners[0].GetSessionId())
	require.Zero(t, owners[0].GetTimeoutMillis())
	require.Equal(t, bID, waiters[0].GetSessionId())
	require.EqualValues(t, uint64(math.MaxUint64), waiters[0].GetTimeoutMillis())
	require.Equal(t, "d", string(waiters[0].GetData()))
	require.Less(t, owners[0].GetOrderId(), waiters[0].GetOrderId())
	sameChange(changed(11, false, false), a.receive())
	require.EqualValues(t, 12, a.receive().GetDescribeSemaphoreResult().GetReqId())

	b.send(releaseSem("s")) // a waiter: no watch fires
	require.Equal(t, result{21, Ydb.StatusIds_ABORTED, false, "Operation superseded by another request"}, resultOf(t, b.receive()))
	require.Equal(t, result{5, Ydb.StatusIds_SUCCESS, true, ""}, resultOf(t, b.receive()))

	b.send(wait(22))
	require.EqualValues(t, 22, b.receive().GetAcquireSemaphorePending().GetReqId())
	a.send(updateSem("s", []byte("x"))) // the result, then the watcher
	require.Equal(t, Ydb.StatusIds_SUCCESS, resultOf(t, a.receive()).status)
	sameChange(changed(12, true, false), a.receive())

	a.send(watch(13), deleteSem("s", true))
	require.EqualValues(t, 13, a.receive().GetDescribeSemaphoreResult().GetReqId())
	sameChange(changed(13, true, true), a.receive())
	require.Equal(t, result{3, Ydb.StatusIds_SUCCESS, false, ""}, resultOf(t, a.receive()))
	require.Equal(t, result{22, Ydb.StatusIds_ABORTED, false, "Semaphore destroyed"}, resultOf(t, b.receive()))
}
