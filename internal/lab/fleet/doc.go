// Package fleet runs a whole fleet on one machine, as processes: the embedded
// database, an HTTP sink, producers and workers. It follows who owns what and
// what was delivered. The demo and the tests that kill processes stand on it.
package fleet
