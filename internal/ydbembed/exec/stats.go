package exec

import (
	"time"

	"github.com/taskfleet/taskfleet/internal/ydbembed/store"
)

// Stats counts what a query touched. One Stats may serve several runs and sums
// them; it is used by one goroutine at a time.
type Stats struct {
	Tables map[string]*store.Access // by path
	Order  []string                 // paths in order of first use

	PeakMemory int64 // bytes that a run held at most, by its budget

	// The session fills these in.
	CompileTime time.Duration
	FromCache   bool
}

// Access returns the counters of a table.
func (s *Stats) Access(t *store.Table) *store.Access {
	if a := s.Tables[t.Path]; a != nil {
		return a
	}
	if s.Tables == nil {
		s.Tables = map[string]*store.Access{}
	}
	a := &store.Access{}
	s.Tables[t.Path] = a
	s.Order = append(s.Order, t.Path)
	return a
}
