// Package demo shows a fleet on one machine that loses a worker and no task. It
// kills a worker, starts another, and judges from what the sink saw whether
// anything was lost. It is what `taskctl demo` does.
package demo
