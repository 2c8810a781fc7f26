package testdb

import (
	"context"
	"fmt"
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
	"github.com/ydb-platform/ydb-go-sdk/v3/query"
	"github.com/ydb-platform/ydb-go-sdk/v3/scheme"
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
	t.Cleanup(func() { require.NoError(t, remove(context.WithoutCancel(t.Context()), d.DB, d.Path())) })
	return d
}

func newFolder() string { return "t-" + uuid.NewString() }

// remove drops the folder at path and what is in it. One that is not there is no
// error.
func remove(ctx context.Context, db *ydb.Driver, path string) error {
	folder, err := db.Scheme().ListDirectory(ctx, path)
	if ydb.IsOperationErrorSchemeError(err) || ydb.IsOperationErrorNotFoundError(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("testdb: list %s: %w", path, err)
	}
	for _, child := range folder.Children {
		path := path + "/" + child.Name
		switch child.Type {
		case scheme.EntryDirectory:
			err = remove(ctx, db, path)
		case scheme.EntryTable:
			err = db.Query().Exec(ctx, fmt.Sprintf("DROP TABLE `%s`", path), query.WithTxControl(query.ImplicitTxControl()))
		case scheme.EntryCoordinationNode:
			err = db.Coordination().DropNode(ctx, path)
		default:
			err = fmt.Errorf("is a %s", child.Type)
		}
		if err != nil {
			return fmt.Errorf("testdb: drop %s: %w", path, err)
		}
	}
	return db.Scheme().RemoveDirectory(ctx, path)
}
