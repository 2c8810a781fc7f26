package rebalancer

import (
	"encoding/json"
	"slices"
)

// maxKindsBytes bounds what the kinds of one worker take in the registry, which
// every member of a fleet reads at every change.
const maxKindsBytes = 2 << 10

// publishedKinds returns kinds in order and without repetitions, as many as take
// maxKindsBytes in JSON, and whether some were left out. Nil stays nil: which
// kinds the worker handles is not known.
func publishedKinds(kinds []string) (published []string, cut bool) {
	if kinds == nil {
		return nil, false
	}
	sorted := slices.Clone(kinds)
	slices.Sort(sorted)
	sorted = slices.Compact(sorted)
	room := maxKindsBytes
	for i, kind := range sorted {
		text, err := json.Marshal(kind)
		if room -= len(text) + len(","); err != nil || room < 0 {
			return sorted[:i], true
		}
	}
	return sorted, false
}
