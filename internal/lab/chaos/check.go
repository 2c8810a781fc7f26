package chaos

import (
	"fmt"
	"slices"
	"time"
)

// takeoverMargin is what a takeover may take beyond the session timeout.
const takeoverMargin = 2 * time.Second

// Limits are the promises that depend on settings and on the machine.
type Limits struct {
	SessionTimeout time.Duration
	// Slack is added to the bound on takeovers, for a machine that is busy.
	Slack time.Duration
}

// Violation is one thing that must not be.
type Violation struct {
	Task      string // if it is about one
	Partition int    // if it is about one; -1 otherwise
	Text      string
}

// Findings are what a check of a history says.
type Findings struct {
	Enqueued                     int // acknowledged tasks
	Lost, Double, Overlap, Stuck []Violation
	Deliveries, Duplicates       int
	Takeovers                    map[Kind][]time.Duration // by what made them needed, sorted
}

// Check holds a history against what must always hold.
func Check(h *History, l Limits) Findings {
	f := Findings{Lost: checkLost(h), Double: checkOutcomes(h), Overlap: checkOwners(h), Stuck: checkStuck(h, l)}
	for _, e := range h.Enqueues {
		if !e.End.IsZero() {
			f.Enqueued += len(e.Tasks)
		}
	}
	distinct := map[string]bool{}
	for _, d := range h.Deliveries {
		distinct[d.Task] = true
	}
	f.Deliveries, f.Duplicates = len(h.Deliveries), len(h.Deliveries)-len(distinct)
	f.Takeovers = takeovers(h, l)
	return f
}

// checkLost is I1: a task that was acknowledged before a look is in it, wherever.
// The last look is the verdict; earlier ones tell when it went.
func checkLost(h *History) []Violation {
	var lost []Violation
	missing := map[string]bool{}
	for _, look := range h.Looks {
		there := make(map[string]bool, len(look.Places))
		for _, p := range look.Places {
			there[p.Task] = true
		}
		for _, e := range h.Enqueues {
			if !before(e.End, look.Begin) {
				continue
			}
			for _, id := range e.Tasks {
				if !there[id] && !missing[id] {
					missing[id] = true
					lost = append(lost, Violation{id, -1, fmt.Sprintf("acknowledged at %s, and in no table at %s", h.when(e.End), h.when(look.Begin))})
				}
			}
		}
	}
	return lost
}

// when is a time of a run for people.
func (h *History) when(t time.Time) string {
	if t.IsZero() {
		return "?"
	}
	return fmt.Sprintf("%.3fs", t.Sub(h.Begin).Seconds())
}

// byPartition groups and sorts by begin.
func byPartition[T any](all []T, partition func(T) uint16, begin func(T) time.Time) map[uint16][]T {
	groups := map[uint16][]T{}
	for _, x := range all {
		groups[partition(x)] = append(groups[partition(x)], x)
	}
	for _, group := range groups {
		slices.SortStableFunc(group, func(a, b T) int { return begin(a).Compare(begin(b)) })
	}
	return groups
}
