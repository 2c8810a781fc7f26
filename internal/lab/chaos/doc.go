// Package chaos is the fault test of a whole fleet. It runs the programs as
// processes, lets a nemesis break them by a plan that a seed makes, and notes a
// history: what the programs asked of the database and what they learned, from
// their journals; what the sink received; where every task stood, from snapshots
// of the tables. Afterwards the history is checked against what must always hold.
//
//	plan.go, draw.go   the faults of a run: a pure function of the seed
//	machines.go        processes, each with its clock and perhaps a proxy
//	nemesis.go         carries the plan out
//	history.go         what happened; record.go and assemble.go gather it
//	check*.go          pure functions on a history, and takeover.go
//	story.go           the history of one task or partition, for people
//
// Time in a history is the machine's. The programs' clocks are off, each by its
// own offset, which is known and taken away again.
package chaos
