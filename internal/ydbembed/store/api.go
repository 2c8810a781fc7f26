package store

import (
	"context"
	"log/slog"
	"time"

	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
)

type Options struct {
	Dir         string
	TTLInterval time.Duration
	Clock       func() time.Time
	Logger      *slog.Logger
}
type Store struct{}

func Open(Options) (*Store, error)                                   { return nil, ErrClosed }
func (s *Store) Close() error                                        { return nil }
func (s *Store) Catalog() *Catalog                                   { return nil }
func (s *Store) RunTTL(ctx context.Context) (deleted int, err error) { return 0, ErrClosed }

type Catalog struct{}
type EntryKind uint8

const (
	Directory EntryKind = iota
	TableEntry
	CoordinationNode
	Database
)

type Entry struct {
	Path      string
	Kind      EntryKind
	Owner     string
	CreatedAt time.Time
}

func (c *Catalog) Version() uint64                      { return 0 }
func (c *Catalog) Table(path string) (*Table, bool)     { return nil, false }
func (c *Catalog) Entry(path string) (Entry, bool)      { return Entry{}, false }
func (c *Catalog) Children(path string) ([]Entry, bool) { return nil, false }

func (s *Store) CreateTable(def Table) error                                { return ErrClosed }
func (s *Store) AlterTable(path string, f func(Table) (Table, error)) error { return ErrClosed }
func (s *Store) DropTable(path string) error                                { return ErrClosed }
func (s *Store) MakeDirectory(path string) error                            { return ErrClosed }
func (s *Store) RemoveDirectory(path string) error                          { return ErrClosed }

// PutNode creates or changes a coordination node.
func (s *Store) PutNode(path string, config []byte) error                 { return ErrClosed }
func (s *Store) Node(path string) ([]byte, bool, error)                   { return nil, false, ErrClosed }
func (s *Store) DropNode(path string) error                               { return ErrClosed }
func (s *Store) MetaGet(key string) ([]byte, bool, error)                 { return nil, false, ErrClosed }
func (s *Store) MetaPut(key string, v []byte) error                       { return ErrClosed }
func (s *Store) MetaBatch(puts map[string][]byte, deletes []string) error { return ErrClosed }
func (s *Store) MetaScan(prefix string, f func(k string, v []byte) error) error {
	return ErrClosed
}

type Mode uint8

const (
	Serializable Mode = iota
	SnapshotReadOnly
	SnapshotReadWrite
)

type Tx struct{}
type Row = []types.Value
type Bound struct {
	Prefix    []types.Value
	Inclusive bool
}
type Range struct{ From, To *Bound }
type Access struct{ ReadRows, ReadBytes, UpdateRows, UpdateBytes, DeleteRows uint64 }
type Iterator struct{}

func (s *Store) Begin(Mode) *Tx { return nil }
func (tx *Tx) Get(t *Table, key []types.Value, need []bool, st *Access) (Row, bool, error) {
	return nil, false, ErrClosed
}
func (tx *Tx) Scan(t *Table, r Range, reverse bool, need []bool, st *Access) *Iterator { return nil }
func (it *Iterator) Next() (Row, bool, error)                                          { return nil, false, ErrClosed }
func (it *Iterator) Close()                                                            {}
func (tx *Tx) Put(t *Table, row Row, st *Access)                                       {}
func (tx *Tx) Merge(t *Table, row Row, set []bool, st *Access)                         {}
func (tx *Tx) Delete(t *Table, key []types.Value, st *Access)                          {}
func (tx *Tx) Commit(ctx context.Context) error                                        { return ErrClosed }
func (tx *Tx) Rollback()                                                               {}
