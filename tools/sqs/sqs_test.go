package sqs

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/pkg/task"
)

func TestMessagesArrive(t *testing.T) {
	s := startService(t, "work", "other", "secret", "order.fifo")
	b := setup(t, s, "--sqs-queue", "work", "--sqs-queue", "http://"+s.address+"/queue/other", "--sqs-queue", "order.fifo")
	long := strings.Repeat("k", 200)
	b.enqueue(
		task.Task{ID: "plain", Payload: []byte(`{"n":1}`)},
		task.Task{ID: "body", Payload: []byte(`{"queue":"other","body":{"n":2},"attributes":{"source":"ci"},"delay":"0s"}`)},
		task.Task{ID: "text", Payload: []byte(`{"queue":"work","body":"as it is"}`)},
		task.Task{ID: "fifo-1", PartitionKey: "repo", Payload: []byte(`{"queue":"order.fifo","body":"1"}`)},
		task.Task{ID: "fifo-2", Payload: []byte(`{"queue":"order.fifo","body":"2"}`)},
		task.Task{ID: "fifo 3", PartitionKey: long, Payload: []byte(`{"queue":"order.fifo","body":"3"}`)},
		// These can never go well.
		task.Task{ID: "forbidden", Payload: []byte(`{"queue":"secret"}`)},
		task.Task{ID: "malformed", Payload: []byte(`{"queue":5}`)},
	)
	b.eventually("all are done", func() bool { st := b.stats(); return st.Completed == 6 && st.Dead == 2 })
	require.Equal(t, map[string]int{`{"n":1}`: 1, "as it is": 1}, s.bodies("work"))
	require.Equal(t, map[string]int{`{"n":2}`: 1}, s.bodies("other"))
	require.Equal(t, "ci", s.messages("other")[0].MessageAttributes["source"].Value)
	require.Empty(t, s.bodies("secret"))
	ids := map[string]string{}
	for _, m := range s.messages("order.fifo") {
		ids[string(m.MessageBody)] = m.GroupID + " " + m.DeduplicationID
	}
	require.Equal(t, "repo fifo-1", ids["1"])
	require.Equal(t, "fifo-2 fifo-2", ids["2"])
	require.Regexp(t, "^[0-9a-f]{64} [0-9a-f]{64}$", ids["3"])

	// Received by the official client, which checks the sums.
	url := "http://" + s.address + "/queue/work"
	got, err := s.client.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &url, MaxNumberOfMessages: 10})
	require.NoError(t, err)
	require.Len(t, got.Messages, 2)

	list := b.taskctl("dead", "list", "--kind", "sqs")
	require.Contains(t, list, `payload: queue "secret": must be one of order.fifo, other, work`)
	require.Contains(t, list, "payload: queue: must not be a number")
}

// TestALostAnswerAddsNoSecondMessage: a FIFO queue knows the task's id.
func TestALostAnswerAddsNoSecondMessage(t *testing.T) {
	s := startService(t, "order.fifo")
	s.swallow.Store(3)
	b := setup(t, s, "--sqs-queue", "order.fifo")
	b.enqueue(task.Task{ID: "a", Payload: []byte(`{"body":"a"}`)}, task.Task{ID: "b", Payload: []byte(`{"body":"b"}`)})
	b.eventually("both are done", func() bool { return b.stats().Completed == 2 })
	require.Equal(t, map[string]int{"a": 1, "b": 1}, s.bodies("order.fifo"))
	require.EqualValues(t, 5, s.sends.Load())
}

// TestAnOutageLosesNothing: what may be tried on is tried until it goes; what has
// used its attempts is dead, and comes back when somebody asks for it.
func TestAnOutageLosesNothing(t *testing.T) {
	const n = 60
	s := startService(t, "order.fifo")
	b := setup(t, s, "--sqs-queue", "order.fifo")
	tasks := func(prefix string, attempts uint32) (made []task.Task) {
		for i := range n {
			id := fmt.Sprintf("%s-%d", prefix, i)
			made = append(made, task.Task{ID: id, MaxAttempts: attempts, PartitionKey: fmt.Sprint("key-", i%5), Payload: fmt.Appendf(nil, `{"body":%q}`, id)})
		}
		return made
	}
	b.enqueue(tasks("before", 0)...)
	b.eventually("all are published", func() bool { return b.stats().Completed == n })

	s.down()
	b.enqueue(tasks("patient", 0)...)
	b.enqueue(tasks("hasty", 2)...)
	b.eventually("those with two attempts are dead", func() bool { return b.stats().Dead == n })
	st := b.stats()
	require.EqualValues(t, n, st.Completed)
	require.EqualValues(t, n, st.Dead)
	require.EqualValues(t, n, st.Pending+st.Locked+st.Delayed, "nothing is lost")
	dead, err := b.store.Dead(t.Context(), "sqs", task.Key{}, 1000)
	require.NoError(t, err)
	require.Len(t, dead, n)
	for _, d := range dead {
		require.EqualValues(t, 2, d.Attempt, d.Key.ID)
		require.Contains(t, d.LastError, "sqs queue order.fifo: ")
	}

	s.up()
	b.eventually("the patient are published", func() bool { return b.stats().Completed == 2*n })
	require.Contains(t, b.taskctl("dead", "replay", "--kind", "sqs", "--limit", "10"), "10 tasks are runnable again")
	b.eventually("ten are published", func() bool { return b.stats().Completed == 2*n+10 })
	require.Contains(t, b.taskctl("dead", "replay", "--kind", "sqs", "--limit", "0"), fmt.Sprint(n-10, " tasks are runnable again"))
	b.eventually("all are published", func() bool { return b.stats().Completed == 3*n })

	want := map[string]int{}
	for _, prefix := range []string{"before", "patient", "hasty"} {
		for i := range n {
			want[fmt.Sprintf("%s-%d", prefix, i)] = 1
		}
	}
	require.Equal(t, want, s.bodies("order.fifo"))
	require.Zero(t, b.stats().Dead)
	require.Contains(t, b.taskctl("dead", "list"), "0 dead tasks")
}
