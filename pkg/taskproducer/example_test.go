package taskproducer_test

import (
	"context"
	"fmt"
	"log"
	"time"

	ydb "github.com/ydb-platform/ydb-go-sdk/v3"
	"github.com/ydb-platform/ydb-go-sdk/v3/query"

	"github.com/taskfleet/taskfleet/internal/migrate"
	"github.com/taskfleet/taskfleet/pkg/task"
	"github.com/taskfleet/taskfleet/pkg/taskproducer"
	"github.com/taskfleet/taskfleet/pkg/ydbembed"
)

// The embedded server stands for the database here; with a real one, only the
// connection string differs.
func Example() {
	ctx := context.Background()
	server, err := ydbembed.Start(ctx, ydbembed.Config{Memory: true})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	db, err := ydb.Open(ctx, server.DSN())
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close(ctx)
	// What `taskctl migrate up` does.
	if _, err := migrate.Up(ctx, db, migrate.Options{}); err != nil {
		log.Fatal(err)
	}

	producer, err := taskproducer.Open(ctx, db, taskproducer.Config{})
	if err != nil {
		log.Fatal(err)
	}
	result, err := producer.Enqueue(ctx,
		task.Task{Payload: []byte(`{"url":"http://localhost:8080/hook"}`), Priority: 200},
		task.Task{Payload: []byte(`{"url":"http://localhost:8080/hook"}`), Delay: time.Minute},
		task.Task{Kind: "mail", ID: "welcome-42", PartitionKey: "customer-42"},
	)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Enqueued, "enqueued, the last one as", result.IDs[2])

	// The same id again changes nothing.
	result, err = producer.Enqueue(ctx, task.Task{Kind: "mail", ID: "welcome-42"})
	fmt.Println(result.Enqueued, "enqueued,", result.Duplicates, "known,", err)

	// Output:
	// 3 enqueued, the last one as welcome-42
	// 0 enqueued, 1 known, <nil>
}

// Tasks that exist exactly if the caller's own changes do: an outbox without an
// outbox table.
func ExampleProducer_EnqueueTx() {
	var db *ydb.Driver
	var producer *taskproducer.Producer

	order := func(ctx context.Context, id string) error {
		return db.Query().DoTx(ctx, func(ctx context.Context, tx query.TxActor) error {
			// ... the caller's own statements, with tx ...
			_, err := producer.EnqueueTx(ctx, tx, task.Task{Kind: "ship", Payload: []byte(id)})
			return err
		})
	}
	_ = order
}
