package rebalancer

import (
	"cmp"
	"slices"

	"github.com/spaolacci/murmur3"
)

// MaxWeight is the largest weight of a member.
const MaxWeight = 100

// Member is a worker that takes part in a plan.
type Member struct {
	ID     string
	Weight int // below 1 counts as 1, above MaxWeight as MaxWeight
}

// Plan says who owns which partition: the result's element n is the id of the
// member that owns partition n. Without members there is no plan, and the
// result is nil. Members must have distinct ids; their order does not matter.
//
// It is rendezvous hashing with exact loads. Each member scores each partition
// by a hash; partitions choose, in an order that is a hash too, the member with
// the best score that has room. A member's load is its share by weight, rounded
// down or up, so loads of equal members differ by at most one. Since scores do
// not depend on who else is there, a join or leave moves about its share.
func Plan(members []Member, partitions int) []string {
	if len(members) == 0 || partitions <= 0 {
		return nil
	}
	seats := newSeats(members, partitions)
	owners := make([]string, partitions)
	for _, p := range partitionOrder(partitions) {
		owners[p] = seats.take(p)
	}
	return owners
}

// seat is a member with the room that it has left.
type seat struct {
	id      string
	tickets []uint64 // one per unit of weight: the best one scores
	room    int      // partitions until the share, rounded down, is full
	extra   bool     // the share is no whole number: one more may come
}

type seats struct {
	seats  []seat // by id
	extras int    // how many members may still take one more than their share
}

func newSeats(members []Member, partitions int) *seats {
	s := &seats{seats: make([]seat, 0, len(members)), extras: partitions}
	total := 0
	for _, m := range members {
		total += clampWeight(m.Weight)
	}
	for _, m := range members {
		share, weight := partitions*clampWeight(m.Weight), clampWeight(m.Weight)
		one := seat{id: m.ID, room: share / total, extra: share%total != 0}
		h := murmur3.Sum64([]byte(m.ID))
		for k := range weight {
			one.tickets = append(one.tickets, mix(h+uint64(k)*golden))
		}
		s.extras -= one.room
		s.seats = append(s.seats, one)
	}
	slices.SortFunc(s.seats, func(a, b seat) int { return cmp.Compare(a.id, b.id) })
	return s
}

// take gives a partition to the best member with room. One always has: the
// rooms and the extras add up to the number of partitions.
func (s *seats) take(partition int) string {
	key := mix(uint64(partition) + golden)
	var best *seat
	var bestScore uint64
	for i := range s.seats {
		one := &s.seats[i]
		if !s.hasRoom(one) {
			continue
		}
		if score := one.score(key); best == nil || score > bestScore {
			best, bestScore = one, score
		}
	}
	s.fill(best)
	return best.id
}

func (s *seats) hasRoom(one *seat) bool { return one.room > 0 || one.extra && s.extras > 0 }

func (s *seats) fill(one *seat) {
	if one.room > 0 {
		one.room--
		return
	}
	one.extra = false
	s.extras--
}

func (s *seat) score(key uint64) uint64 {
	var best uint64
	for _, ticket := range s.tickets {
		best = max(best, mix(ticket^key))
	}
	return best
}

// partitionOrder returns the partitions in the order in which they choose.
func partitionOrder(partitions int) []int {
	order := make([]int, partitions)
	for p := range order {
		order[p] = p
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(mix(uint64(a)), mix(uint64(b))), cmp.Compare(a, b))
	})
	return order
}

func clampWeight(w int) int { return min(max(w, 1), MaxWeight) }

const golden = 0x9e3779b97f4a7c15

// mix is the finalizer of splitmix64: a bijection that spreads every bit.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
