package plan

import (
	"math/rand/v2"

	"github.com/google/uuid"

	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
	"github.com/taskfleet/taskfleet/internal/ydbembed/yql"
)

// randomCall makes a function of chance: its arguments only say how often it is
// called, once per run when they are constant, otherwise for every row.
func randomCall(k types.Kind, draw func() types.Value) func(c *compiler, e *yql.Call, sc *scope) (*Expr, error) {
	return func(c *compiler, e *yql.Call, sc *scope) (*Expr, error) {
		args, err := c.exprs(e.Args, sc)
		if err != nil {
			return nil, err
		}
		x := &Expr{
			Type: types.Primitive(k), Const: allConst(args...), Text: e.Name + "()",
			Eval: func(*Frame, []types.Value) (types.Value, error) { return draw(), nil },
		}
		if x.Const {
			return c.once(x), nil
		}
		return x, nil
	}
}

var (
	randomUUID = randomCall(types.UUID, func() types.Value {
		return types.UUIDValue(uuid.New())
	})
	random       = randomCall(types.Double, func() types.Value { return types.FloatValue(types.Double, rand.Float64()) })
	randomNumber = randomCall(types.Uint64, func() types.Value { return types.UintValue(types.Uint64, rand.Uint64()) })
)
