package ydbembed_test

import (
	"context"
	"fmt"
	"log"

	"github.com/ydb-platform/ydb-go-sdk/v3"

	"github.com/taskfleet/taskfleet/pkg/ydbembed"
)

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

	for _, text := range []string{
		"CREATE TABLE greetings (language Utf8 NOT NULL, text Utf8, PRIMARY KEY (language))",
		"UPSERT INTO greetings (language, text) VALUES ('en', 'hello'), ('fr', 'bonjour')",
	} {
		if err := db.Query().Exec(ctx, text); err != nil {
			log.Fatal(err)
		}
	}
	row, err := db.Query().QueryRow(ctx, "SELECT text FROM greetings WHERE language = 'fr'")
	if err != nil {
		log.Fatal(err)
	}
	var greeting string
	if err := row.Scan(&greeting); err != nil {
		log.Fatal(err)
	}
	fmt.Println(greeting)
	// Output: bonjour
}

// The producer of a queue must cope with a commit whose answer is lost.
func ExampleFaults_DropAnswer() {
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
	if err := db.Query().Exec(ctx, "CREATE TABLE t (k Uint64 NOT NULL, PRIMARY KEY (k))"); err != nil {
		log.Fatal(err)
	}

	fault := server.Faults().DropAnswer("ExecuteQuery")
	err = db.Query().Exec(ctx, "UPSERT INTO t (k) VALUES (1)")
	fmt.Println("failed:", err != nil, "- applied:", fault.Hits() == 1)
	// Output: failed: true - applied: true
}
