package chaos

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/taskfleet/taskfleet/internal/lab/fleet"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestAMinuteOfFaults is the fault test, short and with a fixed seed.
func TestAMinuteOfFaults(t *testing.T) {
	t.Parallel()
	bin, err := fleet.Build()
	require.NoError(t, err)
	verdict, err := Run(t.Context(), Config{
		Seed: 1, Length: time.Minute, Bin: bin, Planner: "peers", Progress: t.Output(),
		Slack: 10 * time.Second, // other tests want the machine, too
	})
	require.NoError(t, err)
	require.True(t, verdict.OK(), "%+v", verdict)
	require.Greater(t, verdict.Faults, 15)
	require.Greater(t, verdict.Enqueued, 1000)
	require.GreaterOrEqual(t, verdict.Deliveries, verdict.Enqueued)
	require.Positive(t, verdict.TakeoverMax)
}
