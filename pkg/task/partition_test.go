package task

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPartitionOfIsMurmur3 holds the partition function to published vectors of
// MurmurHash3_x86_32 with seed 0. It must never change: tasks are where it put them.
func TestPartitionOfIsMurmur3(t *testing.T) {
	t.Parallel()
	for key, hash := range map[string]uint32{
		"":              0,
		"test":          0xba6bd213,
		"Hello, world!": 0xc0363e43,
		"The quick brown fox jumps over the lazy dog": 0x2e4ff723,
	} {
		for _, partitions := range []int{1, 2, 3, 255, 256, MaxPartitions} {
			require.Equal(t, uint16(hash%uint32(partitions)), PartitionOf(key, partitions), "%q of %d", key, partitions)
		}
	}
}

func TestPartitionOfSpreads(t *testing.T) {
	t.Parallel()
	var counts [DefaultPartitions]int
	for i := range 256 * 100 {
		counts[PartitionOf(strings.Repeat("k", i%7)+string(rune('a'+i%26))+strings.Repeat("z", i/26%40)+string(rune(i)), DefaultPartitions)]++
	}
	for partition, n := range counts {
		require.InDelta(t, 100, n, 60, "partition %d", partition)
	}
}

func TestRankOrdersMostUrgentFirst(t *testing.T) {
	t.Parallel()
	require.EqualValues(t, 0, Rank(255))
	require.EqualValues(t, 255, Rank(0))
}
