package rebalancer

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A list of drained workers that cannot be read drains nobody.
func TestAnUnreadableListDrainsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, node := newFleet(t, 8), newFakeNode()
		s, err := node.open(t.Context())
		require.NoError(t, err)
		require.NoError(t, s.Ensure(t.Context(), drainedName))
		require.NoError(t, s.SetData(t.Context(), drainedName, []byte("no JSON")))
		a := f.join(f.config("a"), node.open)
		f.await(5*time.Second, "a owns everything", f.balanced(a))
		require.NoError(t, s.Close(t.Context()))
		a.leave()
	})
}

// An order reaches the worker by its watch, at once: nothing is polled.
func TestOrdersAreWatchedAndNotPolled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, node := newFleet(t, 8), newFakeNode()
		a := f.join(f.config("a"), node.open)
		f.await(5*time.Second, "a owns everything", f.balanced(a))
		<-time.After(time.Second)
		node.mu.Lock()
		before := node.requests
		node.mu.Unlock()
		<-time.After(10 * time.Minute)
		node.mu.Lock()
		require.LessOrEqual(t, node.requests-before, 3*27, "three reads per Recheck at most")
		node.mu.Unlock()
		s, err := node.open(t.Context())
		require.NoError(t, err)
		data, err := json.Marshal(drained{"a": time.Now()})
		require.NoError(t, err)
		require.NoError(t, s.SetData(t.Context(), drainedName, data))
		f.await(2*time.Second, "a is idle", func() bool { return len(f.loads()) == 0 })
		require.NoError(t, s.SetData(t.Context(), drainedName, nil))
		f.await(2*time.Second, "a owns everything", f.balanced(a))
		require.NoError(t, s.Close(t.Context()))
		a.leave()
	})
}

// The more members, the longer changes gather and the rarer idle reads are.
func TestPaceFollowsTheSizeOfTheFleet(t *testing.T) {
	t.Parallel()
	cfg := Config{}.withDefaults()
	for members, want := range map[int][2]time.Duration{
		0: {300 * time.Millisecond, 30 * time.Second}, 60: {300 * time.Millisecond, 30 * time.Second},
		200: {time.Second, 30 * time.Second}, 400: {2 * time.Second, time.Minute}, 1000: {2 * time.Second, 150 * time.Second},
	} {
		require.Equal(t, want, [2]time.Duration{cfg.debounceFor(members), cfg.recheckFor(members)}, "%d members", members)
	}
	cfg.Debounce = 5 * time.Second
	require.Equal(t, 5*time.Second, cfg.debounceFor(1000))
}
