package chaos

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// checkStuck is I8: a partition has an owner again within a session timeout plus
// two seconds after the last fault, and what is runnable in it runs. A partition
// is reported once.
func checkStuck(h *History, l Limits) []Violation {
	var found []Violation
	reported := map[uint16]bool{}
	limit := l.SessionTimeout + takeoverMargin + l.Slack
	tenures, lives := h.tenures(), h.lives()
	for p := range uint16(h.Partitions) {
		for _, gap := range h.gaps(tenures[p], lives) {
			since := h.lastFault(gap, l.SessionTimeout)
			if gap.end.Sub(since) > limit && !reported[p] {
				reported[p] = true
				found = append(found, Violation{"", int(p), fmt.Sprintf("had no owner from %s to %s, %.1f s after the last fault",
					h.when(gap.begin), h.when(gap.end), gap.end.Sub(since).Seconds())})
			}
		}
	}
	if len(h.Looks) == 0 {
		return found
	}
	for _, place := range h.Looks[len(h.Looks)-1].Places {
		if !place.final() && !reported[place.Partition] {
			reported[place.Partition] = true
			found = append(found, Violation{place.Task, int(place.Partition), "a task is still " + place.Status + " at the end"})
		}
	}
	return found
}

// gap is a time without an owner.
type gap struct{ begin, end time.Time }

// gaps finds the times in which nobody who is awake owned a partition, from the
// begin to the end of a history.
func (h *History) gaps(tenures []Tenure, lives life) []gap {
	var found []gap
	free := h.Begin // since when
	for _, t := range tenures {
		if t.Begin.After(free) {
			found = append(found, gap{free, t.Begin})
		}
		if end := h.ownedUntil(t, lives); end.After(free) {
			free = end
		}
	}
	if h.End.After(free) {
		found = append(found, gap{free, h.End})
	}
	return found
}

// ownedUntil is the end of a tenure, or of what there was of it before the stall
// that cost it.
func (h *History) ownedUntil(t Tenure, lives life) time.Time {
	end := h.end(t, lives)
	for _, stall := range lives.stalls[t.Process] {
		if !stall.Begin.Before(t.Begin) && stall.Begin.Before(end) && !stall.End.IsZero() && end.Before(stall.End.Add(takeoverMargin)) {
			return stall.Begin
		}
	}
	return end
}

// lastFault is the last begin or end of a fault within a gap, or the begin of the
// gap. The server learns of a worker's silence by pings, three in a session
// timeout: up to two of them later than of a connection that ends.
func (h *History) lastFault(g gap, sessionTimeout time.Duration) time.Time {
	last := g.begin
	for _, f := range h.Faults {
		begin := f.Begin
		if f.Kind == StallWorker || f.Kind == BlackHole || f.Kind == Slow {
			begin = begin.Add(sessionTimeout * 2 / 3)
		}
		for _, at := range []time.Time{begin, f.End} {
			if at.After(last) && at.Before(g.end) {
				last = at
			}
		}
	}
	return last
}

// takeovers measures, for each partition of a worker that died, stalled or lost
// its connection for longer than a session lasts, how long it took until
// somebody had it again. While the server is down nobody can take over: that
// time does not count.
func takeovers(h *History, l Limits) []time.Duration {
	var found []time.Duration
	all := h.tenures()
	for _, f := range h.Faults {
		ends := f.Kind == KillWorker || f.Kind == RestartWorker
		if !ends && !(f.Kind.passes() && f.End.Sub(f.Begin) > l.SessionTimeout) {
			continue
		}
		for _, tenures := range all {
			if d, ok := h.takeover(f, tenures); ok {
				found = append(found, d)
			}
		}
	}
	slices.Sort(found)
	return found
}

// passes tells whether a worker survives the fault, but perhaps not its session.
func (k Kind) passes() bool { return k == StallWorker || k == Outage || k == BlackHole }

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

// quantile of sorted durations, in seconds; zero of none.
func quantile(sorted []time.Duration, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	i := int(math.Ceil(q*float64(len(sorted)))) - 1
	return math.Round(sorted[max(i, 0)].Seconds()*1000) / 1000
}
