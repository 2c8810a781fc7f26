package taskstore_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/internal/taskstore"
	"github.com/taskfleet/taskfleet/pkg/task"
)

// TestStatsCountByKind: a kind that waits and is never locked is one that no
// worker handles.
func TestStatsCountByKind(t *testing.T) {
	t.Parallel()
	b := setup(t, taskstore.Options{})
	owned := b.own(1)
	b.enqueue(task.Task{Kind: "http"}, task.Task{Kind: "http"}, task.Task{Kind: "other", Delay: time.Hour})
	b.claim(owned...)
	hourAgo := time.Now().Add(-time.Hour)
	b.enqueue(task.Task{Kind: "unknown", RunAt: hourAgo}, task.Task{Kind: "unknown"}, task.Task{Kind: "http"})

	stats, err := b.store.Stats(t.Context())
	require.NoError(t, err)
	require.Len(t, stats.Kinds, 2)
	http, unknown := stats.Kinds["http"], stats.Kinds["unknown"]
	require.InDelta(t, time.Hour, unknown.Oldest, float64(time.Minute))
	require.Less(t, http.Oldest, time.Minute)
	require.Equal(t, unknown.Oldest, stats.OldestPending)
	http.Oldest, unknown.Oldest = 0, 0
	require.Equal(t, task.Runnable{Pending: 1, Locked: 2}, http)
	require.Equal(t, task.Runnable{Pending: 2}, unknown)
	require.EqualValues(t, []uint64{3, 2, 1}, []uint64{stats.Pending, stats.Locked, stats.Delayed})
}
