// Package fleettest tests whole workers, a rebalancer with a task worker on the
// real tables of an embedded server, many in one process and on the virtual clock:
// what they do to tasks and partitions when workers and servers come, go and fail.
package fleettest
