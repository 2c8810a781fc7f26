package taskstore_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-sdk/v3"
	"github.com/ydb-platform/ydb-go-sdk/v3/query"

	"github.com/taskfleet/taskfleet/internal/taskstore"
	"github.com/taskfleet/taskfleet/pkg/task"
	"github.com/taskfleet/taskfleet/pkg/ydbembed"
)

// TestManyDueTasksMoveInFewStatements: the statements grow as the tasks turn out
// to be small, and nothing is read twice.
func TestManyDueTasksMoveInFewStatements(t *testing.T) {
	t.Parallel()
	b := setup(t, taskstore.Options{})
	owned := b.own(1)
	const due = 20_000
	b.fill("delayed_tasks", `"delayed"u AS status, Timestamp("2024-01-01T00:00:00Z") AS scheduled_at`, due, 1)
	var result task.PromoteResult
	cost := b.cost(func() {
		var err error
		result, err = b.store.Promote(t.Context(), owned, due-4096)
		require.NoError(t, err)
	})
	require.Equal(t, map[uint16]int{0: due - 4096}, result.Moved)
	require.Equal(t, map[uint16]time.Duration{0: 0}, result.NextDue)
	require.LessOrEqual(t, cost.Statements, uint64(12))
	require.LessOrEqual(t, cost.RowsRead, uint64(due-4096)+cost.Statements)
	cost = b.cost(func() {
		var err error
		result, err = b.store.Promote(t.Context(), owned, due)
		require.NoError(t, err)
	})
	require.Equal(t, map[uint16]int{0: 4096}, result.Moved)
	require.LessOrEqual(t, cost.Statements, uint64(3))
}

// TestLargeDueTasksMoveInSmallStatements: YDB refuses a statement that holds more
// than 48 MiB.
func TestLargeDueTasksMoveInSmallStatements(t *testing.T) {
	t.Parallel()
	largest := &largestStatement{}
	b := setup(t, taskstore.Options{Observer: largest})
	owned := b.own(2)
	const n = 184 // as many as need a third statement, which is too large when none is measured
	for range 2 {
		var tasks []task.Task
		for i := range n / 2 {
			tasks = append(tasks, task.Task{Kind: "k", Partition: uint16(i % 2), Payload: make([]byte, task.MaxPayload), Delay: time.Microsecond})
		}
		b.enqueue(tasks...)
	}
	result, err := b.store.Promote(t.Context(), owned, n)
	require.NoError(t, err)
	require.Equal(t, map[uint16]int{0: n / 2, 1: n / 2}, result.Moved)
	require.LessOrEqual(t, largest.bytes, uint64(20<<20))
	require.LessOrEqual(t, b.store.Usage().Statements, uint64(10))
}

// TestLargeDueTasksBehindSmallOnes: the statement that was right for small tasks
// is over the limit of 48 MiB for these.
func TestLargeDueTasksBehindSmallOnes(t *testing.T) {
	t.Parallel()
	b := setup(t, taskstore.Options{})
	owned := b.own(1)
	b.fill("delayed_tasks", `"delayed"u AS status, Timestamp("2024-01-01T00:00:00Z") AS scheduled_at`, 4096, 1)
	_, err := b.store.Promote(t.Context(), owned, 4096)
	require.NoError(t, err)
	const n, batch = 210, 70
	for range n / batch {
		var tasks []task.Task
		for range batch {
			tasks = append(tasks, task.Task{Kind: "k", Payload: make([]byte, task.MaxPayload), Delay: time.Microsecond})
		}
		b.enqueue(tasks...)
	}
	result, err := b.store.Promote(t.Context(), owned, 4096)
	require.NoError(t, err)
	require.Equal(t, map[uint16]int{0: n}, result.Moved)
	require.Empty(t, result.Buried)
}

// largestStatement observes the most bytes that one statement has read. Only one
// runs at a time.
type largestStatement struct{ bytes uint64 }

func (l *largestStatement) Statement(_ string, _ time.Duration, cost taskstore.Usage, _ error) {
	l.bytes = max(l.bytes, cost.BytesRead)
}

// TestARefusedTaskIsBuriedAndTheOthersMove: a statement that holds one of the bad
// tasks is refused, whatever else it holds.
func TestARefusedTaskIsBuriedAndTheOthersMove(t *testing.T) {
	t.Parallel()
	b := setup(t, taskstore.Options{})
	owned := b.own(4)
	var tasks []task.Task
	for i := range 100 {
		t := task.Task{ID: fmt.Sprintf("good-%03d", i), Kind: "k", Partition: uint16(i % 4), Delay: time.Microsecond}
		if i == 1 || i == 41 || i == 99 {
			t.ID = fmt.Sprintf("bad-%03d", i)
		}
		tasks = append(tasks, t)
	}
	b.enqueue(tasks...)
	b.store.Watch(func(s taskstore.Seen) error {
		if s.Op != "promote" || !b.holdsBad(s) {
			return nil
		}
		return fmt.Errorf("too large: %w", task.ErrRefused)
	})
	result, err := b.store.Promote(t.Context(), owned, 100)
	require.NoError(t, err)
	require.Equal(t, map[uint16]int{0: 25, 1: 23, 2: 25, 3: 24}, result.Moved)
	require.ElementsMatch(t, []task.Key{
		{Partition: 1, Rank: 255, ID: "bad-001"}, {Partition: 1, Rank: 255, ID: "bad-041"}, {Partition: 3, Rank: 255, ID: "bad-099"},
	}, result.Buried)
	require.Equal(t, []string{"dead_tasks:dead:0:too large: " + task.ErrRefused.Error()}, b.where("bad-041"))
	require.Len(t, b.candidates(owned...), 97)
}

// holdsBad reports whether a statement of Promote would move a bad task.
func (b *bundle) holdsBad(s taskstore.Seen) (bad bool) {
	for name, partition := range s.Values {
		if !strings.HasPrefix(name, "$p") {
			continue
		}
		result, err := b.DB.Query().QueryResultSet(b.t.Context(), fmt.Sprintf(
			"SELECT id FROM %s WHERE partition_id = $p AND scheduled_at <= CurrentUtcTimestamp() ORDER BY partition_id, scheduled_at, id LIMIT $limit",
			b.path("delayed_tasks")), query.WithParameters(ydb.ParamsBuilder().Param("$p").Any(partition).Param("$limit").Any(s.Values["$limit"]).Build()))
		require.NoError(b.t, err)
		for row, err := range result.Rows(b.t.Context()) {
			require.NoError(b.t, err)
			var id string
			require.NoError(b.t, row.Scan(&id))
			bad = bad || strings.HasPrefix(id, "bad")
		}
	}
	return bad
}

// TestABadPartitionDoesNotStopTheOthers: what fails in one transaction is reported,
// and the others go on.
func TestABadPartitionDoesNotStopTheOthers(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"$due", "LIMIT 1"} { // the move, and the look before it
		b := setupFaulty(t, taskstore.Options{})
		owned := b.own(40)
		b.enqueue(task.Task{ID: "a", Kind: "k", Delay: time.Microsecond}, task.Task{ID: "b", Kind: "k", Partition: 39, Delay: time.Microsecond})
		b.Faults().Fail("ExecuteQuery", Ydb.StatusIds_SCHEME_ERROR, ydbembed.Containing(text))
		result, err := b.store.Promote(t.Context(), owned, 10)
		require.Error(t, err)
		require.NotErrorIs(t, err, task.ErrRefused)
		require.Equal(t, map[uint16]int{39: 1}, result.Moved)
		require.Equal(t, []string{"delayed_tasks:delayed:0"}, b.where("a"), "nothing is known of the task itself")
		result, err = b.store.Promote(t.Context(), owned, 10)
		require.NoError(t, err)
		require.Equal(t, map[uint16]int{0: 1}, result.Moved)
	}
}
