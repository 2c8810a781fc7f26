package chaos

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestAPlanIsAFunctionOfItsSeed(t *testing.T) {
	t.Parallel()
	cfg := planConfig(time.Minute)
	require.Equal(t, NewPlan(7, cfg), NewPlan(7, cfg))
	require.NotEqual(t, NewPlan(7, cfg).Steps, NewPlan(8, cfg).Steps)
}

func TestThreeMinutesHaveEveryFault(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		seen := map[Kind]int{}
		for _, s := range NewPlan(seed, planConfig(3*time.Minute)).Steps {
			seen[s.Kind]++
		}
		for _, kind := range kinds {
			require.Positive(t, seen[kind], "seed %d: %s", seed, kind)
		}
	}
}

// TestAPlanCanBeCarriedOut walks a plan and holds that targets run, are free of
// other faults and behind a proxy where that is needed, and that enough workers
// stay whole.
func TestAPlanCanBeCarriedOut(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		cfg := planConfig(time.Duration(rapid.IntRange(1, 300).Draw(t, "seconds")) * time.Second)
		plan := NewPlan(rapid.Uint64().Draw(t, "seed"), cfg)
		running := map[string]Spec{}
		busy := map[string]time.Duration{}
		start := func(s Spec) {
			if _, twice := running[s.Name]; twice || s.Offset.Abs() > cfg.MaxOffset {
				t.Fatalf("bad start: %+v", s)
			}
			running[s.Name] = s
		}
		for _, s := range plan.Begin {
			start(s)
		}
		last := time.Duration(0)
		for _, s := range plan.Steps {
			if s.At < last || s.For < 0 || s.At+s.For > cfg.Length {
				t.Fatalf("bad time: %s at %s", s, s.At)
			}
			last = s.At
			if s.Kind != Join {
				target, runs := running[s.Target]
				if !runs && s.Kind != KillServer || busy[s.Target] > s.At {
					t.Fatalf("at %s: %s: target is not there, or not free", s.At, s)
				}
				switch s.Kind {
				case Cut, Outage, BlackHole, Held, Slow, LoseAnswers:
					if !target.Proxied {
						t.Fatalf("%s: target has no proxy", s)
					}
				case KillWorker, RestartWorker, KillProducer, Leave:
					delete(running, s.Target)
				}
			}
			if s.Start != nil {
				start(*s.Start)
				if s.Kind == RestartWorker && s.Start.ID == "" {
					t.Fatalf("%s: has no id", s)
				}
			}
			busy[s.Target] = s.At + s.For
			workers, whole := 0, 0
			for _, spec := range running {
				if !spec.Producer {
					workers++
					if busy[spec.Name] <= s.At {
						whole++
					}
				}
			}
			if workers < cfg.MinWorkers || workers > cfg.MaxWorkers || whole < 1 {
				t.Fatalf("at %s: %s: leaves %d workers, %d of them whole", s.At, s, workers, whole)
			}
		}
	})
}
