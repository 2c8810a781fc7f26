package demo

import (
	"fmt"
	"io"
)

// Verdict is what a run showed. Its JSON is the last line of the demo.
type Verdict struct {
	Enqueued          int     `json:"enqueued"`  // acknowledged to the producer
	Completed         int     `json:"completed"` // recorded as done in the database
	Delivered         int     `json:"delivered"` // distinct tasks that the sink saw
	Lost              int     `json:"lost"`      // enqueued, and neither delivered nor recorded
	Duplicates        int     `json:"duplicates"`
	WorkersStarted    int     `json:"workers_started"`
	WorkersKilled     int     `json:"workers_killed"`
	MaxUnownedSeconds float64 `json:"max_unowned_seconds"`
	TasksPerSecond    float64 `json:"tasks_per_second"`
}

// judge fills in what was lost: whatever was acknowledged and has not both
// arrived and been recorded.
func (v *Verdict) judge() {
	v.Lost = max(0, v.Enqueued-min(v.Delivered, v.Completed))
}

// OK tells whether nothing was lost.
func (v *Verdict) OK() bool { return v.Lost == 0 && v.Enqueued > 0 }

// Print says it for people.
func (v *Verdict) Print(w io.Writer) {
	word := "NOTHING LOST"
	if !v.OK() {
		word = fmt.Sprintf("%d LOST", v.Lost)
	}
	fmt.Fprintf(w, `
%s
  %d tasks acknowledged, %d delivered, %d recorded as completed
  %d delivered more than once: tasks that ran when their worker was killed run again
  %d workers started, %d killed; no partition was without an owner for longer than %.1f s
  %.0f tasks per second from the first to the last delivery

`, word, v.Enqueued, v.Delivered, v.Completed, v.Duplicates, v.WorkersStarted, v.WorkersKilled, v.MaxUnownedSeconds, v.TasksPerSecond)
}
