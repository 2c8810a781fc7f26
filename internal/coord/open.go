package coord

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	ydb "github.com/ydb-platform/ydb-go-sdk/v3"

	"github.com/taskfleet/taskfleet/internal/lifecycle"
)

// childMu serialises Driver.With, which appends to a slice that all children of
// a driver share.
var childMu sync.Mutex

// Open opens a session of the node at the absolute path node, and returns when
// the server has confirmed it, or with an error within Config.OpenTimeout. A
// node that does not exist is ErrNodeMissing. It is not repeated here: the caller
// tries again, with a pause. The session must be closed.
func Open(ctx context.Context, db *ydb.Driver, node string, cfg Config) (*Session, error) {
	cfg = cfg.withDefaults()
	s := &Session{cfg: cfg, node: node, leases: make(map[string]*Lease), group: lifecycle.New(context.Background())}
	s.ctx, s.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	err := s.open(ctx, db)
	if err != nil {
		s.cancel(err)
		return nil, fmt.Errorf("coord: open session of %s: %w", node, err)
	}
	return s, nil
}

func (s *Session) open(ctx context.Context, db *ydb.Driver) (err error) {
	ctx, cancel := s.bind(ctx, s.cfg.OpenTimeout)
	defer cancel()
	s.silence = newSilence(s.cfg.OpenTimeout, s.cfg.SessionTimeout, func() {
		s.end(fmt.Errorf("nothing heard of the server for %v", s.cfg.SessionTimeout))
	})
	s.tap = &tap{
		delay:    s.cfg.ReconnectDelay,
		heard:    s.silence.broken,
		failed:   func(err *StatusError) { s.end(err) },
		asked:    make(map[uint64]string),
		refusals: make(map[string]error),
	}
	if s.driver, err = s.child(ctx, db); err != nil {
		s.silence.stop()
		return cause(ctx, err)
	}
	defer func() {
		if err != nil {
			s.abandon(ctx)
		}
	}()
	// The SDK would ask a missing node for a session for ever, without a pause.
	if _, _, err = s.driver.Coordination().DescribeNode(ctx, s.node); err != nil {
		if ydb.IsOperationError(err, Ydb.StatusIds_SCHEME_ERROR, Ydb.StatusIds_NOT_FOUND) {
			return ErrNodeMissing
		}
		return cause(ctx, err)
	}
	if s.sdk, err = s.driver.Coordination().Session(ctx, s.node, s.cfg.options()...); err != nil {
		return cause(ctx, err)
	}
	s.watchSDK()
	if s.ctx.Err() != nil {
		return context.Cause(s.ctx)
	}
	return nil
}

func (s *Session) child(ctx context.Context, db *ydb.Driver) (*ydb.Driver, error) {
	childMu.Lock()
	defer childMu.Unlock()
	return db.With(ctx, ydb.WithSharedBalancer(db), ydb.WithTraceCoordination(s.tap.trace()))
}

// watchSDK makes the two ideas of the session's end one: whichever side ends it
// ends the other.
func (s *Session) watchSDK() {
	context.AfterFunc(s.sdk.Context(), func() { s.end(errors.New("ended by the client")) })
	context.AfterFunc(s.ctx, func() {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		_ = s.sdk.Close(ended) // does not wait, but stops the SDK's loops
	})
}

// abandon takes back an opening that failed.
func (s *Session) abandon(ctx context.Context) {
	s.end(ErrClosed)
	s.silence.stop()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.StartTimeout)
	defer cancel()
	if s.sdk != nil {
		_ = s.sdk.Close(ctx)
	}
	_ = s.driver.Close(ctx)
}

// cause prefers the reason why ctx ended over the error that followed from it.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
