// Package plan turns a syntax tree into something that runs: it resolves names
// against the catalog, gives every expression a static type and a closure that
// computes it, chooses how tables are read (point, range or full scan, forward
// or reverse, lookup join or hash join) and says so in EXPLAIN.
//
// A compiled Query is immutable and may be run by many goroutines at once; what
// changes during a run lives in a Frame. Package exec runs it.
package plan
