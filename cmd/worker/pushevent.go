package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/taskfleet/taskfleet/pkg/task"
	"github.com/taskfleet/taskfleet/pkg/taskworker"
)

// pushEventKind is the kind of the tasks that the default rules of webhooks make.
const pushEventKind = "push-event"

// pushEvents makes a handler that POSTs a task's payload, the event, to a URL of the
// operator's. send is the handler of HTTP tasks.
func pushEvents(url string, send taskworker.Handler) taskworker.Handler {
	return func(ctx context.Context, t *task.Task) error {
		payload, err := json.Marshal(map[string]any{"url": url, "body": json.RawMessage(t.Payload)})
		if err != nil {
			return taskworker.Never(fmt.Errorf("payload: must be JSON: %w", err))
		}
		request := *t
		request.Payload = payload
		return send(ctx, &request)
	}
}
