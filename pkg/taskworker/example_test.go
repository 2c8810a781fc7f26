package taskworker_test

import (
	"context"
	"fmt"
	"time"

	"github.com/ydb-platform/ydb-go-sdk/v3"

	"github.com/taskfleet/taskfleet/internal/migrate"
	"github.com/taskfleet/taskfleet/internal/taskstore"
	"github.com/taskfleet/taskfleet/pkg/task"
	"github.com/taskfleet/taskfleet/pkg/taskworker"
	"github.com/taskfleet/taskfleet/pkg/ydbembed"
)

// A worker on a database, with a handler of its own. The rebalancer is left out:
// the worker gets the only partition by hand.
func Example() {
	ctx := context.Background()
	server, err := ydbembed.Start(ctx, ydbembed.Config{Memory: true})
	check(err)
	defer server.Close()
	db, err := ydb.Open(ctx, server.DSN())
	check(err)
	defer db.Close(ctx)
	_, err = migrate.Up(ctx, db, migrate.Options{Partitions: 1})
	check(err)
	store := taskstore.New(db, taskstore.Options{})

	done := make(chan struct{})
	worker, err := taskworker.New(store, taskworker.Config{
		Owner: "worker-1",
		Handlers: map[string]taskworker.Handler{
			"email": func(_ context.Context, t *task.Task) error {
				if t.Attempt == 1 {
					return taskworker.RetryAfter(10*time.Millisecond, fmt.Errorf("mailbox busy"))
				}
				fmt.Printf("sent %q, attempt %d, because of: %s\n", t.Payload, t.Attempt, t.LastError)
				close(done)
				return nil
			},
		},
	})
	check(err)
	check(worker.Start(ctx))
	epochs, err := store.Raise(ctx, []uint16{0}, "worker-1")
	check(err)
	worker.Acquired(ctx, 0, epochs[0])

	_, err = store.Enqueue(ctx, task.Batch{ID: "batch-1", Tasks: []task.Task{{ID: "1", Kind: "email", Payload: []byte("hello")}}})
	check(err)
	<-done
	check(worker.Stop(ctx))
	// Output: sent "hello", attempt 2, because of: mailbox busy
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
