package chaos

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// History is what happened in a run. A zero end means that the outcome is
// unknown, or that it lasted until the end.
type History struct {
	Begin, End time.Time // of the nemesis's work and of the observation
	Partitions int
	Faults     []Fault // by Begin
	Enqueues   []Enqueue
	Claims     []Claim
	Outcomes   []Outcome
	Raises     []Raise
	Tenures    []Tenure
	Deliveries []Delivery
	Looks      []Look // by Begin
}

// Fault is one that was carried out.
type Fault struct {
	Kind       Kind
	Target     string
	Begin, End time.Time
}

// Enqueue is a batch of tasks. Acknowledged, it is End that counts.
type Enqueue struct {
	Process    string
	Begin, End time.Time
	Tasks      []string
}

// Claim is one lock that a worker knows it got. It was taken between Begin and End.
type Claim struct {
	Process    string
	Begin, End time.Time
	Partition  uint16
	Epoch      uint64
	Task       string
	Lock       string
	Attempt    uint32
}

// Outcome is one result that a worker sent to be recorded.
type Outcome struct {
	Process    string
	Begin, End time.Time
	Task       string
	Lock       string
	Outcome    string
	Recorded   bool // the worker was told so; without an End nobody knows
}

func (o Outcome) state() string {
	switch {
	case o.End.IsZero():
		return "unknown"
	case o.Recorded:
		return "recorded"
	}
	return "refused"
}

// Raise is a partition's epoch that was raised between Begin and End.
type Raise struct {
	Process    string
	Begin, End time.Time
	Partition  uint16
	Epoch      uint64
}

// Tenure is the time in which a worker may work on a partition.
type Tenure struct {
	Process    string
	Begin, End time.Time
	Partition  uint16
	Epoch      uint64
}

// Delivery is a task that arrived at the sink.
type Delivery struct {
	At      time.Time
	Task    string
	Attempt int
	Status  int // of the answer
}

// Look is a snapshot of all tables, taken between Begin and End.
type Look struct {
	Begin, End time.Time
	Places     []Place
}

// Place is one row.
type Place struct {
	Task      string
	Partition uint16
	Status    string // pending, locked, delayed, completed or dead
	Lock      string
}

func (p Place) final() bool { return p.Status == "completed" || p.Status == "dead" }

func (p Place) table() string {
	if p.Status == "pending" || p.Status == "locked" {
		return "runnable"
	}
	return p.Status
}

// life tells from the faults what a process could do.
type life struct {
	died   map[string]time.Time
	stalls map[string][]Fault
}

func (h *History) lives() life {
	l := life{died: map[string]time.Time{}, stalls: map[string][]Fault{}}
	for _, f := range h.Faults {
		switch f.Kind {
		case KillWorker, RestartWorker, KillProducer:
			l.died[f.Target] = f.Begin
		case StallWorker, StallProducer:
			l.stalls[f.Target] = append(l.stalls[f.Target], f)
		}
	}
	return l
}

// before tells whether a came for sure before b; an end that is unknown did not.
func before(a, b time.Time) bool { return !a.IsZero() && a.Before(b) }

// save writes the history as JSON into a folder, if there is one.
func (h *History) save(folder string) error {
	if folder == "" {
		return nil
	}
	text, err := json.Marshal(h)
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, "history.json"), text, 0o644)
	}
	if err != nil {
		return fmt.Errorf("chaos: keep the history: %w", err)
	}
	return nil
}
