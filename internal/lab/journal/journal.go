package journal

import (
	"encoding/json"
	"io"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Journal writes events. Its methods may be called concurrently.
type Journal struct {
	now    func() time.Time
	number atomic.Uint64

	mu sync.Mutex
	w  io.Writer
}

// New returns a journal that writes to w. now is the clock of the process.
func New(w io.Writer, now func() time.Time) *Journal { return &Journal{w: w, now: now} }

// id makes one for an operation that has none.
func (j *Journal) id() string { return strconv.FormatUint(j.number.Add(1), 10) }

// begin and end write an event. Whoever reads the journal is gone when writing
// fails, so that is nobody's concern.
func (j *Journal) begin(e Event) { j.write(e) }

func (j *Journal) end(e Event, err error) {
	e.End = true
	if err != nil {
		e.Error = err.Error()
	}
	j.write(e)
}

func (j *Journal) write(e Event) {
	e.At = j.now()
	line, err := json.Marshal(e)
	if err != nil {
		panic(err) // strings, numbers and times always marshal
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	_, _ = j.w.Write(append(line, '\n'))
}
