package limits

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"

	"github.com/taskfleet/taskfleet/internal/ydbembed/issue"
)

func requireStatus(t *testing.T, want Ydb.StatusIds_StatusCode, err error) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, want, issue.From(err).Status, "%v", err)
}

func TestBudgetOfAQuery(t *testing.T) {
	t.Parallel()
	pool := NewPool(Memory, Server)
	b := NewBudget(pool)
	require.NoError(t, b.Hold(Memory-1))
	require.NoError(t, b.Make(1))
	requireStatus(t, Ydb.StatusIds_PRECONDITION_FAILED, b.Make(1))
	b.Row() // what expressions made is gone
	require.NoError(t, b.Hold(1))
	b.Release(Memory)
	require.NoError(t, b.Hold(Memory))
	require.EqualValues(t, Memory+1, b.Peak())
	b.Close()
	require.Zero(t, pool.Used())
}

// Rows inside an expression give back what they made, and not what was made
// before them.
func TestBudgetOfNestedRows(t *testing.T) {
	t.Parallel()
	b := NewBudget(NewPool(10, Server))
	require.NoError(t, b.Make(4))
	outer := b.Nest()
	require.NoError(t, b.Make(6))
	b.Row()
	require.NoError(t, b.Make(6))
	requireStatus(t, Ydb.StatusIds_PRECONDITION_FAILED, b.Make(1))
	b.Row()
	b.Unnest(outer)
	b.Row()
	require.NoError(t, b.Hold(10))
}

func TestBudgetOfAResult(t *testing.T) {
	t.Parallel()
	b := NewBudget(NewPool(Memory, Server))
	require.NoError(t, b.Result(Result))
	requireStatus(t, Ydb.StatusIds_PRECONDITION_FAILED, b.Result(1))
}

// The server's memory is counted in whole steps: others may hold all of it, and
// a query that needs less than a step still runs.
func TestMemoryOfTheServer(t *testing.T) {
	t.Parallel()
	pool := NewPool(Server, Server)
	all, small, large := pool.Account(), pool.Account(), pool.Account()
	require.NoError(t, all.Add(Server))
	require.NoError(t, small.Add(step-1))
	requireStatus(t, Ydb.StatusIds_OVERLOADED, large.Add(step))
	large.Close()
	require.EqualValues(t, Server, pool.Used())
	all.Close()
	require.NoError(t, large.Add(step))
	large.Close()
	small.Close()
	require.Zero(t, pool.Used())
}
