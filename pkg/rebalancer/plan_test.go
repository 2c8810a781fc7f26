package rebalancer

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func equalMembers(n int) []Member {
	members := make([]Member, n)
	for i := range members {
		members[i] = Member{ID: fmt.Sprintf("worker-%d", i), Weight: 1}
	}
	return members
}

func loads(owners []string) map[string]int {
	n := make(map[string]int)
	for _, id := range owners {
		n[id]++
	}
	return n
}

func TestPlan(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		members    []Member
		partitions int
		want       map[string]int // loads; nil where only the sum is known
	}{
		{name: "nobody", members: nil, partitions: 256, want: map[string]int{}},
		{name: "no partitions", members: equalMembers(2), partitions: 0, want: map[string]int{}},
		{name: "alone", members: equalMembers(1), partitions: 256, want: map[string]int{"worker-0": 256}},
		{name: "half each", members: equalMembers(2), partitions: 256, want: map[string]int{"worker-0": 128, "worker-1": 128}},
		{name: "one each", members: equalMembers(3), partitions: 3, want: map[string]int{"worker-0": 1, "worker-1": 1, "worker-2": 1}},
		{name: "twice the weight", members: []Member{{"a", 1}, {"b", 2}}, partitions: 255, want: map[string]int{"a": 85, "b": 170}},
		{name: "weight below one", members: []Member{{"a", 0}, {"b", -5}}, partitions: 8, want: map[string]int{"a": 4, "b": 4}},
		{name: "weight above the limit", members: []Member{{"a", MaxWeight}, {"b", 1 << 40}}, partitions: 8, want: map[string]int{"a": 4, "b": 4}},
		{name: "heavy and light", members: []Member{{"a", 100}, {"b", 1}}, partitions: 101, want: map[string]int{"a": 100, "b": 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, loads(Plan(c.members, c.partitions)))
		})
	}
}

// A plan must never change from one version of the program to the next, or a
// rolling update would move everything twice.
func TestPlanIsPinned(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{
		"worker-2", "worker-2", "worker-1", "worker-0", "worker-0", "worker-1",
		"worker-0", "worker-2", "worker-1", "worker-1", "worker-0", "worker-2",
	}, Plan(equalMembers(3), 12))
	require.Equal(t, []string{"c", "b", "c", "b", "b", "b", "a", "a", "c", "b", "c", "b"}, Plan([]Member{{"a", 1}, {"b", 3}, {"c", 2}}, 12), "by weight")
}

func drawMembers(t *rapid.T, minimum int) []Member {
	ids := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z0-9-]{1,12}`), minimum, 40, rapid.ID).Draw(t, "ids")
	members := make([]Member, len(ids))
	for i, id := range ids {
		members[i] = Member{ID: id, Weight: rapid.IntRange(1, 5).Draw(t, "weight")}
	}
	return members
}

func TestPlanBalances(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		members := drawMembers(t, 1)
		partitions := rapid.IntRange(1, 600).Draw(t, "partitions")
		owners := Plan(members, partitions)
		require.Len(t, owners, partitions)
		total := 0
		for _, m := range members {
			total += m.Weight
		}
		n := loads(owners)
		for _, m := range members {
			share := partitions * m.Weight
			require.GreaterOrEqual(t, n[m.ID], share/total, "member %v", m)
			require.LessOrEqual(t, n[m.ID], (share+total-1)/total, "member %v", m)
			delete(n, m.ID)
		}
		require.Empty(t, n, "only members own partitions")
	})
}

func TestPlanIgnoresTheOrderOfMembers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		members := drawMembers(t, 1)
		partitions := rapid.IntRange(1, 300).Draw(t, "partitions")
		shuffled := rapid.Permutation(members).Draw(t, "shuffled")
		require.Equal(t, Plan(members, partitions), Plan(shuffled, partitions))
	})
}

// moves counts the partitions that change hands, and those that go to one member.
func moves(before, after []string, member string) (moved, toMember int) {
	for p := range before {
		if before[p] != after[p] {
			moved++
			if after[p] == member {
				toMember++
			}
		}
	}
	return moved, toMember
}

// A join moves the share of the newcomer, and as much between the others as it
// takes to keep all loads exact.
func TestPlanMovesLittleOnJoinAndLeave(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ partitions, members, most int }{
		// most: measured over many fleets, with room; the share is partitions/(members+1).
		{partitions: 256, members: 1, most: 128},
		{partitions: 256, members: 2, most: 95},
		{partitions: 256, members: 3, most: 85},
		{partitions: 256, members: 4, most: 75},
		{partitions: 256, members: 10, most: 50},
		{partitions: 256, members: 50, most: 40},
		{partitions: 1024, members: 100, most: 80},
		{partitions: 4096, members: 100, most: 160},
	} {
		t.Run(fmt.Sprintf("%d partitions, %d members", c.partitions, c.members), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(1, uint64(c.members)))
			for range max(3, 20_000/(c.partitions+c.members*c.members)) {
				all := make([]Member, c.members+1)
				for i := range all {
					all[i] = Member{ID: fmt.Sprintf("%x", random.Uint64()), Weight: 1}
				}
				newcomer := all[c.members].ID
				with, without := Plan(all, c.partitions), Plan(all[:c.members], c.partitions)
				moved, gained := moves(without, with, newcomer)
				require.LessOrEqual(t, moved, c.most)
				require.Equal(t, loads(with)[newcomer], gained, "the newcomer gets its whole share")
			}
		})
	}
}

func TestPlanMovementProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		partitions := rapid.IntRange(64, 512).Draw(t, "partitions")
		members := drawMembers(t, 2)
		for i := range members {
			members[i].Weight = 1
		}
		leaver := rapid.IntRange(0, len(members)-1).Draw(t, "leaver")
		before := Plan(members, partitions)
		after := Plan(slices.Delete(slices.Clone(members), leaver, leaver+1), partitions)
		moved, _ := moves(before, after, "")
		share := (partitions + len(members) - 1) / len(members)
		// Rounding moves at most about one partition per member.
		require.LessOrEqual(t, moved, 2*share+len(members)+16)
	})
}

func BenchmarkPlan(b *testing.B) {
	for _, c := range []struct{ partitions, members int }{{256, 4}, {256, 50}, {4096, 100}, {4096, 1000}} {
		members := equalMembers(c.members)
		b.Run(fmt.Sprintf("%dx%d", c.partitions, c.members), func(b *testing.B) {
			for b.Loop() {
				Plan(members, c.partitions)
			}
		})
	}
}
