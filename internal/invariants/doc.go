// Package invariants holds the promises of the design, by their numbers, with
// several workers in one process on one database, while partitions move, workers
// crash and stop, answers get lost and batches are sent twice. It has tests only.
package invariants
