package taskingest_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	ydb "github.com/ydb-platform/ydb-go-sdk/v3"

	"github.com/taskfleet/taskfleet/pkg/migrate"
	"github.com/taskfleet/taskfleet/pkg/taskingest"
	"github.com/taskfleet/taskfleet/pkg/taskproducer"
	"github.com/taskfleet/taskfleet/pkg/ydbembed"
)

// The handler in a server of the caller's own.
func Example() {
	ctx := context.Background()
	database, err := ydbembed.Start(ctx, ydbembed.Config{Memory: true})
	if err != nil {
		log.Fatal(err)
	}
	defer database.Close()
	db, err := ydb.Open(ctx, database.DSN())
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close(ctx)
	if _, err := migrate.Up(ctx, db, migrate.Options{Folder: "taskfleet", Partitions: 16}); err != nil { // as `taskctl migrate up` does
		log.Fatal(err)
	}

	producer, err := taskproducer.Open(ctx, db, taskproducer.Config{})
	if err != nil {
		log.Fatal(err)
	}
	handler, err := taskingest.New(taskingest.Config{Producer: producer, Tokens: []string{"a-token-for-examples"}})
	if err != nil {
		log.Fatal(err)
	}
	server := httptest.NewServer(handler)
	defer server.Close()

	request, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+"/v1/tasks", strings.NewReader(`[{"id":"welcome-42","kind":"mail"}]`))
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer a-token-for-examples")
	request.Header.Set("Content-Type", "application/json")
	for range 2 {
		request.Body, _ = request.GetBody()
		response, err := server.Client().Do(request)
		if err != nil {
			log.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		fmt.Println(response.StatusCode, strings.TrimSpace(string(body)), err)
	}

	// Output:
	// 202 {"ids":["welcome-42"],"enqueued":1,"duplicates":0,"replayed":false} <nil>
	// 202 {"ids":["welcome-42"],"enqueued":0,"duplicates":1,"replayed":false} <nil>
}
