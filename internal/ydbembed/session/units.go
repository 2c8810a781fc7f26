package session

import (
	"time"

	"github.com/taskfleet/taskfleet/internal/ydbembed/store"
)

// The prices of YDB's published formula.
const (
	cpuPerUnit     = 1500 * time.Microsecond
	readUnitBytes  = 4096
	writeUnitBytes = 1024
)

// RequestUnits is what a query costs by YDB's published formula: the greater of
// its processor time at 1.5 ms per unit, and its traffic at one unit per row or
// 4 KiB read and two per row or 1 KiB written. A deleted row costs a written one.
func RequestUnits(cpu time.Duration, access []store.Access) uint64 {
	var sum store.Access
	for _, a := range access {
		sum.ReadRows += a.ReadRows
		sum.ReadBytes += a.ReadBytes
		sum.UpdateRows += a.UpdateRows + a.DeleteRows
		sum.UpdateBytes += a.UpdateBytes
	}
	read := max(sum.ReadRows, blocks(sum.ReadBytes, readUnitBytes))
	written := max(sum.UpdateRows, blocks(sum.UpdateBytes, writeUnitBytes))
	return max(uint64(cpu/cpuPerUnit), read+2*written)
}

func blocks(bytes, size uint64) uint64 { return (bytes + size - 1) / size }
