package store

import (
	"errors"
	"fmt"
	"slices"

	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
)

// cloneTable copies what a caller could change under the store's feet.
func cloneTable(t *Table) *Table {
	c := *t
	c.Columns = slices.Clone(t.Columns)
	c.Key = slices.Clone(t.Key)
	c.Settings = slices.Clone(t.Settings)
	if t.TTL != nil {
		ttl := *t.TTL
		c.TTL = &ttl
	}
	return &c
}

// checkTable tells everything that is wrong with a table, as ErrBadScheme.
func checkTable(t *Table) error {
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("%w: table %s: "+format, append([]any{ErrBadScheme, t.Path}, args...)...))
	}
	names := map[string]struct{}{}
	for i, c := range t.Columns {
		if _, dup := names[c.Name]; dup || c.Name == "" || len(c.Name) > maxNameLength {
			bad("column name %q is empty, too long or taken", c.Name)
		}
		names[c.Name] = struct{}{}
		if c.Type == nil || !types.NullValue.Fits(c.Type.Kind) || c.Type.Kind < types.Bool || c.Type.Kind > types.UUID {
			bad("column %s: no type that a column can have", c.Name)
			continue
		}
		if c.ID == 0 || c.ID >= t.NextColumnID || i > 0 && c.ID <= t.Columns[i-1].ID {
			bad("column %s: number %d out of order", c.Name, c.ID)
		}
		if c.Default != nil && (!c.Default.Fits(c.Type.Kind) || c.NotNull && c.Default.IsNull()) {
			bad("column %s: default %s does not fit %s", c.Name, *c.Default, c.Type)
		}
	}
	if len(t.Key) == 0 {
		bad("no primary key")
	}
	for n, i := range t.Key {
		switch {
		case i < 0 || i >= len(t.Columns):
			bad("key column %d of %d columns", i, len(t.Columns))
		case slices.Contains(t.Key[:n], i):
			bad("key column %s given twice", t.Columns[i].Name)
		case t.Columns[i].Type != nil && !keyKind(t.Columns[i].Type.Kind):
			bad("column %s: %s cannot be part of a key", t.Columns[i].Name, t.Columns[i].Type)
		}
	}
	if t.TTL != nil {
		if _, err := expiry(t); err != nil {
			bad("%w", err)
		}
	}
	return errors.Join(errs...)
}

func keyKind(k types.Kind) bool {
	switch k {
	case types.Float, types.Double, types.JSON, types.JSONDocument, types.Yson:
		return false
	}
	return true
}

// altered checks what an ALTER made of a table and gives numbers to what is new.
func altered(now *Table, def Table) (*Table, error) {
	t := cloneTable(&def)
	t.ID, t.Path, t.CreatedAt = now.ID, now.Path, now.CreatedAt
	t.Version, t.NextColumnID = now.Version+1, now.NextColumnID
	bad := func(format string, args ...any) (*Table, error) {
		return nil, fmt.Errorf("%w: table %s: "+format, append([]any{ErrBadScheme, t.Path}, args...)...)
	}
	for i := range t.Columns {
		c := &t.Columns[i]
		if c.ID == 0 {
			if c.NotNull && c.Default == nil {
				return bad("column %s: NOT NULL without DEFAULT cannot be added", c.Name)
			}
			c.ID, c.Initial = t.NextColumnID, c.Default
			t.NextColumnID++
			continue
		}
		at := slices.IndexFunc(now.Columns, func(o Column) bool { return o.ID == c.ID })
		switch {
		case at < 0:
			return bad("column %s: number %d is not the table's", c.Name, c.ID)
		case c.Type == nil || !c.Type.Equal(now.Columns[at].Type):
			return bad("column %s: the type cannot change", c.Name)
		case c.NotNull && !now.Columns[at].NotNull:
			return bad("column %s: NOT NULL cannot be set", c.Name)
		}
		c.Initial = now.Columns[at].Initial
	}
	if err := checkTable(t); err != nil {
		return nil, err
	}
	sameKey := slices.EqualFunc(t.Key, now.Key, func(a, b int) bool { return t.Columns[a].ID == now.Columns[b].ID })
	if !sameKey {
		return bad("the primary key cannot change")
	}
	return t, nil
}
