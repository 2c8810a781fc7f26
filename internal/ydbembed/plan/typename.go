package plan

import (
	"fmt"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
)

const schemeStatus = Ydb.StatusIds_SCHEME_ERROR

// typeName names a tree node that nothing here knows, for the refusal.
func typeName(x any) string { return fmt.Sprintf("%T", x) }
