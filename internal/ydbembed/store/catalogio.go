package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
)

// formatVersion is raised when older programs cannot read the data folder.
//
// 1: the first release. 2: with a ledger, which an older program would not keep.
const formatVersion = 2

// The catalog on disk: a header, and one record by path.
type (
	headerRecord struct {
		Format    int    `json:"format"`
		Version   uint64 `json:"version"`
		NextTable uint64 `json:"next_table"`
	}
	nodeRecord struct {
		Kind      EntryKind    `json:"kind"`
		Owner     string       `json:"owner"`
		CreatedAt time.Time    `json:"created_at"`
		Config    []byte       `json:"config,omitempty"`
		Table     *tableRecord `json:"table,omitempty"`
	}
	tableRecord struct {
		ID           uint64         `json:"id"`
		Version      uint64         `json:"version"`
		Columns      []columnRecord `json:"columns"`
		Key          []int          `json:"key"`
		TTL          *TTL           `json:"ttl,omitempty"`
		Settings     []Setting      `json:"settings,omitempty"`
		NextColumnID uint32         `json:"next_column_id"`
	}
	columnRecord struct {
		ID      uint32 `json:"id"`
		Name    string `json:"name"`
		Type    string `json:"type"`
		NotNull bool   `json:"not_null,omitempty"`
		Default []byte `json:"default,omitempty"`
		Initial []byte `json:"initial,omitempty"`
		Family  string `json:"family,omitempty"`
	}
)

func schemeKey(path string) []byte { return append([]byte{schemeSpace}, path...) }

// loadCatalog reads the catalog, or makes the first one.
func (s *Store) loadCatalog() error {
	header, found, err := s.loadHeader()
	if err != nil {
		return err
	}
	c := &Catalog{version: header.Version, nextTable: header.NextTable, nodes: map[string]*node{}}
	records, err := collect(s.db, append(schemeKey(""), '/'))
	if err != nil {
		return err
	}
	for _, r := range records {
		path := r.key[1:]
		if c.nodes[path], err = readNode(path, r.value); err != nil {
			return err
		}
	}
	s.catalog.Store(c)
	root := c.nodes[s.database]
	if found && root != nil && header.Format == formatVersion {
		return nil
	}
	return s.changeScheme(func(c *Catalog, edit *schemeEdit) error {
		if root != nil {
			return nil
		}
		return edit.put(&node{Entry: s.entry(s.database, Database)})
	})
}

func (s *Store) loadHeader() (h headerRecord, found bool, err error) {
	value, closer, err := s.db.Get(schemeKey(""))
	if errors.Is(err, pebble.ErrNotFound) {
		return headerRecord{NextTable: 1}, false, nil
	}
	if err != nil {
		return h, false, fmt.Errorf("store: reading catalog: %w", explain(err))
	}
	defer closer.Close()
	if err := json.Unmarshal(value, &h); err != nil {
		return h, false, fmt.Errorf("%w: catalog header: %w", ErrCorrupt, err)
	}
	if h.Format < 1 || h.Format > formatVersion {
		return h, false, fmt.Errorf("store: data folder has format %d, this program reads %d", h.Format, formatVersion)
	}
	return h, true, nil
}

func encodeHeader(c *Catalog) ([]byte, error) {
	return json.Marshal(headerRecord{Format: formatVersion, Version: c.version, NextTable: c.nextTable})
}

func encodeNode(n *node) ([]byte, error) {
	r := nodeRecord{Kind: n.Kind, Owner: n.Owner, CreatedAt: n.CreatedAt, Config: n.config}
	if t := n.table; t != nil {
		r.Table = &tableRecord{
			ID: t.ID, Version: t.Version, Key: t.Key, TTL: t.TTL, Settings: t.Settings, NextColumnID: t.NextColumnID,
		}
		for _, c := range t.Columns {
			r.Table.Columns = append(r.Table.Columns, columnRecord{
				ID: c.ID, Name: c.Name, Type: c.Type.Kind.String(), NotNull: c.NotNull,
				Default: encodeConstant(c.Default), Initial: encodeConstant(c.Initial), Family: c.Family,
			})
		}
	}
	return json.Marshal(r)
}

func readNode(path string, b []byte) (*node, error) {
	var r nodeRecord
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, fmt.Errorf("%w: catalog entry %s: %w", ErrCorrupt, path, err)
	}
	n := &node{Entry: Entry{Path: path, Kind: r.Kind, Owner: r.Owner, CreatedAt: r.CreatedAt}, config: r.Config}
	if r.Kind != TableEntry {
		return n, nil
	}
	if r.Table == nil {
		return nil, fmt.Errorf("%w: catalog entry %s: table without columns", ErrCorrupt, path)
	}
	t, err := readTable(path, r.Table)
	if err != nil {
		return nil, fmt.Errorf("%w: catalog entry %s: %w", ErrCorrupt, path, err)
	}
	t.CreatedAt = r.CreatedAt
	n.table = t
	return n, nil
}

func readTable(path string, r *tableRecord) (*Table, error) {
	t := &Table{
		ID: r.ID, Version: r.Version, Path: path, Key: r.Key, TTL: r.TTL, Settings: r.Settings, NextColumnID: r.NextColumnID,
	}
	for _, c := range r.Columns {
		kind, ok := types.PrimitiveByName(c.Type)
		if !ok {
			return nil, fmt.Errorf("column %s of type %q", c.Name, c.Type)
		}
		col := Column{ID: c.ID, Name: c.Name, Type: types.Primitive(kind), NotNull: c.NotNull, Family: c.Family}
		var err error
		if col.Default, err = readConstant(col.Type, c.Default); err != nil {
			return nil, err
		}
		if col.Initial, err = readConstant(col.Type, c.Initial); err != nil {
			return nil, err
		}
		t.Columns = append(t.Columns, col)
	}
	return t, checkTable(t)
}

func encodeConstant(v *types.Value) []byte {
	if v == nil {
		return nil
	}
	return types.AppendStored(nil, *v)
}

func readConstant(t *types.Type, b []byte) (*types.Value, error) {
	if len(b) == 0 {
		return nil, nil
	}
	v, rest, err := types.DecodeStored(t, b)
	if err == nil && len(rest) > 0 {
		err = errors.New("bytes after a value")
	}
	return &v, err
}
