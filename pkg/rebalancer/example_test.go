package rebalancer_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/ydb-platform/ydb-go-sdk/v3"
	"github.com/ydb-platform/ydb-go-sdk/v3/coordination"

	"github.com/taskfleet/taskfleet/pkg/rebalancer"
	"github.com/taskfleet/taskfleet/pkg/ydbembed"
)

// printer is a consumer that has nothing to drain.
type printer struct{ acquired chan uint16 }

func (p printer) Acquired(_ context.Context, partition uint16, epoch uint64) {
	fmt.Printf("partition %d is mine under epoch %d\n", partition, epoch)
	p.acquired <- partition
}

func (printer) Revoke(_ context.Context, partition uint16) error {
	fmt.Printf("partition %d is not mine any more\n", partition)
	return nil
}

// counter is a fence in memory; a fleet's is a table, see taskworker.Fleet.
type counter map[uint16]uint64

func (c counter) Raise(_ context.Context, partitions []uint16, _ string) (map[uint16]uint64, error) {
	epochs := map[uint16]uint64{}
	for _, p := range partitions {
		c[p]++
		epochs[p] = c[p]
	}
	return epochs, nil
}

// A worker that is alone gets every partition, here the only one.
func Example() {
	ctx := context.Background()
	server, err := ydbembed.Start(ctx, ydbembed.Config{Memory: true})
	check(err)
	defer server.Close()
	db, err := ydb.Open(ctx, server.DSN())
	check(err)
	defer db.Close(ctx)
	node := db.Name() + "/coordination"
	check(db.Coordination().CreateNode(ctx, node, coordination.NodeConfig{}))

	consumer := printer{make(chan uint16)}
	balancer, err := rebalancer.New(db, rebalancer.Config{
		WorkerID: "worker-1", Partitions: 1, Node: node, Consumer: consumer, Fence: counter{},
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	check(err)
	check(balancer.Start(ctx))
	<-consumer.acquired
	check(balancer.Stop(ctx))
	// Output:
	// partition 0 is mine under epoch 1
	// partition 0 is not mine any more
}

// A leave moves the partitions of who left, and little else.
func ExamplePlan() {
	members := []rebalancer.Member{{ID: "a"}, {ID: "b"}, {ID: "c", Weight: 2}}
	before := rebalancer.Plan(members, 8)
	after := rebalancer.Plan(members[1:], 8)
	loads := map[string]int{}
	for partition, owner := range after {
		loads[owner]++
		if before[partition] == "a" && owner == "a" {
			fmt.Println("the one who left keeps nothing")
		}
	}
	fmt.Println(loads["b"], loads["c"])
	// Output: 3 5
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
