package chaos

import (
	"time"

	"github.com/taskfleet/taskfleet/internal/lab/journal"
)

// assembler joins the begins and ends of operations.
type assembler struct {
	*History
	begun map[operation]begun
	locks map[string]bool // that a claim was made of
}

type operation struct{ process, op, id string }

// begun is an operation that began, and the index of the first of what was noted
// for it.
type begun struct {
	at    time.Time
	index int
}

// assemble adds what the entries tell. Those of a process are in its order.
func assemble(h *History, entries []entry) {
	a := assembler{h, map[operation]begun{}, map[string]bool{}}
	for _, e := range entries {
		o := operation{e.process, e.Op, e.ID}
		begin, known := a.begun[o]
		switch {
		case !e.End && !known:
			a.begun[o] = begun{e.At, a.begin(e)}
		case !e.End: // a call that is repeated: it began with the first
		case known && e.Error == "": // otherwise the outcome stays unknown
			a.end(e, begin)
		}
	}
}

// begin notes an operation whose outcome is unknown so far.
func (a *assembler) begin(e entry) (index int) {
	switch e.Op {
	case journal.Enqueue:
		a.Enqueues = append(a.Enqueues, Enqueue{Process: e.process, Begin: e.At, Tasks: e.Tasks})
		return len(a.Enqueues) - 1
	case journal.Own:
		p := e.Partitions[0]
		a.Tenures = append(a.Tenures, Tenure{Process: e.process, Begin: e.At, Partition: p.ID, Epoch: p.Epoch})
		return len(a.Tenures) - 1
	case journal.Finish:
		for _, r := range e.Results {
			a.Outcomes = append(a.Outcomes, Outcome{Process: e.process, Begin: e.At, Task: r.Task, Lock: r.Lock, Outcome: r.Outcome})
		}
		return len(a.Outcomes) - len(e.Results)
	}
	return 0 // of what a claim or a raise will get nothing is known
}

func (a *assembler) end(e entry, begin begun) {
	switch e.Op {
	case journal.Enqueue:
		a.Enqueues[begin.index].End = e.At
	case journal.Own:
		a.Tenures[begin.index].End = e.At
	case journal.Finish:
		for i, r := range e.Results {
			o := &a.Outcomes[begin.index+i]
			o.End, o.Recorded = e.At, r.Held
		}
	case journal.Raise:
		for _, p := range e.Partitions {
			a.Raises = append(a.Raises, Raise{Process: e.process, Begin: begin.at, End: e.At, Partition: p.ID, Epoch: p.Epoch})
		}
	case journal.Claim:
		for _, l := range e.Locks {
			if a.locks[l.Lock] {
				continue // told again by a repeated call
			}
			a.locks[l.Lock] = true
			a.Claims = append(a.Claims, Claim{
				Process: e.process, Begin: begin.at, End: e.At,
				Partition: l.Partition, Epoch: l.Epoch, Task: l.Task, Lock: l.Lock, Attempt: l.Attempt,
			})
		}
	}
}
