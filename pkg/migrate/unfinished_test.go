package migrate

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	ydb "github.com/ydb-platform/ydb-go-sdk/v3"
	"github.com/ydb-platform/ydb-go-sdk/v3/sugar"
)

// fill writes n rows into a table of tasks.
func fill(t *testing.T, db *ydb.Driver, folder, table string, n int) {
	t.Helper()
	order := map[string]string{"coordinated_tasks": "rank, ", "delayed_tasks": "scheduled_at, "}[table]
	value := map[string]string{"coordinated_tasks": "1ut, ", "delayed_tasks": "CurrentUtcTimestamp(), "}[table]
	var rows []string
	for i := range n {
		rows = append(rows, fmt.Sprintf("(0us, %s'%d'u)", value, i))
	}
	for chunk := range slices.Chunk(rows, 200) { // a text holds 10 KB
		require.NoError(t, db.Query().Exec(t.Context(), fmt.Sprintf("UPSERT INTO `%s/%s` (partition_id, %sid) VALUES %s",
			folderPath(db, folder), table, order, strings.Join(chunk, ", "))))
	}
}

func TestDownDropsNoUnfinishedTasksUnlessTold(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name              string
		runnable, delayed int
		dead              int
		want              string // of the refusal; none without
	}{
		{name: "none"},
		{name: "dead ones only", dead: 2},
		{name: "runnable", runnable: 3, want: "3 runnable or running, 0 delayed"},
		{name: "delayed", delayed: 1, want: "0 runnable or running, 1 delayed"},
		{name: "very many", runnable: 1001, delayed: 1000, want: "more than 1000 runnable or running, 1000 delayed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			db, folder := setup(t)
			o := Options{Folder: folder, Partitions: 4}
			_, err := Up(t.Context(), db, o)
			require.NoError(t, err)
			for table, n := range map[string]int{"coordinated_tasks": c.runnable, "delayed_tasks": c.delayed, "dead_tasks": c.dead} {
				if n > 0 {
					fill(t, db, folder, table, n)
				}
			}
			report, err := Down(t.Context(), db, o) // the columns of 00003
			require.NoError(t, err, "a step that drops no task needs no question")
			require.Equal(t, []int64{columnsVersion}, report.Changed)

			_, err = Down(t.Context(), db, o)
			if c.want != "" {
				require.ErrorIs(t, err, ErrUnfinished)
				require.ErrorContains(t, err, c.want)
				require.ErrorContains(t, err, "taskctl migrate down --endpoint "+dsnOf(db)+" --folder "+folder)
				facts, err := readFacts(t.Context(), db, folder)
				require.NoError(t, err)
				require.EqualValues(t, tasksVersion, facts.Version, "nothing was changed")
				n, err := countTasks(t.Context(), db, folder, "coordinated_tasks")
				require.NoError(t, err)
				require.Equal(t, c.runnable, n)
				o.DropTasks = true
				_, err = Down(t.Context(), db, o)
				require.NoError(t, err)
			} else {
				require.NoError(t, err)
			}
			exists, err := sugar.IsTableExists(t.Context(), db.Scheme(), folderPath(db, folder)+"/coordinated_tasks")
			require.NoError(t, err)
			require.False(t, exists)
		})
	}
}

// A step down that was cut off after it dropped one table is repeated.
func TestDownIsRepeatedWithoutSomeTables(t *testing.T) {
	t.Parallel()
	db, folder := setup(t)
	o := Options{Folder: folder, Partitions: 4}
	_, err := Up(t.Context(), db, o)
	require.NoError(t, err)
	_, err = Down(t.Context(), db, o)
	require.NoError(t, err)
	require.NoError(t, db.Query().Exec(t.Context(), fmt.Sprintf("DROP TABLE `%s/coordinated_tasks`", folderPath(db, folder))))
	_, err = Down(t.Context(), db, o)
	require.NoError(t, err)
}
