package coord

import (
	"context"
	"errors"
	"fmt"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-sdk/v3/coordination"
	"github.com/ydb-platform/ydb-go-sdk/v3/coordination/options"
)

// Ensure makes the persistent semaphore name, which lives until it is deleted and
// carries data, unless it is there. It may be repeated.
func (s *Session) Ensure(ctx context.Context, name string) error {
	err := s.call(ctx, createOf(name), func(ctx context.Context) error {
		return s.sdk.CreateSemaphore(ctx, name, coordination.MaxSemaphoreLimit)
	})
	var refusal *StatusError
	if errors.As(err, &refusal) && refusal.Status == Ydb.StatusIds_ALREADY_EXISTS {
		return nil
	}
	if err != nil {
		return fmt.Errorf("coord: create %s: %w", name, err)
	}
	return nil
}

// Data returns the data of a semaphore, persistent or not, and a channel that is
// closed when it is replaced or deleted, or when the watch is lost: read again
// then. It may stay open when the session ends. A session has one watch per
// semaphore; a new one replaces the old, that of Owners too. It may be repeated.
func (s *Session) Data(ctx context.Context, name string) ([]byte, <-chan struct{}, error) {
	changed := make(chan struct{})
	d, err := s.describe(ctx, name,
		options.WithSemaphoreWatch(options.WatchData, func(options.SemaphoreWatchEvent) { close(changed) }))
	if err != nil {
		return nil, nil, fmt.Errorf("coord: watch %s: %w", name, err)
	}
	return d.Data, changed, nil
}

// SetData replaces the data of a semaphore, at most 1 MiB; whoever watches it is
// told. It may be repeated. When ctx ends first, it may still happen.
func (s *Session) SetData(ctx context.Context, name string, data []byte) error {
	err := s.call(ctx, updateOf(name), func(ctx context.Context) error {
		return s.sdk.UpdateSemaphore(ctx, name, options.WithUpdateData(data))
	})
	if err != nil {
		return fmt.Errorf("coord: update %s: %w", name, err)
	}
	return nil
}

// call runs a request whose refusal the SDK would keep to itself.
func (s *Session) call(ctx context.Context, request string, f func(context.Context) error) error {
	bound, cancel := s.bind(ctx, s.cfg.CallTimeout)
	defer cancel()
	err := f(bound)
	if over := s.over(err); over != nil {
		return over
	}
	if err != nil {
		return cause(bound, err)
	}
	return s.tap.refusal(request)
}
