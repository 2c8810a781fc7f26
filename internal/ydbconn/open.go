package ydbconn

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	ydb "github.com/ydb-platform/ydb-go-sdk/v3"
	"github.com/ydb-platform/ydb-go-sdk/v3/config"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
)

// sessionTimeout bounds the creation and deletion of a session. The SDK's own
// 500 ms are too short for a busy machine.
const sessionTimeout = 5 * time.Second

// reconnect is how a lost connection is dialed again. gRPC's own back-off grows
// to two minutes, so that a fleet would notice a server that is back as late as
// the server was away. With this one, two attempts begin less than 2 s apart
// while connections are refused. An attempt that is not answered at all lasts up
// to MinConnectTimeout, and TCP repeats its first packet meanwhile, 1 s and 3 s
// after the first.
var reconnect = grpc.ConnectParams{
	Backoff: backoff.Config{
		BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 800 * time.Millisecond,
	},
	MinConnectTimeout: 4 * time.Second,
}

// Reconnecting returns how every connection of the product is dialed again.
func Reconnecting() grpc.DialOption { return grpc.WithConnectParams(reconnect) }

// ErrUnreachable is wrapped by Open when the database did not answer.
var ErrUnreachable = errors.New("cannot reach the database")

// Open connects, with the SDK's default balancer, and returns when the database
// has answered or DialTimeout has passed. The caller closes the driver.
func Open(ctx context.Context, cfg Config) (*ydb.Driver, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("ydbconn: %w", err)
	}
	cfg = cfg.withDefaults()
	options, err := cfg.Credentials.options()
	if err != nil {
		return nil, err
	}
	options = append(options,
		ydb.WithApplicationName("taskfleet"),
		ydb.With(config.WithGrpcOptions(Reconnecting())),
		ydb.WithDialTimeout(cfg.DialTimeout),
		ydb.WithSessionPoolSizeLimit(cfg.PoolSize),
		ydb.WithSessionPoolCreateSessionTimeout(sessionTimeout),
		ydb.WithSessionPoolDeleteTimeout(sessionTimeout),
	)
	if cfg.RootCAFile != "" {
		if _, err := os.Stat(cfg.RootCAFile); err != nil {
			return nil, fmt.Errorf("ydbconn: YDB_SSL_ROOT_CERTIFICATES_FILE: %w", err)
		}
		options = append(options, ydb.WithCertificatesFromFile(cfg.RootCAFile))
	}

	// The SDK keeps trying until its context ends, and background work of the
	// driver outlives Open: only the opening is bounded.
	dial, cancel := context.WithTimeout(ctx, cfg.DialTimeout)
	defer cancel()
	db, err := ydb.Open(dial, cfg.Target(), options...)
	switch {
	case err == nil:
		return db, nil
	case ctx.Err() != nil:
		return nil, fmt.Errorf("ydbconn: connecting to %s: %w", cfg.Target(), context.Cause(ctx))
	case ydb.IsOperationError(err, codeUnauthorized) || ydb.IsTransportError(err, grpcUnauthenticated, grpcPermissionDenied):
		return nil, fmt.Errorf("ydbconn: %s refuses these credentials (%s): %w", cfg.Target(), cfg.Credentials, err)
	}
	return nil, fmt.Errorf("ydbconn: %w: %s did not answer within %s; is it running, and is the address right?: %w",
		ErrUnreachable, cfg.Target(), cfg.DialTimeout, err)
}
