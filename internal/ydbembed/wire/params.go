package wire

import (
	"strings"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"google.golang.org/protobuf/proto"

	"github.com/taskfleet/taskfleet/internal/ydbembed/issue"
	"github.com/taskfleet/taskfleet/internal/ydbembed/limits"
	"github.com/taskfleet/taskfleet/internal/ydbembed/session"
	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
)

// setParams reads the parameters of a request. Names come with their $.
func setParams(req *session.Request, params map[string]*Ydb.TypedValue) error {
	if len(params) == 0 {
		return nil
	}
	size := 0
	for name, p := range params {
		size += len(name) + proto.Size(p)
	}
	if size > limits.Params {
		return issue.ParamsTooLarge(size, limits.Params)
	}
	req.ParamTypes = make(map[string]*types.Type, len(params))
	req.Params = make(map[string]types.Value, len(params))
	for name, p := range params {
		bare := strings.TrimPrefix(name, "$")
		t, err := types.FromProtoType(p.GetType())
		if err != nil {
			return issue.BadRequest("Bad type of parameter %s: %v", name, err)
		}
		v, err := types.FromProto(t, p.GetValue())
		if err != nil {
			return issue.BadRequest("Bad value of parameter %s: %v", name, err)
		}
		req.ParamTypes[bare], req.Params[bare] = t, v
	}
	return nil
}
