package wire_test

import (
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	pb "github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Coordination"

	"github.com/taskfleet/taskfleet/internal/ydbembed/store"
)

func openDisk(tb testing.TB, dir string) *store.Store {
	tb.Helper()
	disk, err := store.Open(store.Options{Dir: dir, TTLInterval: -1})
	require.NoError(tb, err)
	return disk
}

// What was answered is on disk: leases, queues and counters come back in the
// order in which they were.
func TestCoordinationComesBackFromDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	disk := openDisk(t, dir)
	server := startCoord(t, disk, "127.0.0.1:0")
	require.NoError(t, server.svc.CreateNode(rawNode, &pb.Config{SessionGracePeriodMillis: 2000}))
	client := server.client()
	exclusive := func(name string) *pb.SessionRequest {
		return acquireSem(&pb.SessionRequest_AcquireSemaphore{Name: name, Count: math.MaxUint64, TimeoutMillis: math.MaxUint64, Ephemeral: true, Data: []byte("data of " + name)})
	}
	a, aID := startRaw(t, client)
	a.send(exclusive("held"), createSem("kept", 3, []byte{0, 255}))
	require.True(t, resultOf(t, a.receive()).yes)
	require.Equal(t, Ydb.StatusIds_SUCCESS, resultOf(t, a.receive()).status)
	b, bID := startRaw(t, client)
	b.send(exclusive("held"))
	require.NotNil(t, b.receive().GetAcquireSemaphorePending())
	server.stop()
	require.NoError(t, disk.Close())

	disk = openDisk(t, dir)
	t.Cleanup(func() { require.NoError(t, disk.Close()) })
	server = startCoord(t, disk, "127.0.0.1:0")
	require.Equal(t, []string{rawNode}, server.svc.Nodes())
	c, cID := startRaw(t, server.client())
	require.Equal(t, bID+1, cID)
	c.send(describeSem("held"), describeSem("kept"), exclusive("new"), describeSem("new"))
	held := c.receive().GetDescribeSemaphoreResult().GetSemaphoreDescription()
	require.Len(t, held.GetOwners(), 1)
	require.Len(t, held.GetWaiters(), 1)
	require.Equal(t, aID, held.GetOwners()[0].GetSessionId())
	require.Equal(t, "data of held", string(held.GetOwners()[0].GetData()))
	require.Equal(t, bID, held.GetWaiters()[0].GetSessionId())
	kept := c.receive().GetDescribeSemaphoreResult().GetSemaphoreDescription()
	require.Equal(t, []byte{0, 255}, kept.GetData())
	require.EqualValues(t, 3, kept.GetLimit())
	require.True(t, resultOf(t, c.receive()).yes)
	fresh := c.receive().GetDescribeSemaphoreResult().GetSemaphoreDescription()
	require.Greater(t, fresh.GetOwners()[0].GetOrderId(), held.GetWaiters()[0].GetOrderId())
}

// BenchmarkCoordinationOnDisk measures one session that takes and gives back
// semaphores, one after the other and many at a time.
func BenchmarkCoordinationOnDisk(b *testing.B) {
	for _, together := range []int{1, 16, 256} {
		b.Run(strconv.Itoa(together), func(b *testing.B) {
			disk := openDisk(b, b.TempDir())
			defer func() { require.NoError(b, disk.Close()) }()
			server := startCoord(b, disk, "127.0.0.1:0")
			defer server.stop()
			require.NoError(b, server.svc.CreateNode(rawNode, nil))
			s, _ := startRaw(b, server.client())
			b.ResetTimer()
			for range b.N {
				go func() {
					for i := range together {
						name := strconv.Itoa(i)
						s.send(acquireSem(&pb.SessionRequest_AcquireSemaphore{Name: name, Count: 1, Ephemeral: true}))
					}
				}()
				for range together {
					require.True(b, resultOf(b, s.receive()).yes)
				}
				go func() {
					for i := range together {
						s.send(releaseSem(strconv.Itoa(i)))
					}
				}()
				for range together {
					require.True(b, resultOf(b, s.receive()).yes)
				}
			}
			b.ReportMetric(float64(b.N*together*2)/b.Elapsed().Seconds(), "requests/s")
		})
	}
}
