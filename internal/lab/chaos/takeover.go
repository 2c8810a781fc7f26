package chaos

import (
	"math"
	"slices"
	"time"
)

// takeovers measures, for each partition of a worker that died, stalled or lost
// its connection for longer than a session lasts, how long it took until
// somebody had it again. While the server is down nobody can take over: that
// time does not count. A fault that hits the next owner, too, makes it longer.
func takeovers(h *History, l Limits) map[Kind][]time.Duration {
	found := map[Kind][]time.Duration{}
	tenures := h.tenures()
	for _, f := range h.Faults {
		ends := f.Kind == KillWorker || f.Kind == RestartWorker
		if !ends && !(f.Kind.passes() && f.End.Sub(f.Begin) > l.SessionTimeout) {
			continue
		}
		for _, own := range tenures {
			if d, ok := h.takeover(f, own); ok {
				found[f.Kind] = append(found[f.Kind], d)
			}
		}
	}
	for _, took := range found {
		slices.Sort(took)
	}
	return found
}

// passes tells whether a worker survives the fault, but perhaps not its session.
func (k Kind) passes() bool {
	return k == StallWorker || k == Outage || k == BlackHole || k == Held
}

func (h *History) takeover(f Fault, tenures []Tenure) (time.Duration, bool) {
	for i, t := range tenures {
		covers := t.Process == f.Target && t.Begin.Before(f.Begin) && (t.End.IsZero() || t.End.After(f.Begin))
		survived := f.Kind.passes() && (t.End.IsZero() || t.End.After(f.End.Add(takeoverMargin)))
		if !covers || survived || i+1 == len(tenures) {
			continue
		}
		since, next := f.Begin, tenures[i+1].Begin
		for _, down := range h.Faults {
			if down.Kind == KillServer && down.Begin.Before(next) && down.End.After(since) {
				since = down.End
			}
		}
		return max(next.Sub(since), 0), true
	}
	return 0, false
}

// all returns the takeovers of every kind of fault, sorted.
func all(takeovers map[Kind][]time.Duration) []time.Duration {
	var joined []time.Duration
	for _, took := range takeovers {
		joined = append(joined, took...)
	}
	slices.Sort(joined)
	return joined
}

// quantile of sorted durations, in seconds; zero of none.
func quantile(sorted []time.Duration, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	i := int(math.Ceil(q*float64(len(sorted)))) - 1
	return math.Round(sorted[max(i, 0)].Seconds()*1000) / 1000
}
