package testdb

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	ydb "github.com/ydb-platform/ydb-go-sdk/v3"
	"github.com/ydb-platform/ydb-go-sdk/v3/query"
	"github.com/ydb-platform/ydb-go-sdk/v3/scheme"
)

// Variable names the environment variable with the connection string of the
// database that tests use; without it they use an embedded server.
const Variable = "TASKFLEET_TEST_YDB"

// Database is what a test may use.
type Database struct {
	DB *ydb.Driver
	// Folder is the test's own, relative to the database. It does not exist yet,
	// and is dropped after the test with all that is in it.
	Folder string
}

// Path is the folder's absolute path.
func (d *Database) Path() string { return d.DB.Name() + "/" + d.Folder }

// Open returns a database for the test.
func Open(t testing.TB) *Database {
	t.Helper()
	dsn := os.Getenv(Variable)
	if dsn == "" {
		return &Start(t).Database
	}
	return remote(t, dsn)
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
	db, err := ydb.Open(t.Context(), dsn)
	require.NoError(t, err)
	d := &Database{DB: db, Folder: newFolder()}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		require.NoError(t, remove(ctx, db, d.Path()))
		require.NoError(t, db.Close(ctx))
	})
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
