package migrate

import (
	"bytes"
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"text/template"

	"github.com/pressly/goose/v3"
	ydb "github.com/ydb-platform/ydb-go-sdk/v3"
	"github.com/ydb-platform/ydb-go-sdk/v3/scheme"

	"github.com/taskfleet/taskfleet/pkg/task"
)

//go:embed sql
var files embed.FS

var taskTables = template.Must(template.ParseFS(files, "sql/00002_tasks.yql.tmpl"))

// tables are those of 00002, in the order in which they are made.
var tables = []string{"coordinated_tasks", "delayed_tasks", "completed_tasks", "dead_tasks"}

const (
	versionTable   = "goose_db_version"
	tasksVersion   = 2
	columnsVersion = 3
)

// goNames are the names of the migrations that are written in Go.
var goNames = map[int64]string{tasksVersion: "tasks", columnsVersion: "crashes"}

// newProvider returns goose over this database. All that it runs is relative to
// the folder. The fake transactions are for YDB's sake, which refuses DDL in
// real ones.
func newProvider(db *ydb.Driver, o Options) (*goose.Provider, error) {
	connector, err := ydb.Connector(db,
		ydb.WithFakeTx(ydb.ScriptingQueryMode),
		ydb.WithTablePathPrefix(folderPath(db, o.Folder)),
		ydb.WithAutoDeclare(),
		ydb.WithNumericArgs(),
	)
	if err != nil {
		return nil, fmt.Errorf("migrate: opening database/sql: %w", err)
	}
	migrations, err := fs.Sub(files, "sql")
	if err != nil {
		return nil, fmt.Errorf("migrate: %w", err)
	}
	provider, err := goose.NewProvider(goose.DialectYdB, sql.OpenDB(connector), migrations,
		goose.WithTableName(versionTable),
		goose.WithDisableGlobalRegistry(true),
		goose.WithSlog(o.Logger),
		goose.WithGoMigrations(
			goose.NewGoMigration(tasksVersion,
				&goose.GoFunc{RunDB: func(ctx context.Context, tables *sql.DB) error { return tasksUp(ctx, db, tables, o) }},
				&goose.GoFunc{RunDB: tasksDown},
			),
			goose.NewGoMigration(columnsVersion,
				&goose.GoFunc{RunDB: func(ctx context.Context, tables *sql.DB) error { return columnsUp(ctx, db, tables, o.Folder) }},
				&goose.GoFunc{RunDB: func(ctx context.Context, tables *sql.DB) error { return columnsDown(ctx, db, tables, o.Folder) }},
			),
		),
	)
	if err != nil {
		return nil, fmt.Errorf("migrate: %w", err)
	}
	return provider, nil
}

// tasksUp fixes the number of partitions, then makes the tables, which are
// split by it.
func tasksUp(ctx context.Context, db *ydb.Driver, conn *sql.DB, o Options) error {
	facts, err := readFacts(ctx, db, o.Folder)
	if err != nil {
		return err
	}
	if err := checkPartitions(o.Folder, o.Partitions, facts.Partitions); err != nil {
		return err
	}
	if facts.Partitions == 0 {
		if facts.Partitions = o.Partitions; facts.Partitions == 0 {
			facts.Partitions = task.DefaultPartitions
		}
		if err := writeSetting(ctx, db, o.Folder, settingPartitions, int64(facts.Partitions)); err != nil {
			return err
		}
	}
	for _, table := range tables {
		text, err := render(table, facts.Partitions)
		if err != nil {
			return err
		}
		if _, err := conn.ExecContext(ctx, text); err != nil {
			return fmt.Errorf("creating %s: %w", table, err)
		}
	}
	return nil
}

func tasksDown(ctx context.Context, conn *sql.DB) error {
	for _, table := range tables {
		if _, err := conn.ExecContext(ctx, "DROP TABLE IF EXISTS "+table); err != nil {
			return fmt.Errorf("dropping %s: %w", table, err)
		}
	}
	// The tables gone, a new fleet may choose again.
	if _, err := conn.ExecContext(ctx, "DELETE FROM fleet_settings WHERE name = '"+settingPartitions+"'"); err != nil {
		return fmt.Errorf("forgetting the number of partitions: %w", err)
	}
	return nil
}

// maxShards bounds the tablets that a table begins with. Load splits it further.
const maxShards = 16

// render returns the CREATE TABLE of one table for a fleet of so many partitions.
func render(table string, partitions int) (string, error) {
	shards := min(partitions, maxShards)
	var splits []int
	for i := 1; i < shards; i++ {
		splits = append(splits, i*partitions/shards)
	}
	var text bytes.Buffer
	err := taskTables.ExecuteTemplate(&text, table, map[string]any{"Shards": shards, "Splits": splits})
	if err != nil {
		return "", fmt.Errorf("migrate: rendering %s: %w", table, err)
	}
	return text.String(), nil
}

// nameOf is the source's name for people: the file's, without number and ending.
func nameOf(source *goose.Source) string {
	if name, ok := goNames[source.Version]; ok {
		return name
	}
	name := strings.TrimSuffix(path.Base(source.Path), path.Ext(source.Path))
	if _, rest, ok := strings.Cut(name, "_"); ok {
		return rest
	}
	return name
}

// hasVersionTable reports whether a migration ever began in the folder.
func hasVersionTable(ctx context.Context, db *ydb.Driver, folder string) (bool, error) {
	directory, err := db.Scheme().ListDirectory(ctx, folderPath(db, folder))
	if ydb.IsOperationErrorSchemeError(err) || ydb.IsOperationErrorNotFoundError(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("migrate: listing folder %s: %w", folder, err)
	}
	for _, child := range directory.Children {
		if child.Name == versionTable {
			if child.Type != scheme.EntryTable {
				return false, errors.New("migrate: " + versionTable + " in folder " + folder + " is not a table")
			}
			return true, nil
		}
	}
	return false, nil
}
