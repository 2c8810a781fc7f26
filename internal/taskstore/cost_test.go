package taskstore_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/ydb-platform/ydb-go-sdk/v3"
	"github.com/ydb-platform/ydb-go-sdk/v3/query"
	"github.com/ydb-platform/ydb-go-sdk/v3/types"

	"github.com/taskfleet/taskfleet/internal/taskstore"
	"github.com/taskfleet/taskfleet/pkg/task"
)

// cost runs f and returns what its statements cost.
func (b *bundle) cost(f func()) taskstore.Usage {
	before := b.store.Usage()
	f()
	return b.store.Usage().Sub(before)
}

// small makes n tasks as a fleet of webhooks has them, spread over partitions.
func small(n, partitions int) []task.Task {
	tasks := make([]task.Task, n)
	for i := range tasks {
		tasks[i] = task.Task{
			Kind: "http", Partition: uint16(i % partitions), Priority: uint8(i),
			Payload: fmt.Appendf(nil, `{"url":"http://127.0.0.1:8080/hook","n":%d}`, i),
		}
	}
	return tasks
}

func TestCostOfALife(t *testing.T) {
	t.Parallel()
	const n = 1000
	for _, history := range []bool{true, false} {
		t.Run(fmt.Sprintf("history=%t", history), func(t *testing.T) {
			t.Parallel()
			b := setup(t, taskstore.Options{NoHistory: !history})
			owned := b.own(16)
			var claimed []*task.Claimed
			phases := []struct {
				name    string
				f       func()
				read    int
				written int
			}{
				{"enqueue", func() { b.enqueue(small(n, 16)...) }, 0, n + 1},
				{"claim", func() { claimed = b.claim(owned...) }, n + n + 16, n},
				{"finish", func() {
					results := make([]task.Result, len(claimed))
					for i, c := range claimed {
						results[i] = finishing(c, task.OutcomeCompleted)
					}
					_, err := b.store.Finish(t.Context(), results)
					require.NoError(t, err)
				}, n, n + n},
			}
			var all taskstore.Usage
			for _, p := range phases {
				cost := b.cost(p.f)
				t.Logf("%s: %+v", p.name, cost)
				if p.name == "finish" && !history {
					p.written = n
				}
				require.Zero(t, cost.Aborted)
				require.EqualValues(t, p.read, cost.RowsRead, p.name)
				require.EqualValues(t, p.written, cost.RowsWritten, p.name)
				all.RequestUnits += cost.RequestUnits
				all.RowsRead += cost.RowsRead
			}
			require.Len(t, claimed, n)
			limit := 10.0
			if history {
				limit = 12
			}
			require.LessOrEqual(t, float64(all.RequestUnits)/n, limit, "request units per task")
			require.LessOrEqual(t, float64(all.RowsRead)/n, 4.0, "rows read per task")
		})
	}
}

func TestCostOfLookingAtNothing(t *testing.T) {
	t.Parallel()
	b := setup(t, taskstore.Options{})
	owned := b.own(16)
	cost := b.cost(func() { require.Empty(t, b.claim(owned...)) })
	require.EqualValues(t, 1, cost.Statements)
	require.Zero(t, cost.RowsRead)
	cost = b.cost(func() {
		_, err := b.store.Promote(t.Context(), owned, 100)
		require.NoError(t, err)
	})
	require.EqualValues(t, 1, cost.Statements)
	require.Zero(t, cost.RowsRead)
}

// fill writes rows into a table, spread over partitions, as fast as it can.
func (b *bundle) fill(table, extra string, n, partitions int) {
	b.t.Helper()
	text := fmt.Sprintf("UPSERT INTO %s SELECT r.p AS partition_id, r.id AS id, 255ut AS rank, \"k\"u AS kind, %s FROM AS_TABLE($rows) AS r;",
		b.path(table), extra)
	const batch = 10_000
	for from := 0; from < n; from += batch {
		rows := make([]types.Value, min(batch, n-from))
		for i := range rows {
			rows[i] = types.StructValue(
				types.StructFieldValue("p", types.Uint16Value(uint16(i%partitions))),
				types.StructFieldValue("id", types.TextValue(fmt.Sprintf("%s-%08d", table, from+i))),
			)
		}
		require.NoError(b.t, b.DB.Query().Exec(b.t.Context(), text,
			query.WithParameters(ydb.ParamsBuilder().Param("$rows").Any(types.ListValue(rows...)).Build())))
	}
}

// TestI7HistoryAndTheFutureCostNothing holds that what a claim reads does not
// depend on finished, dead and not-yet-due tasks.
func TestI7HistoryAndTheFutureCostNothing(t *testing.T) {
	t.Parallel()
	b := setup(t, taskstore.Options{})
	owned := b.own(16)
	round := func() taskstore.Usage {
		return b.cost(func() {
			b.enqueue(small(200, 16)...)
			b.enqueue(task.Task{Kind: "k", Delay: time.Millisecond})
			require.Eventually(b.t, func() bool {
				promoted, err := b.store.Promote(context.Background(), owned, 100)
				require.NoError(b.t, err)
				return promoted.Moved[0] == 1
			}, 10*time.Second, 10*time.Millisecond)
			claimed := b.claim(owned...)
			require.Len(b.t, claimed, 201)
			results := make([]task.Result, len(claimed))
			for i, c := range claimed {
				results[i] = finishing(c, task.OutcomeCompleted)
			}
			_, err := b.store.Finish(b.t.Context(), results)
			require.NoError(b.t, err)
		})
	}
	before := round()
	b.fill("completed_tasks", `"completed"u AS status, CurrentUtcTimestamp() AS done_at`, 20_000, 16)
	b.fill("dead_tasks", `"dead"u AS status, CurrentUtcTimestamp() AS died_at`, 1_000, 16)
	// The peek of Promote reads the first delayed row of each partition, now that
	// there is one.
	b.fill("delayed_tasks", `"delayed"u AS status, COALESCE(CurrentUtcTimestamp() + Interval("P7D"), CurrentUtcTimestamp()) AS scheduled_at`, 20_000, 16)
	peeks := b.cost(func() {
		_, err := b.store.Promote(t.Context(), owned, 100)
		require.NoError(t, err)
	}).RowsRead
	require.EqualValues(t, 16, peeks)
	after := round()
	t.Logf("before: %+v after: %+v", before, after)
	require.LessOrEqual(t, after.RowsRead, before.RowsRead+(after.Statements-5)*peeks, "one row per partition and peek")
	require.LessOrEqual(t, after.RequestUnits, before.RequestUnits+(after.Statements-5)*(peeks+2)+5)
}
