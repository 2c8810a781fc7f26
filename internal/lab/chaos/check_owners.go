package chaos

import (
	"fmt"
	"slices"
	"time"
)

// overlapMargin is how much longer than its session a worker's tenure may seem
// to last: both sides of a connection measure its silence, each for itself, and a
// process that wakes on a busy machine needs a while to find out.
const overlapMargin = 2 * time.Second

// checkOwners is I4: at most one worker claims in a partition under one epoch,
// epochs only rise, nothing is claimed under an old one, and tenures of two
// workers do not overlap.
func checkOwners(h *History) []Violation {
	found := checkEpochs(h)
	found = append(found, checkClaims(h)...)
	return append(found, checkTenures(h)...)
}

type epochKey struct {
	partition uint16
	epoch     uint64
}

// checkEpochs holds that every raise gave a new and higher epoch.
func checkEpochs(h *History) []Violation {
	var found []Violation
	of := map[epochKey]string{}
	for _, r := range h.Raises {
		k := epochKey{r.Partition, r.Epoch}
		if other, twice := of[k]; twice {
			found = append(found, Violation{"", int(r.Partition), fmt.Sprintf("epoch %d was given to %s and to %s", r.Epoch, other, r.Process)})
		}
		of[k] = r.Process
	}
	for p, raises := range byPartition(h.Raises, func(r Raise) uint16 { return r.Partition }, func(r Raise) time.Time { return r.Begin }) {
		for i, later := range raises {
			for _, earlier := range raises[:i] {
				if before(earlier.End, later.Begin) && earlier.Epoch > later.Epoch {
					found = append(found, Violation{"", int(p), fmt.Sprintf("epoch %d came after epoch %d", later.Epoch, earlier.Epoch)})
				}
			}
		}
	}
	return found
}

// checkClaims holds that one worker alone claims under an epoch, and that no
// claim that began when a newer epoch was there succeeds. Begins and ends are
// taken outside the call, so that a claim happened within them for sure.
func checkClaims(h *History) []Violation {
	var found []Violation
	by := map[epochKey]string{}
	raises := byPartition(h.Raises, func(r Raise) uint16 { return r.Partition }, func(r Raise) time.Time { return r.End })
	for _, c := range h.Claims {
		k := epochKey{c.Partition, c.Epoch}
		if other, ok := by[k]; ok && other != c.Process {
			found = append(found, Violation{c.Task, int(c.Partition), fmt.Sprintf("%s and %s claimed under epoch %d", other, c.Process, c.Epoch)})
		}
		by[k] = c.Process
		for _, r := range raises[c.Partition] {
			if !r.End.Before(c.Begin) {
				break
			}
			if r.Epoch > c.Epoch {
				found = append(found, Violation{c.Task, int(c.Partition), fmt.Sprintf("%s claimed under epoch %d at %s, after %s had raised it to %d at %s",
					c.Process, c.Epoch, h.when(c.Begin), r.Process, r.Epoch, h.when(r.End))})
				break
			}
		}
	}
	return found
}

// checkTenures holds that a worker stops to work on a partition before another
// begins. One that is stalled cannot know: it has to stop when it wakes.
func checkTenures(h *History) []Violation {
	var found []Violation
	lives := h.lives()
	for p, tenures := range h.tenures() {
		for i, later := range tenures {
			for _, earlier := range tenures[:i] {
				if earlier.Process == later.Process {
					continue
				}
				end := h.end(earlier, lives)
				for _, stall := range lives.stalls[earlier.Process] {
					if stall.Begin.Before(later.Begin) && (stall.End.IsZero() || end.Before(stall.End.Add(overlapMargin))) && end.After(stall.Begin) {
						end = stall.Begin
					}
				}
				if end.Sub(later.Begin) > overlapMargin {
					found = append(found, Violation{"", int(p), fmt.Sprintf("%s had it until %s (epoch %d), %s from %s on (epoch %d)",
						earlier.Process, h.when(end), earlier.Epoch, later.Process, h.when(later.Begin), later.Epoch)})
				}
			}
		}
	}
	return found
}

// tenures returns those of each partition by begin.
func (h *History) tenures() map[uint16][]Tenure {
	return byPartition(h.Tenures, func(t Tenure) uint16 { return t.Partition }, func(t Tenure) time.Time { return t.Begin })
}

// end is when a tenure was over: its end, its worker's death, or the end of the
// observation.
func (h *History) end(t Tenure, l life) time.Time {
	ends := []time.Time{h.End}
	if !t.End.IsZero() {
		ends = append(ends, t.End)
	}
	if died, ok := l.died[t.Process]; ok {
		ends = append(ends, died)
	}
	return slices.MinFunc(ends, time.Time.Compare)
}
