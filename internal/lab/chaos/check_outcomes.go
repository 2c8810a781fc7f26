package chaos

import "fmt"

// checkOutcomes is I2 and I3: a claim has at most one recorded outcome, a task
// that is finished stays as it is, and no snapshot has a task in two tables. A
// task is reported once.
func checkOutcomes(h *History) []Violation {
	c := &outcomes{h: h, reported: map[string]bool{}}
	c.recorded()
	c.claimed()
	c.places()
	return c.found
}

type outcomes struct {
	h        *History
	found    []Violation
	reported map[string]bool
	finals   map[string]Outcome // of finished tasks, as workers were told
}

func (c *outcomes) violation(task, format string, args ...any) {
	if !c.reported[task] {
		c.reported[task] = true
		c.found = append(c.found, Violation{task, -1, fmt.Sprintf(format, args...)})
	}
}

// recorded looks at what workers were told: one outcome for a lock, one end for a task.
func (c *outcomes) recorded() {
	byLock := map[string]Outcome{}
	c.finals = map[string]Outcome{}
	for _, o := range c.h.Outcomes {
		if !o.Recorded {
			continue
		}
		if first, twice := byLock[o.Lock]; twice {
			c.violation(o.Task, "lock %s has two recorded outcomes: %s by %s, %s by %s", o.Lock, first.Outcome, first.Process, o.Outcome, o.Process)
		}
		byLock[o.Lock] = o
		if o.Outcome != "completed" && o.Outcome != "dead" {
			continue
		}
		if first, twice := c.finals[o.Task]; twice {
			c.violation(o.Task, "finished twice: %s with lock %s by %s, %s with lock %s by %s",
				first.Outcome, first.Lock, first.Process, o.Outcome, o.Lock, o.Process)
		}
		c.finals[o.Task] = o
	}
	for _, o := range c.h.Outcomes {
		final, ok := c.finals[o.Task]
		if ok && o.Recorded && o.Lock != final.Lock && before(final.End, o.Begin) {
			c.violation(o.Task, "%s was recorded with lock %s after it was %s with lock %s", o.Outcome, o.Lock, final.Outcome, final.Lock)
		}
	}
}

// claimed finds claims of tasks that were finished before.
func (c *outcomes) claimed() {
	for _, claim := range c.h.Claims {
		if final, ok := c.finals[claim.Task]; ok && claim.Lock != final.Lock && before(final.End, claim.Begin) {
			c.violation(claim.Task, "claimed by %s with lock %s after it was %s with lock %s", claim.Process, claim.Lock, final.Outcome, final.Lock)
		}
	}
}

// places looks at the tables themselves.
func (c *outcomes) places() {
	finished := map[string]Place{}
	for _, look := range c.h.Looks {
		at := map[string]Place{}
		for _, p := range look.Places {
			if other, twice := at[p.Task]; twice {
				c.violation(p.Task, "%s and %s in one snapshot at %s", other.Status, p.Status, c.h.when(look.Begin))
			}
			at[p.Task] = p
			if was, ok := finished[p.Task]; ok && was != p {
				c.violation(p.Task, "%s with lock %s, and later %s with lock %s", was.Status, was.Lock, p.Status, p.Lock)
			}
			if final, ok := c.finals[p.Task]; ok && before(final.End, look.Begin) && (p.Status != final.Outcome || p.Lock != final.Lock) {
				c.violation(p.Task, "%s was told that it is %s with lock %s, but it is %s with lock %s at %s",
					final.Process, final.Outcome, final.Lock, p.Status, p.Lock, c.h.when(look.Begin))
			}
		}
		for _, p := range look.Places {
			if p.final() {
				finished[p.Task] = p
			}
		}
	}
}
