package fleet

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestOwnershipFindsTheLongestTimeWithoutAnOwner(t *testing.T) {
	t.Parallel()
	zero := time.Unix(1000, 0)
	at := func(s float64) time.Time { return zero.Add(time.Duration(s * float64(time.Second))) }
	tests := []struct {
		name string
		run  func(*Ownership)
		want time.Duration
		held map[string]int
	}{
		{"never owned is not a gap", func(*Ownership) {}, 0, map[string]int{}},
		{"owned until the end", func(o *Ownership) {
			o.Acquired(1, "a", at(5))
		}, 0, map[string]int{"a": 1}},
		{"handed over late", func(o *Ownership) {
			o.Acquired(1, "a", at(0))
			o.Released(1, "a", at(2))
			o.Acquired(1, "b", at(2.5))
		}, 500 * time.Millisecond, map[string]int{"b": 1}},
		{"told out of order", func(o *Ownership) {
			o.Acquired(1, "b", at(3))
			o.Acquired(1, "a", at(0))
			o.Released(1, "a", at(2))
		}, time.Second, map[string]int{"b": 1}},
		{"release told after the next owner's begin", func(o *Ownership) {
			o.Acquired(1, "a", at(0))
			o.Acquired(1, "b", at(2))
			o.Released(1, "a", at(2.1))
		}, 0, map[string]int{"b": 1}},
		{"a death, and one partition never taken again", func(o *Ownership) {
			o.Acquired(1, "a", at(0))
			o.Acquired(2, "a", at(0))
			o.Died("a", at(4))
			o.Acquired(1, "b", at(5))
		}, 6 * time.Second, map[string]int{"b": 1}},
		{"the same worker twice", func(o *Ownership) {
			o.Acquired(1, "a", at(0))
			o.Released(1, "a", at(1))
			o.Acquired(1, "a", at(3))
		}, 2 * time.Second, map[string]int{"a": 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := NewOwnership()
			tt.run(o)
			require.Equal(t, tt.want, o.MaxUnowned(at(10)))
			require.Equal(t, tt.held, o.Counts())
		})
	}
}
