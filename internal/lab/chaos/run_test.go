package chaos

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/taskfleet/taskfleet/internal/lab/fleet"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// everyFault is a plan that has each fault once, as close together as the fleet can
// bear it: at least two workers are whole at every moment.
func everyFault() Plan {
	worker := func(name, id string, proxied bool, offset time.Duration) Spec {
		return Spec{Name: name, ID: id, Proxied: proxied, Offset: offset}
	}
	producer := func(name string, proxied bool) Spec {
		return Spec{Name: name, Producer: true, Proxied: proxied, Offset: maxOffset / 2}
	}
	joins, again, next := worker("w6", "w6", false, maxOffset), worker("w7", "w3", false, 0), producer("p3", false)
	const ms, long = time.Millisecond, 5 * time.Second // longer than a session
	return Plan{
		Begin: []Spec{
			worker("w1", "w1", true, 0), worker("w2", "w2", true, -maxOffset), worker("w3", "w3", true, 0),
			worker("w4", "w4", true, maxOffset), worker("w5", "w5", false, 0), producer("p1", true), producer("p2", false),
		},
		Steps: []Step{
			{At: 300 * ms, Kind: Join, Target: "w6", Start: &joins},
			{At: 800 * ms, Kind: BlackHole, Target: "w1", For: long},
			{At: 1200 * ms, Kind: StallWorker, Target: "w5", For: long},
			{At: 1600 * ms, Kind: Slow, Target: "w2", For: 4 * time.Second, Delay: 100 * ms},
			{At: 2000 * ms, Kind: KillProducer, Target: "p2", Start: &next},
			{At: 2400 * ms, Kind: LoseAnswers, Target: "p1", For: 500 * ms},
			{At: 2800 * ms, Kind: RestartWorker, Target: "w3", Start: &again},
			{At: 3500 * ms, Kind: StallProducer, Target: "p3", For: 2 * time.Second},
			{At: 7000 * ms, Kind: KillServer, For: time.Second},
			{At: 8500 * ms, Kind: Outage, Target: "w2", For: long},
			{At: 8800 * ms, Kind: Held, Target: "w4", For: long},
			{At: 9200 * ms, Kind: Cut, Target: "w1"},
			{At: 9600 * ms, Kind: KillWorker, Target: "w6"},
			{At: 10500 * ms, Kind: Leave, Target: "w7"},
		},
	}
}

// TestEveryFaultOnce is the fault test, short and always the same.
func TestEveryFaultOnce(t *testing.T) {
	t.Parallel()
	plan := everyFault()
	var planned []Kind
	for _, s := range plan.Steps {
		planned = append(planned, s.Kind)
	}
	require.ElementsMatch(t, kinds, planned)
	bin, err := fleet.Build()
	require.NoError(t, err)
	verdict, err := carryOut(t.Context(), Config{
		Seed: 1, Length: 15 * time.Second, Bin: bin, Progress: t.Output(),
		Slack: 10 * time.Second, // other tests want the machine, too
	}, plan)
	require.NoError(t, err)
	require.True(t, verdict.OK(), "%+v", verdict)
	require.Equal(t, len(plan.Steps), verdict.Faults)
	require.GreaterOrEqual(t, verdict.Deliveries, verdict.Enqueued)
	require.Positive(t, verdict.TakeoverMax)
}
