package journal

import "time"

// The operations.
const (
	Enqueue = "enqueue" // a batch of tasks
	Claim   = "claim"   // locks of tasks
	Finish  = "finish"  // outcomes of claims
	Raise   = "raise"   // epochs of partitions
	Own     = "own"     // a partition, from when until when
)

// Event is the begin or the end of an operation. Begin and end share Op and ID;
// a call that is repeated under one ID has several of each.
type Event struct {
	At  time.Time `json:"at"` // by the clock of the process
	Op  string    `json:"op"`
	ID  string    `json:"id"`
	End bool      `json:"end,omitempty"`
	// Error of an end says that the outcome is unknown.
	Error string `json:"error,omitempty"`

	Tasks      []string    `json:"tasks,omitempty"`      // of an enqueue's begin
	Locks      []Lock      `json:"locks,omitempty"`      // of a claim's end: what it got
	Results    []Result    `json:"results,omitempty"`    // of a finish: with Held at its end
	Partitions []Partition `json:"partitions,omitempty"` // of a raise and of own
}

// Lock is one claimed task.
type Lock struct {
	Task      string `json:"task"`
	Partition uint16 `json:"partition"`
	Epoch     uint64 `json:"epoch"`
	Lock      string `json:"lock"`
	Attempt   uint32 `json:"attempt"`
}

// Result is the outcome of one claim; Held says that it was recorded.
type Result struct {
	Task    string `json:"task"`
	Lock    string `json:"lock"`
	Outcome string `json:"outcome"`
	Held    bool   `json:"held,omitempty"`
}

// Partition has its epoch where that is known.
type Partition struct {
	ID    uint16 `json:"id"`
	Epoch uint64 `json:"epoch,omitempty"`
}
