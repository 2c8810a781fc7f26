package chaos

import (
	"fmt"
	"io"
	"strings"
)

// Verdict is what a run showed. Its JSON is the last line of the fault test.
type Verdict struct {
	Seed                uint64  `json:"seed"`
	Faults              int     `json:"faults"`
	Enqueued            int     `json:"enqueued"` // acknowledged to a producer
	Lost                int     `json:"lost"`
	DoubleOutcomes      int     `json:"double_outcomes"`
	OverlappingOwners   int     `json:"overlapping_owners"`
	StuckPartitions     int     `json:"stuck_partitions"`
	Deliveries          int     `json:"deliveries"`
	DuplicateDeliveries int     `json:"duplicate_deliveries"`
	TakeoverP99         float64 `json:"takeover_p99_s"` // seconds from a worker's death or stall to the next owner
	TakeoverMax         float64 `json:"takeover_max_s"`
}

func newVerdict(seed uint64, faults int, f Findings) Verdict {
	return Verdict{
		Seed: seed, Faults: faults, Enqueued: f.Enqueued,
		Lost: len(f.Lost), DoubleOutcomes: len(f.Double), OverlappingOwners: len(f.Overlap), StuckPartitions: len(f.Stuck),
		Deliveries: f.Deliveries, DuplicateDeliveries: f.Duplicates,
		TakeoverP99: quantile(all(f.Takeovers), 0.99), TakeoverMax: quantile(all(f.Takeovers), 1),
	}
}

// OK tells whether everything held that must hold, and that something was tried.
func (v Verdict) OK() bool {
	return v.Lost+v.DoubleOutcomes+v.OverlappingOwners+v.StuckPartitions == 0 && v.Enqueued > 0
}

// printSummary tells how long takeovers took, for
// people. The rest is in the verdict.
func printSummary(w io.Writer, f Findings) {
	for _, kind := range kinds {
		if took := f.Takeovers[kind]; len(took) > 0 {
			fmt.Fprintf(w, "%-32s %4d partitions had an owner again after %5.2f s at the median, %5.2f s at most\n",
				kind, len(took), quantile(took, 0.5), quantile(took, 1))
		}
	}
}

// maxStories bounds how many violations are told in full.
const maxStories = 10

// printViolations tells what is wrong, with the seed and the history of each.
func printViolations(w io.Writer, seed uint64, h *History, f Findings) {
	for _, group := range []struct {
		name       string
		violations []Violation
	}{{"lost task", f.Lost}, {"double outcome", f.Double}, {"overlapping owners", f.Overlap}, {"stuck partition", f.Stuck}} {
		for i, v := range group.violations {
			if i == maxStories {
				fmt.Fprintf(w, "... and %d more of: %s\n", len(group.violations)-i, group.name)
				break
			}
			about := ""
			if v.Task != "" {
				about += " task " + v.Task
			}
			if v.Partition >= 0 {
				about += fmt.Sprintf(" partition %d", v.Partition)
			}
			fmt.Fprintf(w, "VIOLATION seed %d: %s:%s: %s\n%s\n", seed, group.name, about, v.Text, indent(h.story(v)))
		}
	}
}

func indent(lines []string) string { return "    " + strings.Join(lines, "\n    ") }
