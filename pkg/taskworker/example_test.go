package taskworker_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/ydb-platform/ydb-go-sdk/v3"

	"github.com/taskfleet/taskfleet/pkg/migrate"
	"github.com/taskfleet/taskfleet/pkg/rebalancer"
	"github.com/taskfleet/taskfleet/pkg/task"
	"github.com/taskfleet/taskfleet/pkg/taskproducer"
	"github.com/taskfleet/taskfleet/pkg/taskworker"
	"github.com/taskfleet/taskfleet/pkg/ydbembed"
)

// A worker with a handler of its own joins a fleet: the rebalancer tells it
// which partitions it has.
func Example() {
	ctx := context.Background()
	db, end := openFleet(ctx)
	defer end()
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))

	done := make(chan struct{})
	var balancer *rebalancer.Rebalancer
	worker, fleet, err := taskworker.Open(ctx, db, taskworker.Config{
		Owner:  "worker-1",
		Logger: quiet,
		Fenced: func(partition uint16) { balancer.Fenced(partition) },
		Handlers: map[string]taskworker.Handler{
			"email": func(_ context.Context, t *task.Task) error {
				if t.Attempt == 1 {
					return taskworker.RetryAfter(10*time.Millisecond, errors.New("mailbox busy"))
				}
				fmt.Printf("sent %q, attempt %d, because of: %s\n", t.Payload, t.Attempt, t.LastError)
				close(done)
				return nil
			},
		},
	})
	check(err)
	balancer, err = rebalancer.New(db, rebalancer.Config{
		WorkerID: "worker-1", Partitions: fleet.Partitions, Node: fleet.Node, Fence: fleet, Consumer: worker, Logger: quiet,
	})
	check(err)
	check(worker.Start(ctx))
	check(balancer.Start(ctx))

	producer, err := taskproducer.Open(ctx, db, taskproducer.Config{})
	check(err)
	_, err = producer.Enqueue(ctx, task.Task{Kind: "email", Payload: []byte("hello")})
	check(err)
	<-done

	check(balancer.Stop(ctx)) // gives the partitions back, empty
	check(worker.Stop(ctx))
	// Output: sent "hello", attempt 2, because of: mailbox busy
}

// openFleet starts a database with a fleet in it; on a real one, the fleet is
// made by `taskctl migrate up`.
func openFleet(ctx context.Context) (*ydb.Driver, func()) {
	server, err := ydbembed.Start(ctx, ydbembed.Config{Memory: true})
	check(err)
	db, err := ydb.Open(ctx, server.DSN())
	check(err)
	_, err = migrate.Up(ctx, db, migrate.Options{Partitions: 4})
	check(err)
	return db, func() { check(errors.Join(db.Close(ctx), server.Close())) }
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
