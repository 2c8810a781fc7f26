package rebalancer

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	ydb "github.com/ydb-platform/ydb-go-sdk/v3"
	"github.com/ydb-platform/ydb-go-sdk/v3/coordination"

	"github.com/taskfleet/taskfleet/internal/proxytest"
	"github.com/taskfleet/taskfleet/pkg/ydbembed"
)

// server is an embedded server with a coordination node, and the fleet on it.
type server struct {
	*fleet
	srv *ydbembed.Server
}

const testNode = "/local/taskfleet/coordination"

const (
	// testTimeout is the session timeout of the tests on a real server.
	testTimeout = 3 * time.Second
	// patience is when such a test gives up: how long things may take is held on
	// the virtual clock.
	patience = time.Minute
)

func startServer(t *testing.T, partitions int) *server {
	t.Helper()
	srv, err := ydbembed.Start(t.Context(), ydbembed.Config{Memory: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	s := &server{fleet: newFleet(t, partitions), srv: srv}
	db := s.connect(srv.DSN())
	require.NoError(t, db.Coordination().CreateNode(t.Context(), testNode, coordination.NodeConfig{
		SelfCheckPeriodMillis: 1000, SessionGracePeriodMillis: 10000,
		ReadConsistencyMode: coordination.ConsistencyModeStrict, AttachConsistencyMode: coordination.ConsistencyModeStrict,
	}))
	return s
}

func (s *server) connect(dsn string) *ydb.Driver {
	s.t.Helper()
	db, err := ydb.Open(s.t.Context(), dsn)
	require.NoError(s.t, err)
	s.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		_ = db.Close(ctx) // behind a cut proxy it fails
	})
	return db
}

// worker joins through a proxy of its own.
func (s *server) worker(id string) (*member, *proxytest.Proxy) {
	s.t.Helper()
	address := strings.TrimSuffix(strings.TrimPrefix(s.srv.DSN(), "grpc://"), "/local")
	p := proxytest.New(s.t, address)
	cfg := s.config(id)
	cfg.Node = testNode
	cfg.SessionTimeout = testTimeout
	cfg.DrainTimeout = time.Second
	cfg = cfg.withDefaults()
	db := s.connect("grpc://" + p.Addr() + "/local")
	return s.join(cfg, coordOpener(db, cfg)), p
}

func TestWorkersJoinAndLeaveOnAServer(t *testing.T) {
	t.Parallel()
	s := startServer(t, 64)
	a, _ := s.worker("a")
	s.await(patience, "a owns everything", s.balanced(a))
	b, _ := s.worker("b")
	c, _ := s.worker("c")
	s.await(patience, "a, b and c share", s.balanced(a, b, c))
	a.leave()
	s.await(patience, "b and c share", s.balanced(b, c))
	slices.Sort(s.gaps)
	t.Logf("%d hand-overs: without an owner for %v at the median, %v at most", len(s.gaps), s.gaps[len(s.gaps)/2], s.gaps[len(s.gaps)-1])
	var leaving sync.WaitGroup
	leaving.Go(b.leave)
	leaving.Go(c.leave)
	leaving.Wait()
	require.Empty(t, slices.Concat(a.failed(), b.failed(), c.failed()))
}

// A crash with real sessions: the process is gone, its connections are reset.
func TestCrashOnAServer(t *testing.T) {
	t.Parallel()
	s := startServer(t, 64)
	a, _ := s.worker("a")
	b, _ := s.worker("b")
	c, network := s.worker("c")
	s.await(patience, "everybody has a share", s.balanced(a, b, c))
	network.Cut()
	took := s.await(patience, "a and b take over", s.balanced(a, b))
	t.Logf("taken over after %v", took)
	a.leave()
	b.leave()
	c.abort()
}

// I4 with real sessions: a worker that no longer hears the server ends its
// leases before the server gives its partitions away. The judge of the fleet
// sees to that; here it is given the occasion.
func TestI4BlackHoleOnAServer(t *testing.T) {
	t.Parallel()
	s := startServer(t, 64)
	a, _ := s.worker("a")
	b, _ := s.worker("b")
	c, network := s.worker("c")
	s.await(patience, "everybody has a share", s.balanced(a, b, c))
	network.BlackHole()
	ended := s.await(patience, "the leases of c end", func() bool { return s.loads()["c"] == 0 })
	took := s.await(patience, "a and b take over", s.balanced(a, b))
	t.Logf("leases ended after %v, taken over %v later", ended, took)
	a.leave()
	b.leave()
	c.abort()
}

// A worker whose session the server has ended starts anew under new epochs.
func TestExpiredSessionOnAServer(t *testing.T) {
	t.Parallel()
	s := startServer(t, 16)
	a, _ := s.worker("a")
	s.await(patience, "a owns everything", s.balanced(a))
	require.True(t, s.srv.Faults().ExpireCoordinationSession(testNode, a.session().ID()))
	s.await(patience, "a works under new epochs", func() bool {
		for p := range uint16(16) {
			if s.worked[p] != 2 {
				return false
			}
		}
		return s.balanced(a)()
	})
	a.leave()
}

// A stream that breaks costs nothing: session and leases live on.
func TestBrokenStreamOnAServer(t *testing.T) {
	t.Parallel()
	s := startServer(t, 16)
	a, _ := s.worker("a")
	s.await(patience, "a owns everything", s.balanced(a))
	first := a.session()
	require.True(t, s.srv.Faults().DisconnectCoordinationSession(testNode, first.ID()))
	b, _ := s.worker("b")
	s.await(patience, "a and b share", s.balanced(a, b))
	require.Same(t, first.Context(), a.session().Context())
	require.NoError(t, first.Context().Err())
	a.leave()
	b.leave()
}

func TestMissingNodeOnAServer(t *testing.T) {
	t.Parallel()
	s := startServer(t, 4)
	db := s.connect(s.srv.DSN())
	require.NoError(t, db.Coordination().DropNode(t.Context(), testNode))
	a, _ := s.worker("a")
	s.await(patience, "it says so", func() bool { return len(a.failed()) > 0 })
	require.Contains(t, a.failed()[0], "open: coord: open session of "+testNode+": no such coordination node")
	require.NoError(t, db.Coordination().CreateNode(t.Context(), testNode, coordination.NodeConfig{}))
	s.await(patience, "a owns everything", s.balanced(a))
	a.leave()
}
