package wire

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Query"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/taskfleet/taskfleet/internal/ydbembed/limits"
)

// A request of two bytes a value is refused before it takes 150 for each.
func TestRequestsOfTooManyPartsAreRefused(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		values int
		err    string
	}{
		"at the limit": {limits.Parts - 3, ""}, // the entry, the parameter and the list are parts too
		"above":        {limits.Parts - 2, "more than 2000000 parts"},
	} {
		t.Run(name, func(t *testing.T) {
			left := limits.Parts
			err := countParts((&Ydb_Query.ExecuteQueryRequest{}).ProtoReflect().Descriptor(), listRequest(tt.values), &left, protowire.DefaultRecursionLimit)
			if tt.err == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tt.err)
			require.ErrorContains(t, newCodec().Unmarshal(mem.BufferSlice{mem.SliceBuffer(listRequest(tt.values))}, &Ydb_Query.ExecuteQueryRequest{}), tt.err)
		})
	}
}

// A value in a value, as deep as its parts allow, would take a stack of half a
// gigabyte. The reader of protobuf refuses it too.
func TestRequestsThatAreNestedTooDeepAreRefused(t *testing.T) {
	t.Parallel()
	var value []byte
	for range protowire.DefaultRecursionLimit {
		value = protowire.AppendBytes(protowire.AppendTag(nil, 12, protowire.BytesType), value) // Ydb.Value.items
	}
	require.Error(t, proto.Unmarshal(value, &Ydb.Value{}))
	left := limits.Parts
	require.ErrorContains(t, countParts((&Ydb.Value{}).ProtoReflect().Descriptor(), value, &left, protowire.DefaultRecursionLimit), "nested too deep")
}

// listRequest is a query with a list of so many empty values.
func listRequest(values int) []byte {
	items := make([]byte, 0, 2*values)
	for range values {
		items = protowire.AppendBytes(protowire.AppendTag(items, 12, protowire.BytesType), nil) // Ydb.Value.items
	}
	typed := protowire.AppendBytes(protowire.AppendTag(nil, 2, protowire.BytesType), items) // Ydb.TypedValue.value
	entry := protowire.AppendBytes(protowire.AppendTag(nil, 2, protowire.BytesType), typed)
	return protowire.AppendBytes(protowire.AppendTag(nil, 6, protowire.BytesType), entry) // ExecuteQueryRequest.parameters
}

// Whatever comes in place of a request, it is counted without a panic, and what
// gRPC's codec can read has as many parts as it shows.
func FuzzCountParts(f *testing.F) {
	request, err := proto.Marshal(&Ydb_Query.ExecuteQueryRequest{
		SessionId:  "s",
		Parameters: map[string]*Ydb.TypedValue{"$x": {Type: &Ydb.Type{Type: &Ydb.Type_TypeId{TypeId: Ydb.Type_UINT64}}, Value: &Ydb.Value{Items: []*Ydb.Value{{}, {}}}}},
	})
	require.NoError(f, err)
	f.Add(request)
	f.Add(listRequest(3))
	f.Add(request[:len(request)-1])
	f.Fuzz(func(t *testing.T, b []byte) {
		m, left := &Ydb_Query.ExecuteQueryRequest{}, limits.Parts
		err := countParts(m.ProtoReflect().Descriptor(), b, &left, protowire.DefaultRecursionLimit)
		if proto.Unmarshal(b, m) == nil {
			require.NoError(t, err)
			require.GreaterOrEqual(t, limits.Parts-left, len(m.GetParameters()))
		}
	})
}
