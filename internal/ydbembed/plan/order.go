package plan

import "slices"

// inOrder makes the scan give its rows in the wanted order, forward or reverse,
// when the key allows it, and tells whether it does. Key columns that are fixed
// to one value do not matter.
func (s *Scan) inOrder(keys []SortKey) bool {
	fixed := make([]bool, len(s.Table.Key))
	at := 0
	for _, g := range s.Path.Groups {
		if g.single {
			fixed[at] = true
		}
		at += g.N
	}
	next, desc, decided := 0, false, false
	for _, k := range keys {
		if k.Expr.column == 0 {
			return false
		}
		part := slices.Index(s.Table.Key, k.Expr.column-1)
		if part >= 0 && fixed[part] {
			continue
		}
		for next < len(fixed) && fixed[next] {
			next++
		}
		if next == len(fixed) {
			break // the key is used up: no two rows are equal so far
		}
		if part != next || decided && desc != k.Desc {
			return false
		}
		desc, decided = k.Desc, true
		next++
	}
	if len(keys) > 0 {
		s.ordered, s.Reverse = true, desc
	}
	return true
}
