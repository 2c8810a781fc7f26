package store

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
)

func TestTablesAndDirectories(t *testing.T) {
	s := open(t)
	version := s.Catalog().Version()
	before := s.Catalog()
	makeTable(t, s)
	require.Greater(t, s.Catalog().Version(), version)
	_, ok := before.Table(tablePath)
	require.False(t, ok, "a catalog never changes")

	root, ok := s.Catalog().Entry("/local")
	require.True(t, ok)
	require.Equal(t, Database, root.Kind)
	dir, ok := s.Catalog().Entry("/local/fleet")
	require.True(t, ok, "parents are made as needed")
	require.Equal(t, Directory, dir.Kind)

	require.NoError(t, s.MakeDirectory("/local/a/b"))
	require.NoError(t, s.MakeDirectory("/local/a"))
	require.NoError(t, s.PutNode("/local/a/node", []byte("one")))
	require.NoError(t, s.PutNode("/local/a/node", []byte("two")))
	config, ok, err := s.Node("/local/a/node")
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, "two", string(config))

	children, ok := s.Catalog().Children("/local/a")
	require.True(t, ok)
	require.Len(t, children, 2)
	require.Equal(t, "/local/a/b", children[0].Path)
	require.Equal(t, CoordinationNode, children[1].Kind)
	_, ok = s.Catalog().Children("/local/none")
	require.False(t, ok)

	require.ErrorIs(t, s.CreateTable(testTable(tablePath)), ErrPathExists)
	require.ErrorIs(t, s.CreateTable(testTable("/elsewhere/t")), ErrBadScheme)
	require.ErrorIs(t, s.CreateTable(testTable("/local/../t")), ErrBadScheme)
	require.ErrorIs(t, s.CreateTable(testTable(tablePath+"/under")), ErrNotDirectory)
	require.ErrorIs(t, s.MakeDirectory(tablePath), ErrPathExists)
	require.ErrorIs(t, s.PutNode(tablePath, nil), ErrPathExists)
	require.ErrorIs(t, s.RemoveDirectory("/local/a"), ErrNotEmpty)
	require.ErrorIs(t, s.RemoveDirectory("/local/none"), ErrNotFound)
	require.ErrorIs(t, s.RemoveDirectory(tablePath), ErrNotDirectory)
	require.ErrorIs(t, s.RemoveDirectory("/local"), ErrNotDirectory, "the database stays")
	require.ErrorIs(t, s.DropTable("/local/a"), ErrNotTable)
	require.ErrorIs(t, s.DropTable("/local/none"), ErrNotFound)
	require.ErrorIs(t, s.DropNode("/local/a/b"), ErrNotNode)
	require.ErrorIs(t, s.DropNode("/local/none"), ErrNotFound)
	_, _, err = s.Node(tablePath)
	require.ErrorIs(t, err, ErrNotNode)

	require.NoError(t, s.DropNode("/local/a/node"))
	require.NoError(t, s.RemoveDirectory("/local/a/b"))
	require.NoError(t, s.RemoveDirectory("/local/a"))
}

func TestBadTablesAreRefused(t *testing.T) {
	s := open(t)
	for name, spoil := range map[string]func(*Table){
		"no columns":       func(d *Table) { d.Columns, d.Key = nil, nil },
		"no key":           func(d *Table) { d.Key = nil },
		"key out of range": func(d *Table) { d.Key = []int{5} },
		"key twice":        func(d *Table) { d.Key = []int{0, 0} },
		"name twice":       func(d *Table) { d.Columns[1].Name = "p" },
		"container column": func(d *Table) { d.Columns[2].Type = types.ListOf(types.Primitive(types.Int8)) },
		"no type":          func(d *Table) { d.Columns[2].Type = nil },
		"key of Json":      func(d *Table) { d.Columns[1].Type = types.Primitive(types.JSON) },
		"wrong default":    func(d *Table) { v := text("x"); d.Columns[3].Default = &v },
		"TTL on nothing":   func(d *Table) { d.TTL = &TTL{Column: "none"} },
		"TTL on text":      func(d *Table) { d.TTL = &TTL{Column: "v"} },
		"TTL without unit": func(d *Table) {
			d.Columns[3] = Column{Name: "n", Type: types.Primitive(types.Uint64)}
			d.TTL = &TTL{Column: "n"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			def := testTable(tablePath)
			spoil(&def)
			require.ErrorIs(t, s.CreateTable(def), ErrBadScheme)
		})
	}
	_, ok := s.Catalog().Entry("/local/fleet")
	require.False(t, ok, "what fails has no effect")
}

func TestColumnsAreAddedAndDropped(t *testing.T) {
	s := open(t)
	tbl := makeTable(t, s)
	put(t, s, tbl, row(1, 1, "old"))

	eight := types.IntValue(types.Int32, 8)
	add := func(name string, def *types.Value) {
		require.NoError(t, s.AlterTable(tablePath, func(d Table) (Table, error) {
			d.Columns = append(d.Columns, Column{Name: name, Type: types.Primitive(types.Int32), NotNull: def != nil, Default: def})
			return d, nil
		}))
		tbl = table(t, s, tablePath)
	}
	read := func(k int, column string) types.Value {
		tx := s.Begin(SnapshotReadOnly)
		defer tx.Rollback()
		r, ok := get(t, tx, tbl, key(1, k))
		require.True(t, ok)
		return r[tbl.Column(column)]
	}
	add("extra", &eight)
	add("plain", nil)
	require.Equal(t, eight, read(1, "extra"), "rows from before show the default")
	require.True(t, read(1, "plain").IsNull())

	require.NoError(t, s.AlterTable(tablePath, func(d Table) (Table, error) {
		d.Columns[d.Column("extra")].NotNull = false
		nine := types.IntValue(types.Int32, 9)
		d.Columns[d.Column("extra")].Default = &nine
		return d, nil
	}))
	tbl = table(t, s, tablePath)
	require.Equal(t, eight, read(1, "extra"), "a later default is not that of old rows")
	put(t, s, tbl, append(row(1, 2, "new"), types.NullValue, types.NullValue))
	require.True(t, read(2, "extra").IsNull(), "a NULL that was written is no default")

	drop := func(name string) error {
		return s.AlterTable(tablePath, func(d Table) (Table, error) {
			at := d.Column(name)
			d.Columns = append(d.Columns[:at], d.Columns[at+1:]...)
			return d, nil
		})
	}
	require.NoError(t, drop("n"))
	tbl = table(t, s, tablePath)
	require.Equal(t, "old", read(1, "v").Text())
	require.Equal(t, eight, read(1, "extra"))
	require.ErrorIs(t, drop("p"), ErrBadScheme)
	add("n", nil)
	require.True(t, read(1, "n").IsNull(), "a column of the same name is another column")
}

func TestAlterTableRefuses(t *testing.T) {
	s := open(t)
	makeTable(t, s)
	boom := errors.New("boom")
	require.ErrorIs(t, s.AlterTable(tablePath, func(d Table) (Table, error) { return d, boom }), boom)
	require.ErrorIs(t, s.AlterTable("/local/none", nil), ErrNotFound)
	require.ErrorIs(t, s.AlterTable("/local/fleet", nil), ErrNotTable)
	for name, spoil := range map[string]func(*Table){
		"other type":     func(d *Table) { d.Columns[2].Type = types.Primitive(types.String) },
		"NOT NULL":       func(d *Table) { d.Columns[2].NotNull = true },
		"other key":      func(d *Table) { d.Key = []int{1, 0} },
		"unknown column": func(d *Table) { d.Columns[2].ID = 99 },
		"order":          func(d *Table) { d.Columns[2], d.Columns[3] = d.Columns[3], d.Columns[2] },
		"NOT NULL, no default": func(d *Table) {
			d.Columns = append(d.Columns, Column{Name: "x", Type: types.Primitive(types.Int8), NotNull: true})
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := s.AlterTable(tablePath, func(d Table) (Table, error) { spoil(&d); return d, nil })
			require.ErrorIs(t, err, ErrBadScheme)
		})
	}
	require.EqualValues(t, 1, table(t, s, tablePath).Version)
}

func TestDroppedTableIsEmptyWhenMadeAgain(t *testing.T) {
	s := open(t)
	old := makeTable(t, s)
	put(t, s, old, row(1, 1, "a"))
	reader := s.Begin(SnapshotReadOnly)
	get(t, reader, old, key(1, 1))
	require.NoError(t, s.DropTable(tablePath))
	rows, err := collect(s.db, tablePrefix(old))
	require.NoError(t, err)
	require.Empty(t, rows, "the rows are really gone")
	_, ok := get(t, reader, old, key(1, 1))
	require.True(t, ok, "but not from a snapshot taken before")

	again := makeTable(t, s)
	require.NotEqual(t, old.ID, again.ID)
	require.Empty(t, drain(t, s.Begin(Serializable).Scan(again, Range{}, false, nil, nil), 9))
	_, _, err = s.Begin(Serializable).Get(old, key(1, 1), nil, nil)
	require.ErrorIs(t, err, ErrSchemeChanged)
}

func TestReopenKeepsEverything(t *testing.T) {
	dir := t.TempDir()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	reopen := func() *Store {
		s, err := Open(Options{Dir: dir, TTLInterval: -1, Clock: func() time.Time { return now }})
		require.NoError(t, err)
		return s
	}
	s := reopen()
	def := testTable(tablePath)
	def.TTL = &TTL{Column: "at", After: time.Hour}
	def.Settings = []Setting{{"AUTO_PARTITIONING_BY_LOAD", "ENABLED"}}
	require.NoError(t, s.CreateTable(def))
	require.NoError(t, s.PutNode("/local/fleet/node", []byte{0, 1}))
	tbl := table(t, s, tablePath)
	put(t, s, tbl, row(1, 1, "kept"))
	require.NoError(t, s.MetaBatch(map[string][]byte{"a/1": {1}, "a/2": {}, "b": {3}}, nil))
	require.NoError(t, s.MetaBatch(nil, []string{"b"}))
	version := s.Catalog().Version()
	require.NoError(t, s.Close())

	now = now.Add(time.Hour)
	s = reopen()
	defer s.Close()
	require.Equal(t, version, s.Catalog().Version())
	require.Equal(t, tbl, table(t, s, tablePath))
	require.Equal(t, now.Add(-time.Hour), tbl.CreatedAt)
	r, ok := get(t, s.Begin(SnapshotReadOnly), tbl, key(1, 1))
	require.True(t, ok)
	require.Equal(t, "kept", r[2].Text())
	config, ok, err := s.Node("/local/fleet/node")
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, []byte{0, 1}, config)
	var names []string
	require.NoError(t, s.MetaScan("a/", func(k string, v []byte) error {
		names = append(names, k)
		return nil
	}))
	require.Equal(t, []string{"a/1", "a/2"}, names)
	v, ok, err := s.MetaGet("a/2")
	require.NoError(t, err)
	require.True(t, ok)
	require.Empty(t, v)
	_, ok, err = s.MetaGet("b")
	require.NoError(t, err)
	require.False(t, ok)

	require.NoError(t, s.DropTable(tablePath))
	require.Greater(t, makeTable(t, s).ID, tbl.ID, "numbers are not used again over a restart")
}

func TestPathsAreBounded(t *testing.T) {
	s := open(t)
	name := strings.Repeat("n", maxNameLength)
	require.NoError(t, s.MakeDirectory("/local/"+name))
	require.ErrorIs(t, s.MakeDirectory("/local/"+name+"n"), ErrBadScheme)
	long := "/local" + strings.Repeat("/"+name[:205], 5)[:maxPathLength-len("/local")]
	require.Len(t, long, maxPathLength)
	require.NoError(t, s.MakeDirectory(long))
	require.ErrorIs(t, s.MakeDirectory(long+"n"), ErrBadScheme)
}
