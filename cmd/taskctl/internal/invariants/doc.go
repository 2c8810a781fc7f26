// Package invariants tests what must always hold with real processes, that are
// killed while they work. The same invariants are tested inside one process
// beside the code that keeps them.
package invariants
