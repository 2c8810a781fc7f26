package taskworker_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/pkg/task"
	"github.com/taskfleet/taskfleet/pkg/taskworker"
)

// TestUnknownKindsAreLeftToOthers: they stay pending and unspent, what is known
// runs past them, and a worker that knows them runs them.
func TestUnknownKindsAreLeftToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, taskworker.Config{}, nothing)
		var reads atomic.Int64
		b.model.Hook = func(_ context.Context, op string) error {
			if op == "candidates" {
				reads.Add(1)
			}
			return nil
		}
		foreign := tasks(4_000, 1)
		for i := range foreign {
			foreign[i].Kind, foreign[i].Priority = "other", 200
		}
		b.add(foreign...)
		b.add(tasks(50, 1)...)
		b.own(0)
		after(time.Second)
		require.Equal(t, 50, b.model.Count(task.Completed), "behind those of an unknown kind")
		reads.Store(0)
		after(time.Minute)
		require.Less(t, reads.Load(), int64(600), "16 reads walk past 4000 tasks, once in 2 to 4 s")
		for _, row := range b.model.Rows() {
			if row.Kind == "other" {
				require.Equal(t, task.Pending, row.Status)
				require.Zero(t, row.Attempt)
			}
		}
		b.seen.read(func() { require.GreaterOrEqual(t, b.seen.skipped["other"], 4_000) })

		knows, err := taskworker.New(b.model, taskworker.Config{
			Owner: "knows", Handlers: map[string]taskworker.Handler{"other": nothing}, Logger: quiet,
		})
		require.NoError(t, err)
		require.NoError(t, knows.Start(t.Context()))
		require.NoError(t, b.worker.Revoke(t.Context(), 0))
		b.ownBy(knows, 0)
		after(10 * time.Second)
		require.Equal(t, 4_050, b.model.Count(task.Completed))
		require.NoError(t, knows.Stop(t.Context()))
	})
}
