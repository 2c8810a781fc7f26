package wire_test

import (
	"context"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	pb "github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Coordination"
	"github.com/ydb-platform/ydb-go-sdk/v3"
	"github.com/ydb-platform/ydb-go-sdk/v3/balancers"
	"github.com/ydb-platform/ydb-go-sdk/v3/coordination"
	"github.com/ydb-platform/ydb-go-sdk/v3/coordination/options"

	"github.com/taskfleet/taskfleet/internal/ydbembed/coordsvc"
)

const sdkPatience = 30 * time.Second

// sdkClient opens the official SDK on the server; there is no discovery here.
func sdkClient(t *testing.T, address string) coordination.Client {
	t.Helper()
	db, err := ydb.Open(t.Context(), "grpc://"+address+"/local", ydb.WithBalancer(balancers.SingleConn()), ydb.WithAnonymousCredentials())
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), sdkPatience)
		defer cancel()
		require.NoError(t, db.Close(ctx))
	})
	return db.Coordination()
}

// sdkSession opens a session that bears a machine as busy as tests make it.
func sdkSession(t *testing.T, client coordination.Client) coordination.Session {
	t.Helper()
	s, err := client.Session(sdkContext(t), rawNode,
		options.WithSessionTimeout(time.Minute), options.WithSessionKeepAliveTimeout(time.Minute), options.WithSessionStartTimeout(sdkPatience))
	require.NoError(t, err)
	return s
}

func sdkContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), sdkPatience)
	t.Cleanup(cancel)
	return ctx
}

func TestCoordinationThroughTheSDK(t *testing.T) {
	t.Parallel()
	client := sdkClient(t, startCoord(t, coordsvc.NewMemory(), "127.0.0.1:0").address)
	ctx := sdkContext(t)
	require.True(t, ydb.IsOperationErrorSchemeError(client.DropNode(ctx, rawNode)))
	require.NoError(t, client.CreateNode(ctx, rawNode, coordination.NodeConfig{
		SelfCheckPeriodMillis: 1000, SessionGracePeriodMillis: 1000,
		ReadConsistencyMode: coordination.ConsistencyModeStrict, AttachConsistencyMode: coordination.ConsistencyModeStrict,
		RatelimiterCountersMode: coordination.RatelimiterCountersModeDetailed,
	}))
	entry, config, err := client.DescribeNode(ctx, rawNode)
	require.NoError(t, err)
	require.Equal(t, "node", entry.Name)
	require.EqualValues(t, 1000, config.SessionGracePeriodMillis)

	s := sdkSession(t, client)
	require.NoError(t, s.CreateSemaphore(ctx, "s", 20, options.WithCreateData([]byte("data"))))
	lease, err := s.AcquireSemaphore(ctx, "s", 10)
	require.NoError(t, err)
	s.Reconnect()
	desc, err := s.DescribeSemaphore(ctx, "s", options.WithDescribeOwners(true), options.WithDescribeWaiters(true))
	require.NoError(t, err)
	require.EqualValues(t, 10, desc.Count)
	require.Len(t, desc.Owners, 1)
	require.EqualValues(t, 1, desc.Owners[0].OrderID)
	require.NoError(t, lease.Context().Err())

	_, err = s.AcquireSemaphore(ctx, "none", 1)
	require.ErrorIs(t, err, coordination.ErrAcquireTimeout)
	other := sdkSession(t, client)
	_, err = other.AcquireSemaphore(ctx, "s", 11, options.WithAcquireTimeout(0))
	require.ErrorIs(t, err, coordination.ErrAcquireTimeout)
	cancelled, cancel := context.WithCancel(ctx)
	go cancel()
	_, err = other.AcquireSemaphore(cancelled, "s", 11)
	require.ErrorIs(t, err, context.Canceled)

	require.NoError(t, lease.Release())
	lease, err = other.AcquireSemaphore(ctx, "s", 20)
	require.NoError(t, err)
	require.NoError(t, s.DeleteSemaphore(ctx, "s", options.WithForceDelete(true)))
	require.NoError(t, lease.Release())
	require.NoError(t, client.DropNode(ctx, rawNode))
}

func TestCoordinationWatchesThroughTheSDK(t *testing.T) {
	t.Parallel()
	server := startCoord(t, coordsvc.NewMemory(), "127.0.0.1:0")
	require.NoError(t, server.svc.CreateNode(rawNode, nil))
	client, ctx := sdkClient(t, server.address), sdkContext(t)
	s, other := sdkSession(t, client), sdkSession(t, client)
	require.NoError(t, s.CreateSemaphore(ctx, "s", 5))

	events := make(chan options.SemaphoreWatchEvent, 10)
	watch := func(what options.SemaphoreWatchFlag) {
		t.Helper()
		_, err := s.DescribeSemaphore(ctx, "s", options.WithSemaphoreWatch(what, func(e options.SemaphoreWatchEvent) { events <- e }))
		require.NoError(t, err)
	}
	expect := func(data, owners, lost bool) {
		t.Helper()
		select {
		case e := <-events:
			require.Equal(t, []bool{data, owners, lost}, []bool{e.DataChanged, e.OwnersChanged, e.Lost})
		case <-ctx.Done():
			t.Fatal("no event")
		}
	}
	watch(options.WatchData)
	lease, err := other.AcquireSemaphore(ctx, "s", 1)
	require.NoError(t, err)
	require.NoError(t, other.UpdateSemaphore(ctx, "s", options.WithUpdateData([]byte("x"))))
	expect(true, false, false)

	watch(options.WatchOwners)
	require.NoError(t, other.UpdateSemaphore(ctx, "s", options.WithUpdateData([]byte("y"))))
	require.NoError(t, lease.Release())
	expect(false, true, false)

	watch(options.WatchOwners)
	watch(options.WatchOwners)
	expect(false, false, true) // the replaced one
	s.Reconnect()
	expect(false, false, true) // and the second
	require.Empty(t, events)
}

// A client that dies keeps what it owns for its timeout, and not longer.
func TestCoordinationExpiryAfterTheDeathOfAClient(t *testing.T) {
	t.Parallel()
	server := startCoord(t, coordsvc.NewMemory(), "127.0.0.1:0")
	require.NoError(t, server.svc.CreateNode(rawNode, nil))
	dead := openRaw(t, server.client())
	dead.send(sessionStart(&pb.SessionRequest_SessionStart{Path: rawNode, TimeoutMillis: 500}),
		acquireSem(&pb.SessionRequest_AcquireSemaphore{Name: "s", Count: math.MaxUint64, Ephemeral: true}))
	require.NotZero(t, dead.receive().GetSessionStarted().GetSessionId())
	require.Equal(t, Ydb.StatusIds_SUCCESS, resultOf(t, dead.receive()).status)
	require.NoError(t, dead.stream.CloseSend())

	began := time.Now()
	heir := sdkSession(t, sdkClient(t, server.address))
	lease, err := heir.AcquireSemaphore(sdkContext(t), "s", coordination.Exclusive, options.WithEphemeral(true))
	require.NoError(t, err)
	require.Greater(t, time.Since(began), 300*time.Millisecond)
	require.NoError(t, lease.Release())
}

// Clients live through a restart of the server with everything that they own.
func TestCoordinationSurvivesARestart(t *testing.T) {
	t.Parallel()
	storage := coordsvc.NewMemory()
	server := startCoord(t, storage, "127.0.0.1:0")
	require.NoError(t, server.svc.CreateNode(rawNode, nil))
	client, ctx := sdkClient(t, server.address), sdkContext(t)
	s, other := sdkSession(t, client), sdkSession(t, client)
	lease, err := s.AcquireSemaphore(ctx, "s", coordination.Exclusive, options.WithEphemeral(true))
	require.NoError(t, err)
	waited := make(chan error, 1)
	go func() {
		_, err := other.AcquireSemaphore(ctx, "s", coordination.Exclusive, options.WithEphemeral(true))
		waited <- err
	}()
	order := func() (owner, waiter uint64) {
		desc, err := s.DescribeSemaphore(ctx, "s", options.WithDescribeOwners(true), options.WithDescribeWaiters(true))
		require.NoError(t, err)
		if len(desc.Owners) == 1 {
			owner = desc.Owners[0].OrderID
		}
		if len(desc.Waiters) == 1 {
			waiter = desc.Waiters[0].OrderID
		}
		return owner, waiter
	}
	require.Eventually(t, func() bool { _, w := order(); return w != 0 }, sdkPatience, 5*time.Millisecond)
	owner, waiter := order()
	require.Less(t, owner, waiter)

	server.stop()
	server = startCoord(t, storage, server.address)
	require.Eventually(t, func() bool {
		sessions := server.svc.Sessions(rawNode)
		return len(sessions) == 2 && sessions[0].Attached && sessions[1].Attached
	}, sdkPatience, 5*time.Millisecond)
	again, waiting := order()
	require.Equal(t, []uint64{owner, waiter}, []uint64{again, waiting})
	require.NoError(t, lease.Context().Err())
	select {
	case err := <-waited:
		t.Fatalf("two owners: %v", err)
	default:
	}
	require.NoError(t, lease.Release())
	require.NoError(t, <-waited)
	next, _ := order()
	require.Equal(t, waiter, next)
}

// One session may own thousands of semaphores while another waits for them all.
func TestCoordinationManyWaiters(t *testing.T) {
	t.Parallel()
	const n = 4096
	server := startCoord(t, coordsvc.NewMemory(), "127.0.0.1:0")
	require.NoError(t, server.svc.CreateNode(rawNode, nil))
	client := server.client()
	holder, _ := startRaw(t, client)
	acquireAll := func(s *rawSession) {
		for i := range uint64(n) {
			s.send(acquireSem(&pb.SessionRequest_AcquireSemaphore{
				ReqId: i + 1, Name: fmt.Sprint("partition-", i), Count: math.MaxUint64, TimeoutMillis: math.MaxUint64, Ephemeral: true,
			}))
		}
	}
	go acquireAll(holder)
	for i := range uint64(n) {
		require.Equal(t, result{i + 1, Ydb.StatusIds_SUCCESS, true, ""}, resultOf(t, holder.receive()))
	}
	crowd, _ := startRaw(t, client)
	go acquireAll(crowd)
	for i := range uint64(n) {
		require.Equal(t, i+1, crowd.receive().GetAcquireSemaphorePending().GetReqId())
	}
	holder.send(&pb.SessionRequest{Request: &pb.SessionRequest_SessionStop_{SessionStop: &pb.SessionRequest_SessionStop{}}})
	for i := range uint64(n) {
		require.Equal(t, result{i + 1, Ydb.StatusIds_SUCCESS, true, ""}, resultOf(t, crowd.receive()))
	}
}

func TestCoordinationManyWaitersThroughTheSDK(t *testing.T) {
	t.Parallel()
	const n = 256
	server := startCoord(t, coordsvc.NewMemory(), "127.0.0.1:0")
	require.NoError(t, server.svc.CreateNode(rawNode, nil))
	client, ctx := sdkClient(t, server.address), sdkContext(t)
	holder, crowd := sdkSession(t, client), sdkSession(t, client)
	acquireAll := func(s coordination.Session) []coordination.Lease {
		leases := make([]coordination.Lease, n)
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() {
				lease, err := s.AcquireSemaphore(ctx, fmt.Sprint("partition-", i), coordination.Exclusive, options.WithEphemeral(true))
				if err == nil {
					leases[i] = lease
				}
			})
		}
		wg.Wait()
		return leases
	}
	leases := acquireAll(holder)
	var taken []coordination.Lease
	var wg sync.WaitGroup
	wg.Go(func() { taken = acquireAll(crowd) })
	for _, lease := range leases {
		require.NotNil(t, lease)
		wg.Go(func() { _ = lease.Release() })
	}
	wg.Wait()
	for i, lease := range taken {
		require.NotNil(t, lease, "semaphore %d", i)
	}
}
