package rebalancer

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	ydb "github.com/ydb-platform/ydb-go-sdk/v3"

	"github.com/taskfleet/taskfleet/internal/testdb"
)

// server is a fleet on a coordination node of a database.
type server struct {
	*fleet
	node string
}

func newServer(t *testing.T, d *testdb.Database, partitions int) *server {
	t.Helper()
	return &server{newFleet(t, partitions), d.CreateNode()}
}

// onServer runs a test of a fleet on any database.
func onServer(t *testing.T, partitions int, test func(t *testing.T, s *server, d *testdb.Database)) {
	t.Helper()
	t.Parallel()
	testdb.Test(t, func(t *testing.T, d *testdb.Database) { test(t, newServer(t, d, partitions), d) })
}

// onEmbedded runs a test of a fleet on an embedded server, on the virtual clock.
func onEmbedded(t *testing.T, partitions int, test func(t *testing.T, s *server, e *testdb.Embedded)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := testdb.Start(t)
		test(t, newServer(t, &e.Database, partitions), e)
	})
}

const (
	// serverTimeout leaves a keep-alive of 12 s, see testdb.Network.BlackHole.
	serverTimeout = 20 * time.Second
	// takeover is how long partitions may have no owner after a crash, by I8.
	takeover = serverTimeout + 2*time.Second
	// patience is how long anything else may take.
	patience = time.Minute
)

// worker joins through a connection of its own.
func (s *server) worker(id string, db *ydb.Driver) *member {
	s.t.Helper()
	cfg := s.config(id)
	cfg.Node, cfg.SessionTimeout = s.node, serverTimeout
	cfg = cfg.withDefaults()
	return s.join(cfg, coordOpener(db, cfg))
}

func TestWorkersJoinAndLeaveOnAServer(t *testing.T) {
	onServer(t, 64, func(t *testing.T, s *server, d *testdb.Database) {
		a := s.worker("a", d.Connect())
		s.await(patience, "a owns everything", s.balanced(a))
		b, c := s.worker("b", d.Connect()), s.worker("c", d.Connect())
		s.await(patience, "a, b and c share", s.balanced(a, b, c))
		a.leave()
		s.await(patience, "b and c share", s.balanced(b, c))
		var leaving sync.WaitGroup
		leaving.Go(b.leave)
		leaving.Go(c.leave)
		leaving.Wait()
		require.Empty(t, slices.Concat(a.failed(), b.failed(), c.failed()))
	})
}

// A crash with real sessions: the process is gone, its connections are reset.
func TestCrashOnAServer(t *testing.T) {
	onEmbedded(t, 64, func(t *testing.T, s *server, e *testdb.Embedded) {
		var network testdb.Network
		a, b, c := s.worker("a", e.Connect()), s.worker("b", e.Connect()), s.worker("c", e.Through(&network))
		s.await(patience, "everybody has a share", s.balanced(a, b, c))
		network.Cut()
		s.await(takeover, "a and b take over", s.balanced(a, b))
		a.leave()
		b.leave()
		c.abort()
	})
}

// I4 with real sessions: a worker that no longer hears the server ends its
// leases before the server gives its partitions away. The judge of the fleet
// sees to that; here it is given the occasion.
func TestI4BlackHoleOnAServer(t *testing.T) {
	onEmbedded(t, 64, func(t *testing.T, s *server, e *testdb.Embedded) {
		var network testdb.Network
		a, b, c := s.worker("a", e.Connect()), s.worker("b", e.Connect()), s.worker("c", e.Through(&network))
		s.await(patience, "everybody has a share", s.balanced(a, b, c))
		network.BlackHole()
		s.await(serverTimeout, "the leases of c end", func() bool { return s.loads()["c"] == 0 })
		s.await(patience, "a and b take over", s.balanced(a, b))
		a.leave()
		b.leave()
		c.abort()
	})
}

// A worker whose session the server has ended starts anew under new epochs.
func TestExpiredSessionOnAServer(t *testing.T) {
	onEmbedded(t, 16, func(t *testing.T, s *server, e *testdb.Embedded) {
		a := s.worker("a", e.Connect())
		s.await(patience, "a owns everything", s.balanced(a))
		require.True(t, e.Faults().ExpireCoordinationSession(s.node, a.session().ID()))
		s.await(patience, "a works under new epochs", func() bool {
			for p := range uint16(16) {
				if s.worked[p] != 2 {
					return false
				}
			}
			return s.balanced(a)()
		})
		a.leave()
	})
}

// A stream that breaks costs nothing: session and leases live on.
func TestBrokenStreamOnAServer(t *testing.T) {
	onEmbedded(t, 16, func(t *testing.T, s *server, e *testdb.Embedded) {
		a := s.worker("a", e.Connect())
		s.await(patience, "a owns everything", s.balanced(a))
		first := a.session()
		require.True(t, e.Faults().DisconnectCoordinationSession(s.node, first.ID()))
		b := s.worker("b", e.Connect())
		s.await(patience, "a and b share", s.balanced(a, b))
		require.Same(t, first.Context(), a.session().Context())
		require.NoError(t, first.Context().Err())
		a.leave()
		b.leave()
	})
}

func TestMissingNodeOnAServer(t *testing.T) {
	onServer(t, 4, func(t *testing.T, s *server, d *testdb.Database) {
		require.NoError(t, d.DB.Coordination().DropNode(t.Context(), s.node))
		a := s.worker("a", d.Connect())
		s.await(patience, "it says so", func() bool { return len(a.failed()) > 0 })
		require.Contains(t, a.failed()[0], "open: coord: open session of "+s.node+": no such coordination node")
		d.CreateNode()
		s.await(patience, "a owns everything", s.balanced(a))
		a.leave()
	})
}
