package store

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// schemeEdit gathers one change of the scheme: the new catalog and the batch
// that makes it durable.
type schemeEdit struct {
	catalog *Catalog
	batch   *pebble.Batch
}

func (e *schemeEdit) put(n *node) error {
	b, err := encodeNode(n)
	if err != nil {
		return fmt.Errorf("store: encoding %s: %w", n.Path, err)
	}
	e.catalog.nodes[n.Path] = n
	return e.batch.Set(schemeKey(n.Path), b, nil)
}

func (e *schemeEdit) remove(path string) error {
	delete(e.catalog.nodes, path)
	return e.batch.Delete(schemeKey(path), nil)
}

// changeScheme lets edit describe one change against the present catalog, and
// makes it visible and durable, or has no effect at all.
func (s *Store) changeScheme(edit func(now *Catalog, e *schemeEdit) error) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.exit()
	batch := s.db.NewBatch()
	return s.change(batch, func() (*step, error) { return s.decideScheme(batch, edit) })
}

func (s *Store) decideScheme(batch *pebble.Batch, edit func(now *Catalog, e *schemeEdit) error) (*step, error) {
	now := s.catalog.Load()
	e := &schemeEdit{catalog: now.changed(), batch: batch}
	if err := edit(now, e); err != nil {
		return nil, err
	}
	header, err := encodeHeader(e.catalog)
	if err != nil {
		return nil, fmt.Errorf("store: encoding catalog: %w", err)
	}
	if err := batch.Set(schemeKey(""), header, nil); err != nil {
		return nil, err
	}
	return &step{catalog: e.catalog}, nil
}

func (s *Store) entry(path string, kind EntryKind) Entry {
	return Entry{Path: path, Kind: kind, Owner: owner, CreatedAt: s.clock().UTC().Truncate(time.Microsecond)}
}

// parents makes the directories above a path that are missing.
func (s *Store) parents(e *schemeEdit, p string) error {
	if err := checkPath(p); err != nil {
		return err
	}
	if !strings.HasPrefix(p, s.database+"/") {
		return fmt.Errorf("%w: path %s is not in database %s", ErrBadScheme, p, s.database)
	}
	var missing []string
	dir := path.Dir(p)
	for ; e.catalog.nodes[dir] == nil; dir = path.Dir(dir) {
		missing = append(missing, dir)
	}
	if !e.catalog.nodes[dir].isDirectory() {
		return fmt.Errorf("%w: %s", ErrNotDirectory, dir)
	}
	for _, dir := range slices.Backward(missing) {
		if err := e.put(&node{Entry: s.entry(dir, Directory)}); err != nil {
			return err
		}
	}
	return nil
}

// CreateTable makes a table and its missing parent directories. Numbers,
// version and time are given by the store. ErrPathExists if the path is taken.
func (s *Store) CreateTable(def Table) error {
	return s.changeScheme(func(now *Catalog, e *schemeEdit) error {
		if now.nodes[def.Path] != nil {
			return fmt.Errorf("%w: %s", ErrPathExists, def.Path)
		}
		if err := s.parents(e, def.Path); err != nil {
			return err
		}
		t := cloneTable(&def)
		t.ID, t.Version, t.NextColumnID = e.catalog.nextTable, 1, 1
		e.catalog.nextTable++
		for i := range t.Columns {
			t.Columns[i].ID = t.NextColumnID
			t.Columns[i].Initial = nil
			t.NextColumnID++
		}
		if err := checkTable(t); err != nil {
			return err
		}
		return s.putTable(e, t)
	})
}

func (s *Store) putTable(e *schemeEdit, t *Table) error {
	n := &node{Entry: s.entry(t.Path, TableEntry), table: t}
	if old := e.catalog.nodes[t.Path]; old != nil {
		n.Entry = old.Entry
	}
	t.CreatedAt = n.CreatedAt
	return e.put(n)
}

// AlterTable replaces a table by what change makes of a copy of it: columns
// may be dropped, or added at the end with ID 0; the key and the types of the
// columns stay. An error of change is returned as it is. change may be called
// again when the scheme moves on meanwhile.
func (s *Store) AlterTable(path string, change func(Table) (Table, error)) error {
	for {
		now, err := s.tableToChange(path)
		if err != nil {
			return err
		}
		def, err := change(*cloneTable(now))
		if err != nil {
			return err
		}
		next, err := altered(now, def)
		if err != nil {
			return err
		}
		raced := false
		err = s.changeScheme(func(c *Catalog, e *schemeEdit) error {
			if raced = !c.same(now); raced {
				return ErrSchemeChanged
			}
			return s.putTable(e, next)
		})
		if !raced {
			return err
		}
	}
}

func (s *Store) tableToChange(path string) (*Table, error) {
	c := s.catalog.Load()
	if c.nodes[path] == nil {
		return nil, fmt.Errorf("%w: %s", ErrNotFound, path)
	}
	t, ok := c.Table(path)
	if !ok {
		return nil, fmt.Errorf("%w: %s", ErrNotTable, path)
	}
	return t, nil
}

// DropTable removes a table and all its rows.
func (s *Store) DropTable(path string) error {
	return s.changeScheme(func(_ *Catalog, e *schemeEdit) error {
		t, err := s.tableToChange(path)
		if err != nil {
			return err
		}
		sp := tableSpan(t)
		if err := e.batch.DeleteRange([]byte(sp.lower), []byte(sp.upper), nil); err != nil {
			return err
		}
		return e.remove(path)
	})
}

// MakeDirectory makes a directory and its missing parents; one that is there
// already is no error, as in YDB.
func (s *Store) MakeDirectory(path string) error {
	if n := s.catalog.Load().nodes[path]; n != nil && n.isDirectory() {
		return nil
	}
	return s.changeScheme(func(now *Catalog, e *schemeEdit) error {
		if n := now.nodes[path]; n != nil {
			if n.isDirectory() {
				return nil
			}
			return fmt.Errorf("%w: %s", ErrPathExists, path)
		}
		if err := s.parents(e, path); err != nil {
			return err
		}
		return e.put(&node{Entry: s.entry(path, Directory)})
	})
}

// RemoveDirectory removes an empty directory.
func (s *Store) RemoveDirectory(path string) error {
	return s.changeScheme(func(now *Catalog, e *schemeEdit) error {
		n := now.nodes[path]
		switch {
		case n == nil:
			return fmt.Errorf("%w: %s", ErrNotFound, path)
		case n.Kind != Directory:
			return fmt.Errorf("%w: %s", ErrNotDirectory, path)
		}
		if children, _ := now.Children(path); len(children) > 0 {
			return fmt.Errorf("%w: %s", ErrNotEmpty, path)
		}
		return e.remove(path)
	})
}

// PutNode makes a coordination node, with its missing parent directories, or
// replaces the configuration of one that is there.
func (s *Store) PutNode(path string, config []byte) error {
	return s.changeScheme(func(now *Catalog, e *schemeEdit) error {
		n := &node{Entry: s.entry(path, CoordinationNode), config: slices.Clone(config)}
		if old := now.nodes[path]; old != nil {
			if old.Kind != CoordinationNode {
				return fmt.Errorf("%w: %s", ErrPathExists, path)
			}
			n.Entry = old.Entry
		} else if err := s.parents(e, path); err != nil {
			return err
		}
		return e.put(n)
	})
}

// Node returns the configuration of the coordination node at a path; false
// when nothing is there, ErrNotNode when something else is.
func (s *Store) Node(path string) ([]byte, bool, error) {
	n := s.catalog.Load().nodes[path]
	switch {
	case n == nil:
		return nil, false, nil
	case n.Kind != CoordinationNode:
		return nil, false, fmt.Errorf("%w: %s", ErrNotNode, path)
	}
	return slices.Clone(n.config), true, nil
}

// DropNode removes a coordination node's entry.
func (s *Store) DropNode(path string) error {
	return s.changeScheme(func(now *Catalog, e *schemeEdit) error {
		n := now.nodes[path]
		switch {
		case n == nil:
			return fmt.Errorf("%w: %s", ErrNotFound, path)
		case n.Kind != CoordinationNode:
			return fmt.Errorf("%w: %s", ErrNotNode, path)
		}
		return e.remove(path)
	})
}
