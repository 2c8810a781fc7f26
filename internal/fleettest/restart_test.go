package fleettest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// gracePeriod is the one that the migration sets.
const gracePeriod = 1500 * time.Millisecond

// TestAFleetIsBackSoonAfterItsServer: however long the server was away, each
// worker notices within two seconds that it is back, and then waits for nothing
// but the sessions of before, which keep the partitions for the session timeout
// and the grace period of the node.
func TestAFleetIsBackSoonAfterItsServer(t *testing.T) {
	inBubble(t, 256, func(t *testing.T, w *world) {
		var fleet []*worker
		for _, id := range []string{"a", "b", "c", "d"} {
			fleet = append(fleet, w.start(id, 1))
		}
		all := w.share(weights("a", "b", "c", "d"))
		w.await(patience, "everybody has a share", all)
		w.Restart(time.Minute)
		back := time.Now()
		took := w.await(patience, "all is owned again", all)
		for _, one := range fleet {
			id, at := one.lastSession()
			noticed := at.Sub(back)
			t.Logf("%s has its session %d %v after the server is back", one.id, id, noticed)
			require.Positive(t, noticed)
			require.Less(t, noticed, 2*time.Second)
		}
		t.Logf("all is owned %v after the server is back", took)
		require.Less(t, took, sessionTimeout+gracePeriod+100*time.Millisecond)
	})
}
