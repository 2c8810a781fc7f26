// Package demo runs a whole fleet on one machine, as processes: the embedded
// database, an HTTP sink, a producer and workers. It kills a worker, starts
// another, and judges from what the sink saw whether anything was lost. It is
// what `taskctl demo` does, and the ground of the tests that kill processes.
package demo
