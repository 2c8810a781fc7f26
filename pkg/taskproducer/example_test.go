package taskproducer_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	ydb "github.com/ydb-platform/ydb-go-sdk/v3"
	"github.com/ydb-platform/ydb-go-sdk/v3/query"

	"github.com/taskfleet/taskfleet/pkg/migrate"
	"github.com/taskfleet/taskfleet/pkg/task"
	"github.com/taskfleet/taskfleet/pkg/taskproducer"
	"github.com/taskfleet/taskfleet/pkg/ydbembed"
)

// open returns a migrated fleet. The embedded server stands for the database
// here; with a real one, only the connection string differs.
func open(ctx context.Context) (db *ydb.Driver, closeAll func()) {
	server, err := ydbembed.Start(ctx, ydbembed.Config{Memory: true})
	if err != nil {
		log.Fatal(err)
	}
	db, err = ydb.Open(ctx, server.DSN())
	if err != nil {
		log.Fatal(err)
	}
	// What `taskctl migrate up` does.
	if _, err := migrate.Up(ctx, db, migrate.Options{}); err != nil {
		log.Fatal(err)
	}
	return db, func() {
		_ = db.Close(ctx)
		_ = server.Close()
	}
}

func Example() {
	ctx := context.Background()
	db, closeAll := open(ctx)
	defer closeAll()
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
// outbox table. The order's number names the transaction, so that a repetition
// after a lost answer is recognized.
func ExampleProducer_EnqueueTxOnce() {
	ctx := context.Background()
	db, closeAll := open(ctx)
	defer closeAll()
	if err := db.Query().Exec(ctx, "CREATE TABLE orders (number Utf8 NOT NULL, PRIMARY KEY (number))"); err != nil {
		log.Fatal(err)
	}
	producer, err := taskproducer.Open(ctx, db, taskproducer.Config{})
	if err != nil {
		log.Fatal(err)
	}

	order := func(number string) error {
		err := db.Query().DoTx(ctx, func(ctx context.Context, tx query.TxActor) error {
			parameters := ydb.ParamsBuilder().Param("$number").Text(number).Build()
			if err := tx.Exec(ctx, "UPSERT INTO orders (number) VALUES ($number)", query.WithParameters(parameters)); err != nil {
				return err
			}
			_, err := producer.EnqueueTxOnce(ctx, tx, "order-"+number, task.Task{Kind: "ship", Payload: []byte(number)})
			return err
		}, query.WithIdempotent())
		if errors.Is(err, taskproducer.ErrBatchExists) {
			fmt.Println(number, "was ordered before")
			return nil
		}
		return err
	}
	fmt.Println(order("42"))
	fmt.Println(order("42"))
	// Output:
	// <nil>
	// 42 was ordered before
	// <nil>
}
