package migrate

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	ydb "github.com/ydb-platform/ydb-go-sdk/v3"
	"github.com/ydb-platform/ydb-go-sdk/v3/table"
	"github.com/ydb-platform/ydb-go-sdk/v3/table/options"
)

// column is one that 00003 adds to each of the four tables of tasks.
type column struct{ name, kind string }

// addedColumns are how often a lock on the task died, and whether the caller
// chose the id. NULL, as in the rows of before, counts as zero and false.
var addedColumns = []column{{"crashes", "Uint32"}, {"id_given", "Bool"}}

func columnsUp(ctx context.Context, db *ydb.Driver, conn *sql.DB, folder string) error {
	return changeColumns(ctx, db, conn, folder, false, func(c column) string { return "ADD COLUMN " + c.name + " " + c.kind })
}

func columnsDown(ctx context.Context, db *ydb.Driver, conn *sql.DB, folder string) error {
	return changeColumns(ctx, db, conn, folder, true, func(c column) string { return "DROP COLUMN " + c.name })
}

// changeColumns changes those of addedColumns that a table has, or has not. YDB
// refuses to add a column again, and a migration that was cut off is repeated.
func changeColumns(ctx context.Context, db *ydb.Driver, conn *sql.DB, folder string, has bool, change func(column) string) error {
	for _, table := range tables {
		have, err := columnsOf(ctx, db, folder, table)
		if err != nil {
			return err
		}
		var changes []string
		for _, c := range addedColumns {
			if slices.Contains(have, c.name) == has {
				changes = append(changes, change(c))
			}
		}
		if len(changes) == 0 {
			continue
		}
		if _, err := conn.ExecContext(ctx, "ALTER TABLE "+table+" "+strings.Join(changes, ", ")); err != nil {
			return fmt.Errorf("altering %s: %w", table, err)
		}
	}
	return nil
}

func columnsOf(ctx context.Context, db *ydb.Driver, folder, name string) ([]string, error) {
	var description options.Description
	err := db.Table().Do(ctx, func(ctx context.Context, s table.Session) (err error) {
		description, err = s.DescribeTable(ctx, folderPath(db, folder)+"/"+name)
		return err
	}, table.WithIdempotent())
	if err != nil {
		return nil, fmt.Errorf("describing %s: %w", name, err)
	}
	columns := make([]string, len(description.Columns))
	for i, c := range description.Columns {
		columns[i] = c.Name
	}
	return columns, nil
}
