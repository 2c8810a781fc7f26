package exec

import (
	"github.com/taskfleet/taskfleet/internal/ydbembed/plan"
	"github.com/taskfleet/taskfleet/internal/ydbembed/store"
	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
)

// scanRows reads the key ranges of a path one after another.
type scanRows struct {
	run  *run
	node *plan.Scan
	keys *plan.Keys
	st   *store.Access
	it   *store.Iterator
}

func (r *run) openScan(n *plan.Scan) (rows, error) {
	keys, err := n.Path.Open(r.frame, n.Reverse)
	return &scanRows{run: r, node: n, keys: keys, st: r.st.Access(n.Table)}, err
}

func (s *scanRows) next() ([]types.Value, bool, error) {
	for {
		if s.it != nil {
			row, ok, err := s.it.Next()
			if err != nil || ok {
				return row, ok, err
			}
			s.close()
		}
		if err := s.run.frame.Alive(); err != nil {
			return nil, false, err
		}
		r, point, ok := s.keys.Next()
		if !ok {
			return nil, false, nil
		}
		if point {
			row, ok, err := s.run.tx.Get(s.node.Table, r.From.Prefix, s.node.Need, s.st)
			if err != nil || ok {
				return row, ok, err
			}
			continue
		}
		s.it = s.run.tx.Scan(s.node.Table, r, s.node.Reverse, s.node.Need, s.st)
	}
}

func (s *scanRows) close() {
	if s.it != nil {
		s.it.Close()
		s.it = nil
	}
}
