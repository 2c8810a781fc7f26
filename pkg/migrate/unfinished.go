package migrate

import (
	"context"
	"errors"
	"fmt"
	"io"

	ydb "github.com/ydb-platform/ydb-go-sdk/v3"
	"github.com/ydb-platform/ydb-go-sdk/v3/query"
)

// maxCounted bounds the rows that are read to count the tasks of a table.
const maxCounted = 1000

// dropsTasks are the versions whose way down drops tasks.
var dropsTasks = map[int64]bool{tasksVersion: true}

// refuseUnfinished is ErrUnfinished, with how many and what to do, while the
// folder has tasks that are to run yet.
func refuseUnfinished(ctx context.Context, db *ydb.Driver, folder string) error {
	runnable, err := countTasks(ctx, db, folder, "coordinated_tasks")
	if err != nil {
		return err
	}
	delayed, err := countTasks(ctx, db, folder, "delayed_tasks")
	if err != nil {
		return err
	}
	if runnable+delayed == 0 {
		return nil
	}
	return fmt.Errorf("%w in folder %s, which this step would drop: %s runnable or running, %s delayed: "+
		"let the workers finish them, or drop them with %s --drop-tasks (in Go: Options.DropTasks)",
		ErrUnfinished, folder, counted(runnable), counted(delayed), command(db, folder, "down"))
}

func counted(tasks int) string {
	if tasks > maxCounted {
		return fmt.Sprintf("more than %d", maxCounted)
	}
	return fmt.Sprint(tasks)
}

// countTasks counts the rows of a table, up to maxCounted+1. A step down that was
// cut off may have dropped the table already: that is no task.
func countTasks(ctx context.Context, db *ydb.Driver, folder, table string) (int, error) {
	text := fmt.Sprintf("SELECT partition_id FROM `%s/%s` LIMIT %d", folderPath(db, folder), table, maxCounted+1)
	rows, err := db.Query().QueryResultSet(ctx, text, query.WithIdempotent())
	if ydb.IsOperationErrorSchemeError(err) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("migrate: counting %s of folder %s: %w", table, folder, err)
	}
	for n := 0; ; n++ {
		if _, err := rows.NextRow(ctx); errors.Is(err, io.EOF) {
			return n, rows.Close(ctx)
		} else if err != nil {
			return 0, fmt.Errorf("migrate: counting %s of folder %s: %w", table, folder, err)
		}
	}
}
