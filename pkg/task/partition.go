package task

import "github.com/spaolacci/murmur3"

// DefaultPartitions is the number of logical partitions of a new fleet.
const DefaultPartitions = 256

// MaxPartitions is the largest number of partitions that a fleet may have.
const MaxPartitions = 4096

// PartitionOf returns the partition of a key: murmur3 (32 bits, seed 0) modulo
// the number of partitions. Every producer of a fleet must use the same number,
// which the fleet's settings hold.
func PartitionOf(key string, partitions int) uint16 {
	// Not murmur3.Sum32: it walks the bytes by a uintptr, which does not follow
	// a stack that moves meanwhile, and which the race detector refuses.
	hash := murmur3.New32()
	_, _ = hash.Write([]byte(key)) // never fails
	return uint16(hash.Sum32() % uint32(partitions))
}

// Rank returns the key order of a priority: most urgent first.
func Rank(priority uint8) uint8 { return 255 - priority }
