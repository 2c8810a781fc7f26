package plan

import (
	"slices"
	"strings"

	"github.com/taskfleet/taskfleet/internal/ydbembed/store"
)

// tableUse collects how tables are read and written.
type tableUse struct {
	order  []string
	reads  map[string][]any
	writes map[string][]any
}

func (u *tableUse) note(path string) {
	if u.reads == nil {
		u.reads, u.writes = map[string][]any{}, map[string][]any{}
	}
	if !slices.Contains(u.order, path) {
		u.order = append(u.order, path)
	}
}

func (u *tableUse) read(path string, how map[string]any) {
	u.note(path)
	u.reads[path] = append(u.reads[path], how)
}

func (u *tableUse) write(path string, how map[string]any) {
	u.note(path)
	u.writes[path] = append(u.writes[path], how)
}

func (u *tableUse) list() []any {
	slices.Sort(u.order)
	out := []any{}
	for _, path := range u.order {
		t := map[string]any{"name": path}
		if r := u.reads[path]; r != nil {
			t["reads"] = r
		}
		if w := u.writes[path]; w != nil {
			t["writes"] = w
		}
		out = append(out, t)
	}
	return out
}

func keyNames(t *store.Table) []string { return columnNames(t, t.Key) }

func columnNames(t *store.Table, columns []int) []string {
	out := make([]string, len(columns))
	for i, c := range columns {
		out[i] = t.Columns[c].Name
	}
	return out
}

func needed(t *store.Table, need []bool) []string {
	out := []string{}
	for i, c := range t.Columns {
		if need == nil || need[i] {
			out = append(out, c.Name)
		}
	}
	return out
}

// scan is the operator of a table scan, named as YDB names the ways to read.
func (x *explainer) scan(s *Scan, out *planNode) operator {
	p, name := s.Path, x.q.short(s.Table.Path)
	out.Tables = []string{name}
	op := operator{"Table": name, "ReadColumns": needed(s.Table, s.Need), "Scan": "Sequential"}
	use := map[string]any{"columns": op["ReadColumns"]}
	several := slices.ContainsFunc(p.Groups, func(g Group) bool { return !g.single })
	switch {
	case p.Points():
		op["Name"], use["type"] = "TablePointLookup", "Lookup"
		if several {
			use["type"] = "MultiLookup"
		}
		use["lookup_by"] = p.ranges()
	case p.Full():
		op["Name"], use["type"] = "TableFullScan", "FullScan"
	default:
		op["Name"], use["type"] = "TableRangeScan", "Scan"
		use["scan_by"] = p.ranges()
	}
	field := "ReadRange"
	if several {
		field = "ReadRanges"
	}
	op[field] = p.ranges()
	if s.limit != nil {
		op["ReadLimit"], use["limit"] = s.limit.Text, s.limit.Text
	}
	if s.Reverse {
		op["Reverse"], use["reverse"] = true, true
	}
	x.tables.read(s.Table.Path, use)
	return op
}

func (x *explainer) lookup(l *Lookup, out *planNode) operator {
	name := x.q.short(l.Table.Path)
	out.Tables, out.Plans = []string{name}, []*planNode{x.node(l.Left)}
	by := columnNames(l.Table, l.Table.Key[:len(l.Keys)])
	columns := needed(l.Table, l.Need)
	x.tables.read(l.Table.Path, map[string]any{"type": "MultiLookup", "lookup_by": by, "columns": columns})
	return operator{
		"Name": "TableLookupJoin", "Table": name, "JoinKind": joinLabels[l.Kind],
		"LookupKeyColumns": by, "ReadColumns": columns,
	}
}

// ranges shows the keys that a path covers, key column by key column.
func (p *Path) ranges() []string {
	texts := make([]string, 0, len(p.Table.Key))
	for _, g := range p.Groups {
		for range g.N {
			texts = append(texts, p.column(len(texts))+" ("+g.text+")")
		}
	}
	for len(texts) < len(p.Table.Key) {
		texts = append(texts, p.column(len(texts))+" "+p.interval(len(texts)))
	}
	return texts
}

func (p *Path) column(i int) string { return p.Table.Columns[p.Table.Key[i]].Name }

// interval shows the bounds of one key column.
func (p *Path) interval(i int) string {
	lo, hi := "(-∞", "+∞)"
	for _, b := range p.Bounds {
		at := i - b.Start
		if at < 0 || at >= len(b.Exprs) {
			continue
		}
		closed := b.Inclusive || at < len(b.Exprs)-1
		text := b.Exprs[at].Text
		switch {
		case b.Upper && closed:
			hi = text + "]"
		case b.Upper:
			hi = text + ")"
		case closed:
			lo = "[" + text
		default:
			lo = "(" + text
		}
	}
	return strings.Join([]string{lo, hi}, ", ")
}
