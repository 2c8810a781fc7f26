package chaos

import (
	"fmt"
	"slices"
	"time"
)

// story tells the history of what a violation is about, in the order of time.
func (h *History) story(v Violation) []string {
	s := &story{h: h}
	partition := v.Partition
	if v.Task != "" {
		s.task(v.Task)
		for _, c := range h.Claims {
			if c.Task == v.Task {
				partition = int(c.Partition)
			}
		}
	}
	if partition >= 0 {
		s.partition(uint16(partition))
	}
	s.faults()
	slices.SortStableFunc(s.lines, func(a, b line) int { return a.at.Compare(b.at) })
	texts := make([]string, len(s.lines))
	for i, l := range s.lines {
		texts[i] = fmt.Sprintf("%9s  %s", h.when(l.at), l.text)
	}
	return texts
}

type line struct {
	at   time.Time
	text string
}

type story struct {
	h     *History
	lines []line
}

func (s *story) add(at time.Time, format string, args ...any) {
	s.lines = append(s.lines, line{at, fmt.Sprintf(format, args...)})
}

func (s *story) task(id string) {
	for _, e := range s.h.Enqueues {
		if slices.Contains(e.Tasks, id) {
			s.add(e.Begin, "%s enqueues it, acknowledged at %s", e.Process, s.h.when(e.End))
		}
	}
	for _, c := range s.h.Claims {
		if c.Task == id {
			s.add(c.Begin, "%s claims it under epoch %d: attempt %d, lock %s, answered at %s", c.Process, c.Epoch, c.Attempt, c.Lock, s.h.when(c.End))
		}
	}
	for _, o := range s.h.Outcomes {
		if o.Task == id {
			s.add(o.Begin, "%s sends %s with lock %s: %s, answered at %s", o.Process, o.Outcome, o.Lock, o.state(), s.h.when(o.End))
		}
	}
	for _, d := range s.h.Deliveries {
		if d.Task == id {
			s.add(d.At, "delivered, attempt %d, answered with %d", d.Attempt, d.Status)
		}
	}
	last := "?"
	for _, look := range s.h.Looks {
		now := ""
		for _, p := range look.Places {
			if p.Task == id {
				now += fmt.Sprintf(" %s in partition %d with lock %q", p.Status, p.Partition, p.Lock)
			}
		}
		if now != last {
			s.add(look.Begin, "seen in the tables:%s", now)
			last = now
		}
	}
}

func (s *story) partition(p uint16) {
	for _, r := range s.h.Raises {
		if r.Partition == p {
			s.add(r.Begin, "%s raises partition %d to epoch %d, answered at %s", r.Process, p, r.Epoch, s.h.when(r.End))
		}
	}
	for _, t := range s.h.Tenures {
		if t.Partition == p {
			s.add(t.Begin, "%s owns partition %d until %s, epoch %d", t.Process, p, s.h.when(t.End), t.Epoch)
		}
	}
}

func (s *story) faults() {
	for _, f := range s.h.Faults {
		s.add(f.Begin, "FAULT %s %s until %s", f.Kind, f.Target, s.h.when(f.End))
	}
}
