package chaos

import (
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/taskfleet/taskfleet/internal/lab/journal"
)

// entry is an event of one process, at the machine's time.
type entry struct {
	process string
	journal.Event
}

// Recorder gathers a history. Its methods may be called concurrently.
type Recorder struct {
	mu      sync.Mutex
	entries []entry
	history History
	owned   map[tenureKey]uint16 // the partitions that are owned now
}

type tenureKey struct{ process, id string }

// NewRecorder returns one of a fleet of so many partitions.
func NewRecorder(partitions int) *Recorder {
	return &Recorder{history: History{Partitions: partitions}, owned: map[tenureKey]uint16{}}
}

// Line takes a line of a process's journal. Lines that are none are ignored: a
// process that was killed may leave half of one.
func (r *Recorder) Line(s Spec, line string) {
	e := entry{process: s.Name}
	if json.Unmarshal([]byte(line), &e.Event) != nil {
		return
	}
	e.At = e.At.Add(-s.Offset)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entries = append(r.entries, e)
	if e.Op == journal.Own {
		k := tenureKey{s.Name, e.ID}
		if e.End {
			delete(r.owned, k)
		} else {
			r.owned[k] = e.Partitions[0].ID
		}
	}
}

// Gone notes that a process has ended and owns nothing any more.
func (r *Recorder) Gone(process string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.owned, func(k tenureKey, _ uint16) bool { return k.process == process })
}

// Fault notes the begin of a fault and returns what notes its end.
func (r *Recorder) Fault(kind Kind, target string) (end func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := len(r.history.Faults)
	r.history.Faults = append(r.history.Faults, Fault{Kind: kind, Target: target, Begin: time.Now()})
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.history.Faults[i].End = time.Now()
	}
}

// Delivery notes a delivery.
func (r *Recorder) Delivery(d Delivery) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.history.Deliveries = append(r.history.Deliveries, d)
}

// Look notes a snapshot.
func (r *Recorder) Look(l Look) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.history.Looks = append(r.history.Looks, l)
}

// Owned counts the partitions that somebody owns now, by what was told so far.
func (r *Recorder) Owned() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	distinct := map[uint16]bool{}
	for _, p := range r.owned {
		distinct[p] = true
	}
	return len(distinct)
}

// History returns what is known so far.
func (r *Recorder) History() *History {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.history
	h.Faults = slices.Clone(h.Faults)
	assemble(&h, r.entries)
	return &h
}
