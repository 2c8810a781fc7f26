package rebalancer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"
)

// gate gathers granted partitions and raises their epochs together: a worker
// that joins pays a few transactions, not one per partition.
type gate struct {
	fence    Fence
	owner    string
	gather   time.Duration
	timeout  time.Duration                   // of one Raise
	failed   func(err error, partitions int) // is told of every Raise that failed
	requests chan raise
}

var errNotRaised = errors.New("rebalancer: the fence did not raise the partition")

type raise struct {
	partition uint16
	reply     chan raised // holds one answer
}

type raised struct {
	epoch uint64
	err   error
}

// raise returns the partition's new epoch. It is the caller's part to try again.
func (g *gate) raise(ctx context.Context, partition uint16) (uint64, error) {
	request := raise{partition, make(chan raised, 1)}
	select {
	case g.requests <- request:
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
	select {
	case answer := <-request.reply:
		return answer.epoch, answer.err
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

// run serves requests until ctx ends, one batch after the other; what comes
// while a batch is under way makes the next.
func (g *gate) run(ctx context.Context) {
	for {
		select {
		case first := <-g.requests:
			g.serve(ctx, g.collect(ctx, first))
		case <-ctx.Done():
			return
		}
	}
}

func (g *gate) collect(ctx context.Context, first raise) []raise {
	batch := []raise{first}
	timer := time.NewTimer(g.gather)
	defer timer.Stop()
	for {
		select {
		case request := <-g.requests:
			batch = append(batch, request)
		case <-timer.C:
			return batch
		case <-ctx.Done():
			return batch
		}
	}
}

func (g *gate) serve(ctx context.Context, batch []raise) {
	partitions := make([]uint16, 0, len(batch))
	for _, request := range batch {
		partitions = append(partitions, request.partition)
	}
	bounded, cancel := context.WithTimeout(ctx, g.timeout)
	defer cancel()
	epochs, err := g.fence.Raise(bounded, partitions, g.owner)
	if err != nil {
		epochs = nil
	} else if len(epochs) < len(partitions) {
		err = fmt.Errorf("rebalancer: the fence raised %d of %d partitions", len(epochs), len(partitions))
	}
	if err != nil && ctx.Err() == nil {
		g.failed(err, len(partitions))
	}
	for _, request := range batch {
		answer := raised{}
		var ok bool
		if answer.epoch, ok = epochs[request.partition]; !ok {
			answer.err = cmp.Or(err, errNotRaised)
		}
		request.reply <- answer
	}
}
