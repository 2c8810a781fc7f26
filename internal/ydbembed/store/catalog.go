package store

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// EntryKind tells what lies at a path.
type EntryKind uint8

// The kinds of entries.
const (
	Directory EntryKind = iota
	TableEntry
	CoordinationNode
	Database // the root
)

// Entry is what Scheme calls show of a path.
type Entry struct {
	Path      string
	Kind      EntryKind
	Owner     string
	CreatedAt time.Time
}

const (
	owner         = "root@builtin" // there is one user
	maxPathLength = 1024
	maxNameLength = 255
)

// node is a path's place in the catalog, with what its kind calls for.
type node struct {
	Entry
	table  *Table
	config []byte // of a coordination node
}

// Catalog is the scheme at one moment. It never changes; a scheme change puts
// another in its place.
type Catalog struct {
	version   uint64
	nextTable uint64 // tables are numbered once and for all
	nodes     map[string]*node
}

// Catalog returns the present scheme.
func (s *Store) Catalog() *Catalog { return s.catalog.Load() }

// Version rises with every change of the scheme.
func (c *Catalog) Version() uint64 { return c.version }

// Table returns the table at an absolute path.
func (c *Catalog) Table(path string) (*Table, bool) {
	n := c.nodes[path]
	if n == nil || n.table == nil {
		return nil, false
	}
	return n.table, true
}

// Tables returns all tables, by path.
func (c *Catalog) Tables() []*Table {
	var out []*Table
	for _, p := range slices.Sorted(maps.Keys(c.nodes)) {
		if t := c.nodes[p].table; t != nil {
			out = append(out, t)
		}
	}
	return out
}

// Entry returns what lies at an absolute path.
func (c *Catalog) Entry(path string) (Entry, bool) {
	n := c.nodes[path]
	if n == nil {
		return Entry{}, false
	}
	return n.Entry, true
}

// Children lists what lies in a directory, by name; false when the path is
// missing. What is no directory has no children.
func (c *Catalog) Children(dir string) ([]Entry, bool) {
	if c.nodes[dir] == nil {
		return nil, false
	}
	var out []Entry
	for p, n := range c.nodes {
		if p != dir && path.Dir(p) == dir {
			out = append(out, n.Entry)
		}
	}
	slices.SortFunc(out, func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })
	return out, true
}

// same tells whether the table is still as the caller knows it.
func (c *Catalog) same(t *Table) bool {
	now, ok := c.Table(t.Path)
	return ok && (now == t || now.ID == t.ID && now.Version == t.Version)
}

// changed returns a copy to be changed, one version up.
func (c *Catalog) changed() *Catalog {
	return &Catalog{version: c.version + 1, nextTable: c.nextTable, nodes: maps.Clone(c.nodes)}
}

func (e Entry) isDirectory() bool { return e.Kind == Directory || e.Kind == Database }

// checkPath accepts absolute paths of plain names.
func checkPath(p string) error {
	if len(p) > maxPathLength {
		return fmt.Errorf("%w: path of %d bytes, at most %d", ErrBadScheme, len(p), maxPathLength)
	}
	if len(p) < 2 || p[0] != '/' || path.Clean(p) != p || !utf8.ValidString(p) {
		return fmt.Errorf("%w: path %q is not absolute and clean", ErrBadScheme, p)
	}
	for name := range strings.SplitSeq(p[1:], "/") {
		if len(name) > maxNameLength {
			return fmt.Errorf("%w: name of %d bytes in path, at most %d", ErrBadScheme, len(name), maxNameLength)
		}
	}
	if strings.ContainsFunc(p, unicode.IsControl) {
		return fmt.Errorf("%w: path %q has control characters", ErrBadScheme, p)
	}
	return nil
}
