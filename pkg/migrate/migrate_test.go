package migrate

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	ydb "github.com/ydb-platform/ydb-go-sdk/v3"
	"github.com/ydb-platform/ydb-go-sdk/v3/coordination"
	"github.com/ydb-platform/ydb-go-sdk/v3/scheme"
	"github.com/ydb-platform/ydb-go-sdk/v3/sugar"
	"go.uber.org/goleak"

	"github.com/taskfleet/taskfleet/internal/coord"
	"github.com/taskfleet/taskfleet/internal/testdb"
	"github.com/taskfleet/taskfleet/pkg/task"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func setup(t *testing.T) (db *ydb.Driver, folder string) {
	d := testdb.Open(t)
	return d.DB, d.Folder
}

func dsnOf(db *ydb.Driver) string { return "grpc://" + db.Endpoint() + db.Name() }

func TestUpMakesAFleet(t *testing.T) {
	t.Parallel()
	db, folder := setup(t)
	o := Options{Folder: folder}

	_, err := Check(t.Context(), db, folder)
	require.ErrorIs(t, err, ErrNoSchema)
	require.ErrorContains(t, err, "no taskfleet schema in folder "+folder+" of "+db.Name()+
		": run `taskctl migrate up --endpoint "+dsnOf(db)+" --folder "+folder+"`")
	status, err := Status(t.Context(), db, o)
	require.NoError(t, err)
	require.Len(t, status.Migrations, Version)
	require.Equal(t, []Migration{{Version: 1, Name: "fleet"}, {Version: 2, Name: "tasks"}, {Version: 3, Name: "crashes"}}, status.Migrations)

	report, err := Up(t.Context(), db, o)
	require.NoError(t, err)
	require.Equal(t, []int64{1, 2, 3}, report.Changed)
	require.Equal(t, Facts{Folder: folder, Partitions: task.DefaultPartitions, Version: Version}, report.Facts)
	for _, migration := range report.Migrations {
		require.True(t, migration.Applied, migration.Name)
		require.WithinDuration(t, time.Now(), migration.AppliedAt, time.Hour)
	}

	facts, err := Check(t.Context(), db, folder)
	require.NoError(t, err)
	require.Equal(t, report.Facts, facts)

	directory, err := db.Scheme().ListDirectory(t.Context(), db.Name()+"/"+folder)
	require.NoError(t, err)
	found := map[string]scheme.EntryType{}
	for _, child := range directory.Children {
		found[child.Name] = child.Type
	}
	require.Equal(t, map[string]scheme.EntryType{
		"coordinated_tasks": scheme.EntryTable,
		"delayed_tasks":     scheme.EntryTable,
		"completed_tasks":   scheme.EntryTable,
		"dead_tasks":        scheme.EntryTable,
		"partitions":        scheme.EntryTable,
		"enqueue_batches":   scheme.EntryTable,
		"task_ids":          scheme.EntryTable,
		"fleet_settings":    scheme.EntryTable,
		versionTable:        scheme.EntryTable,
		NodeName:            scheme.EntryCoordinationNode,
	}, found)

	_, config, err := db.Coordination().DescribeNode(t.Context(), nodePath(db, folder))
	require.NoError(t, err)
	require.Equal(t, coordination.ConsistencyModeStrict, config.ReadConsistencyMode)
	require.Equal(t, coordination.ConsistencyModeStrict, config.AttachConsistencyMode)
	require.LessOrEqual(t, config.SessionGracePeriodMillis, uint32(2000), "I8 holds after a restart of the database, too")
}

func TestUpMayBeRepeated(t *testing.T) {
	t.Parallel()
	db, folder := setup(t)
	_, err := Up(t.Context(), db, Options{Folder: folder, Partitions: 8})
	require.NoError(t, err)
	for _, partitions := range []int{0, 8} {
		report, err := Up(t.Context(), db, Options{Folder: folder, Partitions: partitions})
		require.NoError(t, err)
		require.Empty(t, report.Changed)
		require.Equal(t, 8, report.Partitions)
	}
}

func TestUpRefusesAnotherPartitionCount(t *testing.T) {
	t.Parallel()
	db, folder := setup(t)
	_, err := Up(t.Context(), db, Options{Folder: folder, Partitions: 8})
	require.NoError(t, err)
	_, err = Up(t.Context(), db, Options{Folder: folder, Partitions: 16})
	require.ErrorIs(t, err, ErrPartitions)
	require.ErrorContains(t, err, "has 8, not 16")
	_, err = Up(t.Context(), db, Options{Folder: folder, Partitions: task.MaxPartitions + 1})
	require.ErrorContains(t, err, "partitions 4097: must be 1..4096")
	_, err = Up(t.Context(), db, Options{Folder: "../etc", Partitions: 8})
	require.ErrorContains(t, err, `folder "../etc": must be`)
}

// TestUpFinishesWhatWasCutOff: YDB has no transactions over DDL.
func TestUpFinishesWhatWasCutOff(t *testing.T) {
	t.Parallel()
	db, folder := setup(t)
	require.NoError(t, createNode(t.Context(), db, folder))
	text, err := render("delayed_tasks", 4)
	require.NoError(t, err)
	require.NoError(t, db.Query().Exec(t.Context(),
		fmt.Sprintf("PRAGMA TablePathPrefix(%q);\n%s", folderPath(db, folder), text)))
	_, err = Check(t.Context(), db, folder)
	require.ErrorIs(t, err, ErrNoSchema)
	_, err = Up(t.Context(), db, Options{Folder: folder, Partitions: 4})
	require.NoError(t, err)
	_, err = Check(t.Context(), db, folder)
	require.NoError(t, err)
}

// TestColumnsAreAddedOnce: a migration that was cut off between two tables, or
// between its last statement and its record, goes on where it stood.
func TestColumnsAreAddedOnce(t *testing.T) {
	t.Parallel()
	db, folder := setup(t)
	o := Options{Folder: folder, Partitions: 4}
	_, err := Up(t.Context(), db, o)
	require.NoError(t, err)
	for _, dropped := range []string{"", "crashes", "id_given"} {
		prefix := fmt.Sprintf("PRAGMA TablePathPrefix(%q);\n", folderPath(db, folder))
		require.NoError(t, db.Query().Exec(t.Context(), prefix+"DELETE FROM "+versionTable+" WHERE version_id = 3"))
		if dropped != "" {
			require.NoError(t, db.Query().Exec(t.Context(), prefix+"ALTER TABLE delayed_tasks DROP COLUMN "+dropped))
		}
		report, err := Up(t.Context(), db, o)
		require.NoError(t, err)
		require.Equal(t, []int64{3}, report.Changed)
		for _, table := range tables {
			columns, err := columnsOf(t.Context(), db, folder, table)
			require.NoError(t, err)
			require.Subset(t, columns, []string{"crashes", "id_given"}, table)
		}
	}
}

func TestCheckTellsOlderFromNewer(t *testing.T) {
	t.Parallel()
	db, folder := setup(t)
	_, err := Up(t.Context(), db, Options{Folder: folder})
	require.NoError(t, err)

	require.NoError(t, writeSetting(t.Context(), db, folder, settingVersion, Version-1))
	_, err = Check(t.Context(), db, folder)
	require.ErrorIs(t, err, ErrOlderSchema)
	require.ErrorContains(t, err, "run `taskctl migrate up")

	require.NoError(t, writeSetting(t.Context(), db, folder, settingVersion, Version+1))
	_, err = Check(t.Context(), db, folder)
	require.ErrorIs(t, err, ErrNewerSchema)
	_, err = Up(t.Context(), db, Options{Folder: folder})
	require.ErrorIs(t, err, ErrNewerSchema)
	_, err = Down(t.Context(), db, Options{Folder: folder})
	require.ErrorIs(t, err, ErrNewerSchema)
}

func TestDownGoesBackOneByOne(t *testing.T) {
	t.Parallel()
	db, folder := setup(t)
	o := Options{Folder: folder, Partitions: 8}
	_, err := Down(t.Context(), db, o)
	require.ErrorIs(t, err, ErrNoSchema)
	_, err = Up(t.Context(), db, o)
	require.NoError(t, err)

	report, err := Down(t.Context(), db, o)
	require.NoError(t, err)
	require.Equal(t, []int64{3}, report.Changed)
	columns, err := columnsOf(t.Context(), db, folder, "dead_tasks")
	require.NoError(t, err)
	require.NotContains(t, columns, "crashes")

	report, err = Down(t.Context(), db, o)
	require.NoError(t, err)
	require.Equal(t, []int64{2}, report.Changed)
	_, err = Check(t.Context(), db, folder)
	require.ErrorIs(t, err, ErrOlderSchema)
	exists, err := sugar.IsTableExists(t.Context(), db.Scheme(), folderPath(db, folder)+"/delayed_tasks")
	require.NoError(t, err)
	require.False(t, exists)

	report, err = Down(t.Context(), db, o)
	require.NoError(t, err)
	require.Equal(t, []int64{1}, report.Changed)
	_, err = Check(t.Context(), db, folder)
	require.ErrorIs(t, err, ErrNoSchema)
	_, err = Down(t.Context(), db, o)
	require.ErrorIs(t, err, ErrNoSchema)

	report, err = Up(t.Context(), db, Options{Folder: folder, Partitions: 16})
	require.NoError(t, err)
	require.Equal(t, 16, report.Partitions)
}

func TestFleetsShareADatabase(t *testing.T) {
	t.Parallel()
	db, folder := setup(t)
	for i, name := range []string{folder, folder + "/second"} {
		report, err := Up(t.Context(), db, Options{Folder: name, Partitions: 8 << i})
		require.NoError(t, err)
		require.Equal(t, 8<<i, report.Partitions)
	}
	facts, err := Check(t.Context(), db, folder)
	require.NoError(t, err)
	require.Equal(t, 8, facts.Partitions)
}

// TestUpFromSeveralProcesses: one count wins; who asked for another is refused.
func TestUpFromSeveralProcesses(t *testing.T) {
	t.Parallel()
	d := testdb.Open(t)
	db, folder := d.DB, d.Folder
	var all sync.WaitGroup
	reports, errs := make([]Report, 6), make([]error, 6)
	for i := range reports {
		other := d.Connect()
		all.Go(func() {
			reports[i], errs[i] = Up(t.Context(), other, Options{Folder: folder, Partitions: 8 << (i % 2)})
		})
	}
	all.Wait()
	facts, err := Check(t.Context(), db, folder)
	require.NoError(t, err)
	changed := 0
	for i := range reports {
		if 8<<(i%2) == facts.Partitions {
			require.NoError(t, errs[i])
			changed += len(reports[i].Changed)
		} else {
			require.ErrorIs(t, errs[i], ErrPartitions)
		}
	}
	require.Equal(t, Version, changed, "each migration ran once")
}

func TestUpWaitsForAnotherMigration(t *testing.T) {
	t.Parallel()
	db, folder := setup(t)
	require.NoError(t, createNode(t.Context(), db, folder))
	session, err := coord.Open(t.Context(), db, nodePath(db, folder), coord.Config{})
	require.NoError(t, err)
	defer func() { require.NoError(t, session.Close(context.Background())) }()
	lease, err := session.Acquire(t.Context(), lockName, coord.Request{Exclusive: true})
	require.NoError(t, err)

	_, err = Up(t.Context(), db, Options{Folder: folder, LockWait: 50 * time.Millisecond})
	require.ErrorIs(t, err, ErrBusy)
	require.ErrorContains(t, err, "another migration is running in folder "+folder)

	require.NoError(t, lease.Release(t.Context()))
	_, err = Up(t.Context(), db, Options{Folder: folder})
	require.NoError(t, err)
}
