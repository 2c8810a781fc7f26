package httphandler_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/taskfleet/taskfleet/pkg/task"
	"github.com/taskfleet/taskfleet/pkg/taskworker"
	"github.com/taskfleet/taskfleet/pkg/taskworker/httphandler"
)

// A worker of your own delivers over HTTP beside what else it does, under rules of
// your own.
func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		fmt.Println(r.Method, r.URL.Path, "attempt", r.Header.Get("X-Task-Attempt"))
	}))
	defer server.Close()

	client, err := httphandler.NewClient(httphandler.ClientConfig{AllowPrivate: true, PerHost: 8})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.CloseIdleConnections()
	handlers := map[string]taskworker.Handler{
		task.DefaultKind: httphandler.New(httphandler.Config{Client: client}),
	}

	// The worker calls it with a task that it claimed.
	send := func(url string) error {
		payload := fmt.Appendf(nil, `{"url": %q, "method": "PUT", "body": {"state": "paid"}}`, url)
		return handlers["http"](context.Background(), &task.Task{ID: "42", Attempt: 1, Payload: payload})
	}
	fmt.Println(send(server.URL + "/orders/42"))
	fmt.Println(send("http://169.254.169.254/latest/meta-data/"))
	// Output:
	// PUT /orders/42 attempt 1
	// <nil>
	// PUT http://169.254.169.254/latest/meta-data/: refused: 169.254.169.254 is the address of a metadata service: never reached
}
