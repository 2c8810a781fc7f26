package testdb

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	ydb "github.com/ydb-platform/ydb-go-sdk/v3"
	"github.com/ydb-platform/ydb-go-sdk/v3/coordination"
	"github.com/ydb-platform/ydb-go-sdk/v3/query"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func exec(t *testing.T, db *ydb.Driver, text string) {
	t.Helper()
	require.NoError(t, db.Query().Exec(t.Context(), text, query.WithTxControl(query.ImplicitTxControl())))
}

func TestEveryTestHasAFolderThatIsDroppedAfterIt(t *testing.T) {
	server := Start(t, Options{TCP: true})
	t.Setenv(Variable, server.Server.DSN())
	exec(t, server.DB, "CREATE TABLE `kept/a` (k Int32 NOT NULL, PRIMARY KEY (k))")
	use := func(t *testing.T, d *Database) {
		exec(t, d.DB, "CREATE TABLE `"+d.Folder+"/deep/b` (k Int32 NOT NULL, PRIMARY KEY (k))")
		exec(t, server.DB, "SELECT k FROM `"+d.Folder+"/deep/b`")
		require.NoError(t, d.DB.Coordination().CreateNode(t.Context(), d.Path()+"/c", coordination.NodeConfig{}))
	}
	t.Run("opened", func(t *testing.T) { use(t, Open(t)) })
	t.Run("in real time", func(t *testing.T) { Test(t, use) })
	t.Run("not used", func(t *testing.T) { Open(t) })
	t.Run("by programs", func(t *testing.T) {
		dsn, d := DSN(t)
		require.Equal(t, server.Server.DSN(), dsn)
		use(t, d)
	})
	left, err := server.DB.Scheme().ListDirectory(t.Context(), "/local")
	require.NoError(t, err)
	var names []string
	for _, child := range left.Children {
		if child.Name[0] != '.' {
			names = append(names, child.Name)
		}
	}
	require.Equal(t, []string{"kept"}, names)
}

func TestProgramsReachAnEmbeddedServer(t *testing.T) {
	dsn, _ := DSN(t)
	db, err := ydb.Open(t.Context(), dsn)
	require.NoError(t, err)
	exec(t, db, "SELECT 1")
	require.NoError(t, db.Close(t.Context()))
}

// What was on its way does not arrive, and nobody learns that it did not.
func TestNothingComesThroughABlackHole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		var hole Network
		c, err := hole.dial(t.Context(), "", func(context.Context, string) (net.Conn, error) { return here, nil })
		require.NoError(t, err)
		ended := make(chan error, 1)
		go func() {
			_, err := c.Read(make([]byte, 1))
			ended <- err
		}()
		hole.BlackHole()
		_, err = there.Write([]byte("x"))
		require.NoError(t, err)
		require.NoError(t, there.Close())
		synctest.Wait()
		require.Empty(t, ended)
		require.NoError(t, c.Close())
		require.ErrorIs(t, <-ended, net.ErrClosed)
	})
}

// In a bubble an hour takes no time, and a network fails as the test says.
func TestAServerOnTheVirtualClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := Start(t, Options{Disk: true})
		exec(t, e.DB, "CREATE TABLE a (k Int32 NOT NULL, PRIMARY KEY (k))")
		time.Sleep(time.Hour)
		exec(t, e.DB, "SELECT k FROM a")

		var cut, hole Network
		one, other := e.Through(&cut), e.Through(&hole)
		exec(t, one, "SELECT k FROM a")
		exec(t, other, "SELECT k FROM a")
		cut.Cut()
		hole.BlackHole()
		for _, db := range []*ydb.Driver{one, other} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			began := time.Now()
			require.Error(t, db.Query().Exec(ctx, "SELECT k FROM a", query.WithIdempotent()))
			require.Equal(t, time.Minute, time.Since(began), "retried until the end of the context")
			cancel()
		}

		e.Restart(0)
		exec(t, e.DB, "SELECT k FROM a")
	})
}
