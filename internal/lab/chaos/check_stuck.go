package chaos

import (
	"fmt"
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
			if calm := h.undisturbed(gap, l.SessionTimeout); calm > limit && !reported[p] {
				reported[p] = true
				found = append(found, Violation{"", int(p), fmt.Sprintf("had no owner from %s to %s, although no fault delayed it for %.1f s",
					h.when(gap.begin), h.when(gap.end), calm.Seconds())})
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

// gap is a time without an owner, and the workers that had the partition before
// and after it.
type gap struct {
	begin, end time.Time
	last, next string
}

// gaps finds the times in which nobody who is awake owned a partition, from the
// begin to the end of a history.
func (h *History) gaps(tenures []Tenure, lives life) []gap {
	var found []gap
	free, last := h.Begin, "" // since when, and whose it was
	for _, t := range tenures {
		if t.Begin.After(free) {
			found = append(found, gap{free, t.Begin, last, t.Process})
		}
		if end := h.ownedUntil(t, lives); end.After(free) {
			free, last = end, t.Process
		}
	}
	if h.End.After(free) {
		found = append(found, gap{free, h.End, last, ""})
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

// undisturbed is the longest time within a gap in which no fault came that may
// have made it longer. The server learns of a worker's silence by pings, three in
// a session timeout: up to two of them later than of a connection that ends.
func (h *History) undisturbed(g gap, sessionTimeout time.Duration) time.Duration {
	type disturbance struct{ begin, end time.Time }
	var all []disturbance
	for _, f := range h.Faults {
		noticed := f.Begin
		switch f.Kind {
		case KillProducer, StallProducer, Join, Leave:
			continue
		case Cut, LoseAnswers:
			if f.Target != g.last && f.Target != g.next {
				continue
			}
		case StallWorker, BlackHole, Held, Slow: // of any worker: it may be who was to take over
			noticed = noticed.Add(sessionTimeout * 2 / 3)
		}
		all = append(all, disturbance{f.Begin, noticed}, disturbance{f.End, f.End})
	}
	slices.SortFunc(all, func(a, b disturbance) int { return a.begin.Compare(b.begin) })
	longest, calm := time.Duration(0), g.begin // since when
	for _, d := range append(all, disturbance{g.end, g.end}) {
		if d.begin.After(g.end) {
			continue
		}
		longest = max(longest, d.begin.Sub(calm))
		if d.end.After(calm) {
			calm = d.end
		}
	}
	return longest
}
