// Package wire speaks YDB's gRPC API: one file per service, each a thin
// translation between messages and the layers below. Errors of handlers are
// *issue.Error and become the status of the response; the interceptors do that,
// apply faults and turn panics into INTERNAL_ERROR.
package wire

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/Ydb_Discovery_V1"
	"github.com/ydb-platform/ydb-go-genproto/Ydb_Query_V1"
	"github.com/ydb-platform/ydb-go-genproto/Ydb_Scheme_V1"
	"github.com/ydb-platform/ydb-go-genproto/Ydb_Table_V1"
	"google.golang.org/grpc"
	_ "google.golang.org/grpc/encoding/gzip" // clients may compress
	"google.golang.org/grpc/keepalive"

	"github.com/taskfleet/taskfleet/internal/ydbembed/coordsvc"
	"github.com/taskfleet/taskfleet/internal/ydbembed/fault"
	"github.com/taskfleet/taskfleet/internal/ydbembed/limits"
	"github.com/taskfleet/taskfleet/internal/ydbembed/session"
	"github.com/taskfleet/taskfleet/internal/ydbembed/store"
)

const (
	windowBytes = 1 << 20 // of HTTP/2 flow control, per stream

	// The SDK pings every 10 s, with and without calls; other clients sooner.
	minPingInterval = 5 * time.Second
	// A client that vanished without closing loses its streams after the sum.
	pingIdleAfter = 10 * time.Second
	pingTimeout   = 10 * time.Second
)

// Config is what a Server serves. All fields are needed.
type Config struct {
	Store        *store.Store
	Sessions     *session.Manager
	Coordination *coordsvc.Service
	Database     string // absolute path, for example /local
	Faults       *fault.Set
	Silence      *fault.Silence
	Logger       *slog.Logger
}

// Server is the gRPC face of the embedded server.
type Server struct {
	cfg      Config
	listener net.Listener
	grpc     *grpc.Server
}

// New makes a server that answers on l once Serve runs.
func New(cfg Config, l net.Listener) *Server {
	s := &Server{cfg: cfg, listener: l}
	s.grpc = grpc.NewServer(
		grpc.ForceServerCodecV2(newCodec()),
		grpc.MaxRecvMsgSize(limits.Message),
		grpc.MaxSendMsgSize(limits.Message),
		grpc.InitialWindowSize(windowBytes),
		grpc.InitialConnWindowSize(4*windowBytes),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: minPingInterval, PermitWithoutStream: true}),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: pingIdleAfter, Timeout: pingTimeout}),
		grpc.UnaryInterceptor(s.unary),
		grpc.StreamInterceptor(s.stream),
	)
	Ydb_Discovery_V1.RegisterDiscoveryServiceServer(s.grpc, &discovery{server: s})
	Ydb_Scheme_V1.RegisterSchemeServiceServer(s.grpc, &scheme{store: cfg.Store, database: cfg.Database})
	Ydb_Query_V1.RegisterQueryServiceServer(s.grpc, &queryService{sessions: cfg.Sessions})
	Ydb_Table_V1.RegisterTableServiceServer(s.grpc, &tableService{sessions: cfg.Sessions, store: cfg.Store, database: cfg.Database})
	RegisterCoordination(s.grpc, cfg.Coordination)
	return s
}

// Addr is the address that the server listens on.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Serve answers clients until Stop. It returns nil after a Stop.
func (s *Server) Serve() error {
	err := s.grpc.Serve(s.cfg.Silence.Listener(s.listener))
	if err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("wire: serving: %w", err)
	}
	return nil
}

// Stop stops listening, lets the running calls end until ctx does, and closes
// every connection. Streams that live as long as their client have to be ended
// by whoever stops the sessions; Stop calls endStreams for it once nothing new
// comes in.
func (s *Server) Stop(ctx context.Context, endStreams func()) {
	stopped := make(chan struct{})
	go func() {
		s.grpc.GracefulStop()
		close(stopped)
	}()
	endStreams()
	select {
	case <-stopped:
	case <-ctx.Done():
		s.grpc.Stop()
		<-stopped
	}
}
