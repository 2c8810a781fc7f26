package taskstore

import (
	"encoding/json"
	"time"

	"github.com/ydb-platform/ydb-go-sdk/v3/types"

	"github.com/taskfleet/taskfleet/pkg/task"
)

// list makes the parameter of AS_TABLE: one struct per item. It must not be
// empty: an empty list has no type.
func list[T any](items []T, fields func(T) []types.StructValueOption) types.Value {
	rows := make([]types.Value, len(items))
	for i, item := range items {
		rows[i] = types.StructValue(fields(item)...)
	}
	return types.ListValue(rows...)
}

func ownedList(owned []task.Owned) types.Value {
	return list(owned, func(o task.Owned) []types.StructValueOption {
		return []types.StructValueOption{
			types.StructFieldValue("partition_id", types.Uint16Value(o.Partition)),
			types.StructFieldValue("epoch", types.Uint64Value(o.Epoch)),
		}
	})
}

func keyFields(k task.Key) []types.StructValueOption {
	return []types.StructValueOption{
		types.StructFieldValue("partition_id", types.Uint16Value(k.Partition)),
		types.StructFieldValue("rank", types.Uint8Value(k.Rank)),
		types.StructFieldValue("id", types.TextValue(k.ID)),
	}
}

// milliseconds is how timeouts are stored; a fraction of one counts as one.
func milliseconds(d time.Duration) uint64 {
	return uint64((d + time.Millisecond - 1) / time.Millisecond)
}

// headersValue is NULL without headers, and JSON otherwise.
func headersValue(headers map[string]string) types.Value {
	if len(headers) == 0 {
		return types.NullableJSONValue(nil)
	}
	s := string(headersJSON(headers))
	return types.NullableJSONValue(&s)
}

func headersJSON(headers map[string]string) []byte {
	text, err := json.Marshal(headers)
	if err != nil {
		panic(err) // a map of strings always marshals
	}
	return text
}

// parseHeaders reads what headersValue wrote. A row that somebody else wrote must
// not stop a claim: values that are no strings come as JSON, and what is no
// object at all as no headers.
func parseHeaders(text string) map[string]string {
	var values map[string]json.RawMessage
	if text == "" || json.Unmarshal([]byte(text), &values) != nil {
		return nil
	}
	headers := make(map[string]string, len(values))
	for name, raw := range values {
		var s string
		if json.Unmarshal(raw, &s) != nil {
			s = string(raw)
		}
		headers[name] = s
	}
	return headers
}
