package fleettest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/pkg/rebalancer"
)

func (w *world) manager() *rebalancer.Manager {
	w.t.Helper()
	m, err := rebalancer.Manage(w.t.Context(), w.DB, w.node())
	require.NoError(w.t, err)
	w.t.Cleanup(func() { require.NoError(w.t, m.Close(context.Background())) })
	return m
}

// A drained worker gives everything away, stays idle over its restart, and comes
// back when it is told to.
func TestDrainAndResume(t *testing.T) {
	inBubble(t, 16, func(t *testing.T, w *world) {
		w.start("a", 1)
		b := w.start("b", 1)
		w.await(patience, "they share", w.share(weights("a", "b")))
		w.enqueue(some(500, 0)...)

		m := w.manager()
		require.NoError(t, m.Drain(t.Context(), "b", time.Now()))
		require.NoError(t, m.Drain(t.Context(), "b", time.Now()), "again")
		w.await(patience, "a has everything", w.share(weights("a")))
		require.Contains(t, b.log.String(), `msg="worker state" worker_id=b state=drained`)

		b.leave()
		workers, err := m.Workers(t.Context(), 16)
		require.NoError(t, err)
		require.Len(t, workers, 2)
		require.Equal(t, rebalancer.StateGone, workers[1].State)
		b = w.start("b", 1)
		<-b.parts.Ready()
		workers, err = m.Workers(t.Context(), 16)
		require.NoError(t, err)
		require.Equal(t, "b", workers[1].ID)
		require.Equal(t, rebalancer.StateDrained, workers[1].State)
		require.False(t, workers[1].Drained.IsZero())
		require.Empty(t, workers[1].Partitions)
		require.Len(t, workers[0].Partitions, 16)
		require.Empty(t, b.parts.Owned(), "it has acquired nothing")

		c := w.start("c", 1)
		w.await(patience, "a change of members does not wake it", w.share(weights("a", "c")))
		c.leave()
		require.NoError(t, m.Resume(t.Context(), "b"))
		w.await(patience, "they share again", w.share(weights("a", "b")))
		w.drained()
	})
}

func TestDrainOfAnUnknownWorkerNamesTheKnown(t *testing.T) {
	inBubble(t, 4, func(t *testing.T, w *world) {
		m := w.manager()
		var unknown *rebalancer.UnknownWorkerError
		require.ErrorAs(t, m.Drain(t.Context(), "x", time.Now()), &unknown)
		require.Empty(t, unknown.Known)
		w.start("a", 1)
		w.start("b", 1)
		w.await(patience, "they share", w.share(weights("a", "b")))
		require.ErrorAs(t, m.Resume(t.Context(), "x"), &unknown)
		require.Equal(t, []string{"a", "b"}, unknown.Known)
		require.EqualError(t, unknown, `rebalancer: unknown worker "x": the fleet has a, b`)
	})
}

// The last one to be drained leaves the partitions without an owner; nobody is
// hurt, and work goes on after Resume.
func TestDrainOfTheLastWorker(t *testing.T) {
	inBubble(t, 4, func(t *testing.T, w *world) {
		w.start("a", 1)
		w.await(patience, "a owns everything", w.share(weights("a")))
		m := w.manager()
		require.NoError(t, m.Drain(t.Context(), "a", time.Now()))
		w.await(patience, "nobody owns anything", func() bool { return len(w.loads()) == 0 })
		w.enqueue(some(10, 0)...)
		require.NoError(t, m.Resume(t.Context(), "a"))
		w.await(patience, "a owns everything", w.share(weights("a")))
		w.drained()
	})
}

func TestAWorkerOfWeightTwoGetsTwiceThePartitions(t *testing.T) {
	inBubble(t, 24, func(t *testing.T, w *world) {
		w.start("heavy", 2)
		w.start("light", 1)
		w.await(patience, "16 to 8", w.share(map[string]int{"heavy": 2, "light": 1}))
		w.start("third", 1)
		w.await(patience, "12, 6 and 6", w.share(map[string]int{"heavy": 2, "light": 1, "third": 1}))
	})
}
