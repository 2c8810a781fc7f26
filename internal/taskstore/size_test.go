package taskstore

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Query"
	ydb "github.com/ydb-platform/ydb-go-sdk/v3"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/taskfleet/taskfleet/pkg/task"
)

// message is the encoded call that a batch becomes, as the SDK builds it, with a
// generous session id.
func message(t require.TestingT, batch task.Batch) *Ydb_Query.ExecuteQueryRequest {
	s := &Store{texts: newTexts("/local/" + strings.Repeat("f", 200))}
	st, _ := s.enqueue(batch)
	b := ydb.ParamsBuilder()
	for name, v := range st.params {
		b = b.Param(name).Any(v)
	}
	params, err := b.Build().ToYDB()
	require.NoError(t, err)
	return &Ydb_Query.ExecuteQueryRequest{
		SessionId:  strings.Repeat("s", 256),
		Query:      &Ydb_Query.ExecuteQueryRequest_QueryContent{QueryContent: &Ydb_Query.QueryContent{Text: st.text}},
		Parameters: params,
	}
}

// lists sums the encoded rows of a message's lists.
func lists(m *Ydb_Query.ExecuteQueryRequest) int {
	size := 0
	for _, p := range m.GetParameters() {
		if p.GetType().GetListType() != nil {
			size += proto.Size(p.GetValue())
		}
	}
	return size
}

// TestEnqueueSizeIsWhatIsSent holds the computed sizes against the encoded message.
func TestEnqueueSizeIsWhatIsSent(t *testing.T) {
	t.Parallel()
	size := rapid.OneOf(rapid.Just(0), rapid.IntRange(0, 20), rapid.SampledFrom([]int{127, 128, 129, 16383, 16384, 16385, task.MaxPayload}))
	rapid.Check(t, func(r *rapid.T) {
		batch := task.Batch{ID: "batch"}
		want := 0
		for i := range rapid.IntRange(1, 4).Draw(r, "tasks") {
			tk := task.Task{
				ID: fmt.Sprint(i, rapid.StringN(0, 20, 100).Draw(r, "id")), IDGiven: rapid.Bool().Draw(r, "given"),
				Kind: rapid.StringN(0, 10, 64).Draw(r, "kind"), PartitionKey: rapid.StringN(0, 200, 512).Draw(r, "key"),
				Payload: make([]byte, size.Draw(r, "payload")), Priority: rapid.Uint8().Draw(r, "priority"),
				Partition: rapid.Uint16().Draw(r, "partition"), MaxAttempts: rapid.Uint32().Draw(r, "attempts"),
				Timeout: time.Duration(rapid.Int64Range(0, int64(task.MaxTimeout)).Draw(r, "timeout")),
				Headers: rapid.MapOfN(rapid.String(), rapid.String(), 0, 5).Draw(r, "headers"),
			}
			if seconds := rapid.Int64Range(-1, 4291747199).Draw(r, "run_at"); seconds >= 0 && rapid.Bool().Draw(r, "timed") {
				tk.RunAt = time.Unix(seconds, rapid.Int64Range(0, 999_999_999).Draw(r, "ns"))
			} else if rapid.Bool().Draw(r, "delayed") {
				tk.Delay = time.Duration(rapid.Int64Range(0, int64(task.MaxDelay)).Draw(r, "delay"))
			}
			batch.Tasks = append(batch.Tasks, tk)
			want += EnqueueSize(&tk)
		}
		if got := lists(message(r, batch)); got != want {
			r.Fatalf("computed %d bytes, sent %d: %+v", want, got, batch.Tasks)
		}
	})
}

// TestALargestBatchMeetsTheLimits: a batch of MaxEnqueueBytes is below what YDB
// takes in parameters and in a message, whatever it is made of.
func TestALargestBatchMeetsTheLimits(t *testing.T) {
	t.Parallel()
	for name, tk := range map[string]task.Task{
		"payloads":        {Payload: make([]byte, task.MaxPayload)},
		"escaped headers": {IDGiven: true, Headers: map[string]string{"<": strings.Repeat("<", task.MaxHeaders-1)}},
	} {
		batch, size := task.Batch{ID: strings.Repeat("b", 256)}, 0
		for {
			tk.ID = fmt.Sprint(len(batch.Tasks))
			if size += EnqueueSize(&tk); size > MaxEnqueueBytes {
				break
			}
			batch.Tasks = append(batch.Tasks, tk)
		}
		m := message(t, batch)
		params := 0
		for _, p := range m.GetParameters() {
			params += proto.Size(p)
		}
		require.Less(t, params, maxParams, name)
		require.Greater(t, params, MaxEnqueueBytes-400_000, name)
		require.Less(t, proto.Size(m), maxMessage, name)
	}
}
