package testdb

import (
	"context"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	ydb "github.com/ydb-platform/ydb-go-sdk/v3"
	"github.com/ydb-platform/ydb-go-sdk/v3/config"
	"github.com/ydb-platform/ydb-go-sdk/v3/coordination"
	"google.golang.org/grpc"

	"github.com/taskfleet/taskfleet/internal/ydbconn"
	"github.com/taskfleet/taskfleet/pkg/ydbembed"
)

// Variable names the environment variable with the connection string of the
// database that tests use; without it they use an embedded server.
const Variable = "TASKFLEET_TEST_YDB"

// Database is what a test may use.
type Database struct {
	DB *ydb.Driver
	// Folder is the test's own, relative to the database. It does not exist yet,
	// and is dropped after the test with all that is in it. A test may change the
	// name before it uses it.
	Folder string
	// Server is the present embedded server, nil for the database that Variable names.
	Server *ydbembed.Server

	t    testing.TB
	dsn  string
	dial dialer
}

// Path is the folder's absolute path.
func (d *Database) Path() string { return d.DB.Name() + "/" + d.Folder }

// Faults scripts the behaviour of an embedded server; they are nil on another
// database. A test that is about them uses Start.
func (d *Database) Faults() *ydbembed.Faults {
	if d.Server == nil {
		return nil
	}
	return d.Server.Faults()
}

// CreateNode makes a coordination node in the folder and returns its path.
func (d *Database) CreateNode() string {
	d.t.Helper()
	path := d.Path() + "/node"
	require.NoError(d.t, d.DB.Scheme().MakeDirectory(d.t.Context(), d.Path()))
	require.NoError(d.t, d.DB.Coordination().CreateNode(d.t.Context(), path, coordination.NodeConfig{
		ReadConsistencyMode: coordination.ConsistencyModeStrict, AttachConsistencyMode: coordination.ConsistencyModeStrict,
	}))
	return path
}

// Connect returns one more connection, closed with the test. It comes back as those
// of programs do.
func (d *Database) Connect(options ...ydb.Option) *ydb.Driver {
	d.t.Helper()
	return d.through(nil, options...)
}

// closeTimeout bounds the end of a connection.
const closeTimeout = 10 * time.Second

func (d *Database) through(network *Network, options ...ydb.Option) *ydb.Driver {
	d.t.Helper()
	dial := grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
		return network.dial(ctx, address, d.dial)
	})
	options = append([]ydb.Option{ydb.With(config.WithGrpcOptions(dial, ydbconn.Reconnecting(), grpc.WithKeepaliveParams(connPolicy)))}, options...)
	db, err := ydb.Open(d.t.Context(), d.dsn, options...)
	require.NoError(d.t, err)
	d.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(d.t.Context()), closeTimeout)
		defer cancel()
		if err := db.Close(ctx); network.whole() {
			require.NoError(d.t, err)
		}
	})
	return db
}

// Open returns a database for the test.
func Open(t testing.TB) *Database {
	t.Helper()
	dsn := os.Getenv(Variable)
	if dsn == "" {
		return &Start(t).Database
	}
	return remote(t, dsn)
}

// Test runs a test that waits, on a database of its own: on the virtual clock of a
// synctest bubble, or in real time on the database that Variable names.
func Test(t *testing.T, test func(t *testing.T, d *Database)) {
	t.Helper()
	if os.Getenv(Variable) != "" {
		test(t, Open(t))
		return
	}
	synctest.Test(t, func(t *testing.T) { test(t, Open(t)) })
}

// DSN returns a database for programs that the test runs, with its connection
// string. They are to use the folder.
func DSN(t testing.TB) (string, *Database) {
	t.Helper()
	if dsn := os.Getenv(Variable); dsn != "" {
		return dsn, remote(t, dsn)
	}
	e := Start(t, Options{TCP: true})
	return e.Server.DSN(), &e.Database
}

func remote(t testing.TB, dsn string) *Database {
	t.Helper()
	d := &Database{Folder: newFolder(), t: t, dsn: dsn, dial: dialTCP}
	d.DB = d.Connect()
	t.Cleanup(func() { require.NoError(t, ydbconn.RemoveFolder(context.WithoutCancel(t.Context()), d.DB, d.Path())) })
	return d
}

func newFolder() string { return "t-" + uuid.NewString() }
