package rebalancer

import (
	"context"

	ydb "github.com/ydb-platform/ydb-go-sdk/v3"

	"github.com/taskfleet/taskfleet/internal/coord"
)

// session is what the rebalancer needs of a coordination session; the errors are
// those of package coord.
type session interface {
	ID() uint64
	Context() context.Context
	Acquire(ctx context.Context, name string, r coord.Request) (lease, error)
	Owners(ctx context.Context, name string) ([]coord.Owner, <-chan struct{}, error)
	Ensure(ctx context.Context, name string) error
	Data(ctx context.Context, name string) ([]byte, <-chan struct{}, error)
	SetData(ctx context.Context, name string, data []byte) error
	Close(ctx context.Context) error
}

// lease is a semaphore that is held.
type lease interface {
	Context() context.Context
	Update(ctx context.Context, data []byte) error
	Release(ctx context.Context) error
}

// opener opens a session, once, within a bounded time.
type opener func(ctx context.Context) (session, error)

type coordSession struct{ *coord.Session }

func (s coordSession) Acquire(ctx context.Context, name string, r coord.Request) (lease, error) {
	l, err := s.Session.Acquire(ctx, name, r)
	if err != nil {
		return nil, err
	}
	return l, nil
}

func coordOpener(db *ydb.Driver, cfg Config) opener {
	return func(ctx context.Context) (session, error) {
		s, err := coord.Open(ctx, db, cfg.Node, coord.Config{
			Description:    "taskfleet worker " + cfg.WorkerID,
			SessionTimeout: cfg.SessionTimeout,
			KeepAlive:      cfg.KeepAlive,
			StartTimeout:   cfg.StartTimeout,
			ReconnectDelay: cfg.ReconnectDelay,
		})
		if err != nil {
			return nil, err
		}
		return coordSession{s}, nil
	}
}
