package ydbconn

import (
	"context"
	"fmt"

	ydb "github.com/ydb-platform/ydb-go-sdk/v3"
	"github.com/ydb-platform/ydb-go-sdk/v3/query"
	"github.com/ydb-platform/ydb-go-sdk/v3/scheme"
)

// RemoveFolder drops the folder at path with its folders, tables and
// coordination nodes. One that is not there is no error.
func RemoveFolder(ctx context.Context, db *ydb.Driver, path string) error {
	folder, err := db.Scheme().ListDirectory(ctx, path)
	if ydb.IsOperationErrorSchemeError(err) || ydb.IsOperationErrorNotFoundError(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("ydbconn: list %s: %w", path, err)
	}
	for _, child := range folder.Children {
		path := path + "/" + child.Name
		switch child.Type {
		case scheme.EntryDirectory:
			err = RemoveFolder(ctx, db, path)
		case scheme.EntryTable:
			err = db.Query().Exec(ctx, fmt.Sprintf("DROP TABLE `%s`", path), query.WithTxControl(query.ImplicitTxControl()))
		case scheme.EntryCoordinationNode:
			err = db.Coordination().DropNode(ctx, path)
		default:
			err = fmt.Errorf("is a %s", child.Type)
		}
		if err != nil {
			return fmt.Errorf("ydbconn: drop %s: %w", path, err)
		}
	}
	return db.Scheme().RemoveDirectory(ctx, path)
}
