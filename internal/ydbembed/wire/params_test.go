package wire

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"google.golang.org/protobuf/proto"

	"github.com/taskfleet/taskfleet/internal/ydbembed/limits"
	"github.com/taskfleet/taskfleet/internal/ydbembed/session"
)

func TestSizeOfParametersIsBounded(t *testing.T) {
	t.Parallel()
	of := func(size int) map[string]*Ydb.TypedValue {
		p := &Ydb.TypedValue{
			Type:  &Ydb.Type{Type: &Ydb.Type_TypeId{TypeId: Ydb.Type_UTF8}},
			Value: &Ydb.Value{Value: &Ydb.Value_TextValue{TextValue: strings.Repeat("x", size)}},
		}
		extra := len("$p") + proto.Size(p) - size
		p.Value.Value = &Ydb.Value_TextValue{TextValue: strings.Repeat("x", size-extra)}
		return map[string]*Ydb.TypedValue{"$p": p}
	}
	require.NoError(t, setParams(&session.Request{}, of(limits.Params)))
	require.EqualError(t, setParams(&session.Request{}, of(limits.Params+1)),
		"BAD_REQUEST: Parameters size exceeds limit (50000001b > 50000000b)")
}
