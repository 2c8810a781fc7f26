package wire

import (
	"context"
	"errors"
	"path"
	"strings"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/Ydb_Scheme_V1"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Scheme"

	"github.com/taskfleet/taskfleet/internal/ydbembed/issue"
	"github.com/taskfleet/taskfleet/internal/ydbembed/store"
)

// owner is the owner of everything.
const owner = "root@builtin"

// scheme serves directories and what lies in them.
type scheme struct {
	Ydb_Scheme_V1.UnimplementedSchemeServiceServer
	store    *store.Store
	database string
}

func (s *scheme) MakeDirectory(_ context.Context, req *Ydb_Scheme.MakeDirectoryRequest) (*Ydb_Scheme.MakeDirectoryResponse, error) {
	p, err := s.path(req.GetPath())
	if err != nil {
		return nil, err
	}
	if entry, ok := s.store.Catalog().Entry(p); ok && isDirectory(entry) {
		op, err := operation(nil) // YDB accepts a directory that exists
		return &Ydb_Scheme.MakeDirectoryResponse{Operation: op}, err
	}
	if err := s.store.MakeDirectory(p); err != nil {
		return nil, schemeError(p, err)
	}
	op, err := operation(nil)
	return &Ydb_Scheme.MakeDirectoryResponse{Operation: op}, err
}

func (s *scheme) RemoveDirectory(_ context.Context, req *Ydb_Scheme.RemoveDirectoryRequest) (*Ydb_Scheme.RemoveDirectoryResponse, error) {
	p, err := s.path(req.GetPath())
	if err != nil {
		return nil, err
	}
	if err := s.store.RemoveDirectory(p); err != nil {
		return nil, schemeError(p, err)
	}
	op, err := operation(nil)
	return &Ydb_Scheme.RemoveDirectoryResponse{Operation: op}, err
}

func (s *scheme) ListDirectory(_ context.Context, req *Ydb_Scheme.ListDirectoryRequest) (*Ydb_Scheme.ListDirectoryResponse, error) {
	p, err := s.path(req.GetPath())
	if err != nil {
		return nil, err
	}
	catalog := s.store.Catalog()
	self, ok := catalog.Entry(p)
	if !ok {
		return nil, schemeError(p, store.ErrNotFound)
	}
	result := &Ydb_Scheme.ListDirectoryResult{Self: entryProto(self)}
	children, _ := catalog.Children(p)
	for _, c := range children {
		result.Children = append(result.Children, entryProto(c))
	}
	op, err := operation(result)
	return &Ydb_Scheme.ListDirectoryResponse{Operation: op}, err
}

func (s *scheme) DescribePath(_ context.Context, req *Ydb_Scheme.DescribePathRequest) (*Ydb_Scheme.DescribePathResponse, error) {
	p, err := s.path(req.GetPath())
	if err != nil {
		return nil, err
	}
	self, ok := s.store.Catalog().Entry(p)
	if !ok {
		return nil, schemeError(p, store.ErrNotFound)
	}
	op, err := operation(&Ydb_Scheme.DescribePathResult{Self: entryProto(self)})
	return &Ydb_Scheme.DescribePathResponse{Operation: op}, err
}

func (s *scheme) path(p string) (string, error) { return absolutePath(s.database, p) }

// cleanPath removes what does not name anything from a path: doubled slashes
// and the one at the end.
func cleanPath(p string) string { return path.Clean("/" + p) }

// absolutePath checks that a path is the database or lies in it.
func absolutePath(database, p string) (string, error) {
	clean := cleanPath(p)
	if clean != database && !strings.HasPrefix(clean, database+"/") {
		return "", issue.New(Ydb.StatusIds_SCHEME_ERROR, issue.CodeSchemeError, "Path is not in database %s: %s", database, p)
	}
	return clean, nil
}

func isDirectory(e store.Entry) bool { return e.Kind == store.Directory || e.Kind == store.Database }

func entryProto(e store.Entry) *Ydb_Scheme.Entry {
	kind := map[store.EntryKind]Ydb_Scheme.Entry_Type{
		store.Directory: Ydb_Scheme.Entry_DIRECTORY, store.TableEntry: Ydb_Scheme.Entry_TABLE,
		store.CoordinationNode: Ydb_Scheme.Entry_COORDINATION_NODE, store.Database: Ydb_Scheme.Entry_DATABASE,
	}[e.Kind]
	out := &Ydb_Scheme.Entry{Name: path.Base(e.Path), Owner: owner, Type: kind, CreatedAt: timestampProto(e.CreatedAt)}
	if e.Kind == store.Database {
		out.Name = e.Path
	}
	return out
}

func timestampProto(t time.Time) *Ydb.VirtualTimestamp {
	if t.IsZero() {
		return nil
	}
	return &Ydb.VirtualTimestamp{PlanStep: uint64(t.UnixMilli())}
}

// schemeError maps an error of the catalog to the status that YDB uses.
func schemeError(p string, err error) error {
	status, text := Ydb.StatusIds_SCHEME_ERROR, ""
	switch {
	case errors.Is(err, store.ErrNotFound):
		text = "Path does not exist: " + p
	case errors.Is(err, store.ErrPathExists):
		text = "Path exists and is no directory: " + p
	case errors.Is(err, store.ErrNotDirectory):
		text = "Path is not a directory: " + p
	case errors.Is(err, store.ErrNotTable):
		text = "Path is not a table: " + p
	case errors.Is(err, store.ErrNotEmpty):
		status, text = Ydb.StatusIds_PRECONDITION_FAILED, "Directory is not empty: "+p
	case errors.Is(err, store.ErrBadScheme):
		status, text = Ydb.StatusIds_BAD_REQUEST, err.Error()
	default:
		return err
	}
	return issue.New(status, issue.CodeSchemeError, "%s", text)
}
