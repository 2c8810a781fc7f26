package coord

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/ydb-platform/ydb-go-sdk/v3/coordination"
	"github.com/ydb-platform/ydb-go-sdk/v3/coordination/options"
)

// Owner is a session that holds a semaphore.
type Owner struct {
	SessionID uint64
	// OrderID rises over the whole node: a later acquire has a higher one.
	OrderID uint64
	Data    []byte
}

// Owners returns who holds the semaphore, in the order in which they acquired
// it, and a channel that is closed at the next change or when the watch is lost:
// read again then. It may stay open when the session ends. A semaphore that
// nobody holds is ErrNotFound, and is not watched. A session has one watch per
// semaphore; a new one replaces the old. It may be repeated.
func (s *Session) Owners(ctx context.Context, name string) ([]Owner, <-chan struct{}, error) {
	changed := make(chan struct{})
	d, err := s.describe(ctx, name, options.WithDescribeOwners(true),
		options.WithSemaphoreWatch(options.WatchOwners, func(options.SemaphoreWatchEvent) { close(changed) }))
	if err != nil {
		return nil, nil, fmt.Errorf("coord: watch %s: %w", name, err)
	}
	return owners(d), changed, nil
}

// Holders is Owners without a watch.
func (s *Session) Holders(ctx context.Context, name string) ([]Owner, error) {
	d, err := s.describe(ctx, name, options.WithDescribeOwners(true))
	if err != nil {
		return nil, fmt.Errorf("coord: read %s: %w", name, err)
	}
	return owners(d), nil
}

func owners(d *coordination.SemaphoreDescription) []Owner {
	owners := make([]Owner, 0, len(d.Owners))
	for _, o := range d.Owners {
		owners = append(owners, Owner{SessionID: o.SessionID, OrderID: o.OrderID, Data: o.Data})
	}
	slices.SortFunc(owners, func(a, b Owner) int { return cmp.Compare(a.OrderID, b.OrderID) })
	return owners
}

// describe asks for a semaphore, and knows a refusal and a missing one.
func (s *Session) describe(ctx context.Context, name string, what ...options.DescribeSemaphoreOption) (*coordination.SemaphoreDescription, error) {
	bound, cancel := s.bind(ctx, s.cfg.CallTimeout)
	defer cancel()
	d, err := s.sdk.DescribeSemaphore(bound, name, what...)
	if over := s.over(err); over != nil {
		return nil, over
	}
	if err != nil {
		return nil, cause(bound, err)
	}
	if refusal := s.tap.refusal(describeOf(name)); refusal != nil {
		return nil, refusal
	}
	if d.Name == "" {
		return nil, ErrNotFound
	}
	return d, nil
}
