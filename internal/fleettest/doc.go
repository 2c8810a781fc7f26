// Package fleettest tests whole workers, a rebalancer with a task worker on the
// real tables of an embedded server, many in one process: what they do to tasks
// and partitions when workers and servers come, go, stall and fail. The same with
// processes that are killed is in cmd/taskctl/internal/invariants.
package fleettest
