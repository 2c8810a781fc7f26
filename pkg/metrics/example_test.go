package metrics_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/taskfleet/taskfleet/pkg/metrics"
)

// A program's metrics are served beside its work.
func Example() {
	m := metrics.New()
	m.Producer().Backpressure(12) // a producer's Config.Observer is told
	server, err := m.Serve(context.Background(), "127.0.0.1:0")
	check(err)
	defer server.Close()

	answer, err := http.Get("http://" + server.Addr() + "/metrics")
	check(err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	check(err)
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "taskfleet_producer_backpressure_tasks_total") {
			fmt.Print(line)
		}
	}
	// Output: taskfleet_producer_backpressure_tasks_total 12
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
