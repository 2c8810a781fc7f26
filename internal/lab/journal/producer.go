package journal

import (
	"context"
	"errors"

	"github.com/taskfleet/taskfleet/pkg/task"
	"github.com/taskfleet/taskfleet/pkg/taskproducer"
)

type producerStore struct {
	taskproducer.Store
	journal *Journal
}

// Store notes every batch that goes through it.
func (j *Journal) Store(s taskproducer.Store) taskproducer.Store { return &producerStore{s, j} }

func (s *producerStore) Enqueue(ctx context.Context, batch task.Batch) (task.EnqueueResult, error) {
	ids := make([]string, len(batch.Tasks))
	for i := range batch.Tasks {
		ids[i] = batch.Tasks[i].ID
	}
	s.journal.begin(Event{Op: Enqueue, ID: batch.ID, Tasks: ids})
	result, err := s.Store.Enqueue(ctx, batch)
	s.journal.end(Event{Op: Enqueue, ID: batch.ID}, err)
	return result, err
}

// Split passes the question on. A batch that is split has no tasks, and its parts
// are batches of their own.
func (s *producerStore) Split(ctx context.Context, batchID string) (bool, error) {
	store, ok := s.Store.(taskproducer.SplitStore)
	if !ok {
		return false, errors.ErrUnsupported
	}
	return store.Split(ctx, batchID)
}

// KnownID passes the question on. It writes nothing, so nothing is noted.
func (s *producerStore) KnownID(ctx context.Context, prefix string) (string, error) {
	keyed, ok := s.Store.(taskproducer.KeyedStore)
	if !ok {
		return "", taskproducer.ErrNoKeys
	}
	return keyed.KnownID(ctx, prefix)
}
