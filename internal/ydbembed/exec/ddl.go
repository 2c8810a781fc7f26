package exec

import (
	"context"
	"errors"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"

	"github.com/taskfleet/taskfleet/internal/ydbembed/issue"
	"github.com/taskfleet/taskfleet/internal/ydbembed/plan"
	"github.com/taskfleet/taskfleet/internal/ydbembed/store"
)

// RunDDL changes the scheme, statement by statement; what ran before an error stays.
func RunDDL(ctx context.Context, q *plan.Query, s *store.Store) error {
	for _, d := range q.DDL {
		if ctx.Err() != nil {
			return issue.Cancelled()
		}
		if err := runDDL(d, s); err != nil {
			return err
		}
	}
	return nil
}

func runDDL(d plan.DDL, s *store.Store) error {
	var err error
	switch {
	case d.Create != nil:
		err = s.CreateTable(*d.Create)
		if d.IfNotExists && errors.Is(err, store.ErrPathExists) {
			if _, isTable := s.Catalog().Table(d.Path); isTable {
				return nil
			}
		}
	case d.Alter != nil:
		err = s.AlterTable(d.Path, d.Alter)
	case d.Drop:
		err = s.DropTable(d.Path)
		if d.IfExists && errors.Is(err, store.ErrNotFound) {
			return nil
		}
	}
	return schemeError(d.Path, err)
}

// schemeError gives the store's errors the statuses of YDB.
func schemeError(path string, err error) error {
	var known *issue.Error
	switch {
	case err == nil || errors.As(err, &known):
		return err
	case errors.Is(err, store.ErrPathExists):
		return issue.New(Ydb.StatusIds_GENERIC_ERROR, 0,
			"Check failed: path: '%s', error: path exist, request accepts it", path).Under(issue.CodeExecution)
	case errors.Is(err, store.ErrNotFound):
		return issue.TableNotFound(path)
	case errors.Is(err, store.ErrNotTable), errors.Is(err, store.ErrNotDirectory), errors.Is(err, store.ErrBadScheme):
		return issue.New(Ydb.StatusIds_SCHEME_ERROR, issue.CodeSchemeError, "%s", err)
	}
	return err
}
