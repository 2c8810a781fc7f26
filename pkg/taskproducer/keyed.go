package taskproducer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/taskfleet/taskfleet/internal/derived"
	"github.com/taskfleet/taskfleet/pkg/task"
)

// KeyedStore is a Store that EnqueueAll can ask for the ids of a key. KnownID
// returns the first id, given by a caller, that begins with prefix and is
// remembered, "" when there is none.
type KeyedStore interface {
	Store
	KnownID(ctx context.Context, prefix string) (string, error)
}

// The errors of EnqueueAll.
var (
	// ErrKeyReused says that the key was used before, with other tasks.
	ErrKeyReused = errors.New("the key was used before, with other tasks")
	// ErrTooMany says that the tasks do not fit one batch.
	ErrTooMany = errors.New("the tasks do not fit one batch")
	// ErrNoKeys says that the store cannot look a key up.
	ErrNoKeys = errors.New("the store has no keys")
)

// EnqueueAll stores all of the tasks atomically: none if one of them is
// invalid, nor if they do not fit one batch. As EnqueueBatch does, it tries again
// until ctx ends; then the tasks are either stored or not.
//
// A key makes the call idempotent: repeated with the same tasks, by any process,
// it stores nothing and returns the same ids, with Replayed set. With other tasks
// the error is ErrKeyReused. The ids are made of the key and the tasks, so no
// task may have an id of its own. A key is remembered as given ids are: as
// long as its tasks live, and for 45 days after that. Without a key, give the
// tasks ids if the call may be repeated.
func (p *Producer) EnqueueAll(ctx context.Context, key string, tasks ...task.Task) (Result, error) {
	if key != "" {
		return p.enqueueKeyed(ctx, key, tasks)
	}
	batch, result, err := p.prepareAll(ctx, tasks)
	if err != nil || len(batch.Tasks) == 0 {
		return result, err
	}
	stored, err := p.sendAll(ctx, batch)
	return result.with(stored), err
}

func (p *Producer) enqueueKeyed(ctx context.Context, key string, tasks []task.Task) (Result, error) {
	store, ok := p.store.(KeyedStore)
	if !ok {
		return Result{}, fmt.Errorf("taskproducer: %w", ErrNoKeys)
	}
	var errs []error
	for i := range tasks {
		if tasks[i].ID != "" {
			errs = append(errs, &TaskError{Index: i, Err: &task.FieldError{Field: "id", Limit: "cannot stand with a key, which the ids are made of"}})
		}
	}
	if errs != nil {
		return Result{IDs: make([]string, len(tasks)), Invalid: len(errs)}, errors.Join(errs...)
	}
	ofKey := task.KeyPrefix + sum([]byte(key))
	ofTasks := ofKey + "-" + digest(tasks) + "-"
	named := make([]task.Task, len(tasks))
	for i, t := range tasks {
		t.ID = fmt.Sprintf("%s%05d", ofTasks, i)
		named[i] = t
	}
	batch, result, err := p.prepareAll(derived.Allow(ctx), named)
	if err != nil || len(batch.Tasks) == 0 {
		return result, err
	}
	// Of two calls at a time, the one that loses meets the other's batch. Later,
	// when the batch is forgotten, its ids are still known.
	batch.ID = ofKey
	begin := time.Now()
	known, err := p.known(ctx, store, ofKey+"-")
	if err != nil {
		return result, err
	}
	stored := task.EnqueueResult{Enqueued: len(tasks), Replayed: true}
	sent := known == ""
	if sent {
		stored, err = p.sendAll(ctx, batch)
		if err == nil && stored.Replayed {
			known, err = p.known(ctx, store, ofKey+"-")
		}
		if err != nil {
			return result, err
		}
	}
	if known != "" && !strings.HasPrefix(known, ofTasks) {
		return Result{IDs: make([]string, len(tasks))}, fmt.Errorf("taskproducer: %w", ErrKeyReused)
	}
	if !sent {
		p.cfg.Observer.Enqueued(batch, stored, time.Since(begin))
	}
	return result.with(stored), nil
}

// prepareAll makes one batch of all tasks.
func (p *Producer) prepareAll(ctx context.Context, tasks []task.Task) (task.Batch, Result, error) {
	all := p.prepare(ctx, tasks)
	result := Result{IDs: all.ids, Invalid: all.invalid}
	switch {
	case all.err != nil:
		return task.Batch{}, result, all.err
	case len(all.batches) == 0:
		return task.Batch{}, result, nil
	case len(all.batches) > 1:
		return task.Batch{}, result, fmt.Errorf("taskproducer: %d tasks: %w of %d tasks and %d bytes",
			len(tasks), ErrTooMany, p.cfg.BatchTasks, p.cfg.BatchBytes)
	}
	return all.batches[0], result, nil
}

// sendAll stores a batch as it is: one that the database refuses is too large.
func (p *Producer) sendAll(ctx context.Context, batch task.Batch) (task.EnqueueResult, error) {
	stored, err := p.send(ctx, batch)
	if errors.Is(err, task.ErrRefused) {
		err = fmt.Errorf("taskproducer: %d tasks: %w: %w", len(batch.Tasks), ErrTooMany, err)
	}
	return stored, err
}

// known looks an id up, again and again as EnqueueBatch does.
func (p *Producer) known(ctx context.Context, store KeyedStore, prefix string) (id string, err error) {
	err = retry(ctx, func() error {
		id, err = store.KnownID(ctx, prefix)
		return err
	})
	return id, err
}

func (r Result) with(stored task.EnqueueResult) Result {
	r.Enqueued = stored.Enqueued
	r.Duplicates = stored.Duplicates
	r.Replayed = stored.Replayed
	return r
}

// content is what a key's second use must repeat. Its JSON must never change: a
// fleet may run two releases.
type content struct {
	Kind        string            `json:"kind"`
	Payload     []byte            `json:"payload"`
	Priority    uint8             `json:"priority"`
	Key         string            `json:"key"`
	RunAt       time.Duration     `json:"run_at"` // since 1970
	Delay       time.Duration     `json:"delay"`
	MaxAttempts uint32            `json:"max_attempts"`
	Timeout     time.Duration     `json:"timeout"`
	Headers     map[string]string `json:"headers"`
}

// digest identifies the contents of tasks, as the JSON of their list does. Only one
// task's JSON is in memory at a time.
func digest(tasks []task.Task) string {
	list := sha256.New()
	list.Write([]byte("["))
	for i, t := range tasks {
		c := content{
			Kind: t.Kind, Payload: t.Payload, Priority: t.Priority, Key: t.PartitionKey,
			Delay: t.Delay, MaxAttempts: t.MaxAttempts, Timeout: t.Timeout,
		}
		if c.Kind == "" {
			c.Kind = task.DefaultKind
		}
		if !t.RunAt.IsZero() {
			c.RunAt = t.RunAt.Sub(time.Unix(0, 0)) // until 2105: it fits
		}
		if len(t.Headers) > 0 {
			c.Headers = t.Headers
		}
		if len(t.Payload) == 0 {
			c.Payload = nil
		}
		text, _ := json.Marshal(c) // texts, numbers and bytes: cannot fail
		if i > 0 {
			list.Write([]byte(","))
		}
		list.Write(text)
	}
	list.Write([]byte("]"))
	return hex.EncodeToString(list.Sum(nil)[:16])
}

// sum is the first 128 bits of a SHA-256, in hex.
func sum(b []byte) string {
	full := sha256.Sum256(b)
	return hex.EncodeToString(full[:16])
}
