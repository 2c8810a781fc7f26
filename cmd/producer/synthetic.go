package main

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"time"

	"github.com/taskfleet/taskfleet/pkg/task"
	"github.com/taskfleet/taskfleet/pkg/taskproducer"
)

// The delays of synthetic tasks.
const (
	minDelay = 5 * time.Second
	maxDelay = 30 * time.Second
)

// synthetic makes load until the flags say so or ctx ends.
func synthetic(ctx context.Context, o *options, producer *taskproducer.Producer, progress *progress) error {
	_, err := producer.Run(ctx, taskproducer.Load{
		Make: func(n int) task.Task {
			progress.tasks.Add(1)
			return syntheticTask(n, o.targetURL, o.delayedShare)
		},
		Rate:     o.rate,
		Window:   o.window,
		Count:    o.count,
		Duration: o.duration,
		InFlight: o.inFlight,
		Drain:    o.drain,
	})
	return err
}

// syntheticTask is a webhook of a random priority; a share of them are delayed.
func syntheticTask(n int, target string, delayedShare float64) task.Task {
	payload, _ := json.Marshal(struct { // strings and numbers: cannot fail
		URL string `json:"url"`
		N   int    `json:"n"`
	}{target, n})
	t := task.Task{Payload: payload, Priority: uint8(rand.N(256))}
	if rand.Float64() < delayedShare {
		t.Delay = minDelay + rand.N(maxDelay-minDelay)
	}
	return t
}
