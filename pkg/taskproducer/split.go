package taskproducer

import (
	"context"
	"errors"
	"fmt"

	"github.com/taskfleet/taskfleet/pkg/task"
)

// storeBatch stores a batch, and returns the tasks that the database refuses even
// when they are alone, with their index in the batch.
//
// A batch that is refused is split, which the store remembers, so that a
// repetition of the batch, by any process, does not store it as a whole when parts
// of it are stored: the parts are halves, and their ids follow from the batch's.
// With any other error the whole batch may be repeated.
func (p *Producer) storeBatch(ctx context.Context, batch task.Batch) (task.EnqueueResult, []*TaskError, error) {
	result, err := p.send(ctx, batch)
	store, ok := p.store.(SplitStore)
	if !ok || !errors.Is(err, task.ErrRefused) {
		return result, nil, err
	}
	refusal := err
	split := false
	err = retry(ctx, func() (err error) {
		split, err = store.Split(ctx, batch.ID)
		return err
	})
	switch {
	case err != nil:
		return result, nil, fmt.Errorf("%w (after: %v)", err, refusal)
	case !split: // by an earlier try, whose answer was lost
		result = task.EnqueueResult{Enqueued: len(batch.Tasks), Replayed: true}
		p.cfg.Observer.Enqueued(batch, result, 0)
		return result, nil, nil
	case len(batch.Tasks) == 1:
		p.cfg.Observer.Invalid("database")
		return result, []*TaskError{{Err: fmt.Errorf("the database refuses it: %w", refusal)}}, nil
	}
	return p.storeHalves(ctx, batch)
}

func (p *Producer) storeHalves(ctx context.Context, batch task.Batch) (task.EnqueueResult, []*TaskError, error) {
	all := task.EnqueueResult{Replayed: true}
	var allRefused []*TaskError
	half := len(batch.Tasks) / 2
	for i, tasks := range [][]task.Task{batch.Tasks[:half], batch.Tasks[half:]} {
		stored, refused, err := p.storeBatch(ctx, task.Batch{ID: fmt.Sprintf("%s/%d", batch.ID, i), Tasks: tasks})
		all.Enqueued += stored.Enqueued
		all.Duplicates += stored.Duplicates
		all.Replayed = all.Replayed && stored.Replayed
		for _, one := range refused {
			one.Index += i * half
			allRefused = append(allRefused, one)
		}
		if err != nil {
			return all, allRefused, err
		}
	}
	return all, allRefused, nil
}
