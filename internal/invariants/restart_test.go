package invariants

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/pkg/task"
)

// TestKeptWorkersComeBack ends the processes of a fleet again and again; what
// starts them again gets every task done.
func TestKeptWorkersComeBack(t *testing.T) {
	t.Parallel()
	b := startProcesses(t)
	const n = 200
	tasks := make([]task.Task, n)
	for i := range tasks {
		tasks[i] = task.Task{Kind: kindGood, Payload: []byte(`{"ms":5}`)}
	}
	_, err := b.producer.Enqueue(t.Context(), tasks...)
	require.NoError(t, err)
	runs := make(chan string, 10*n)
	program := testWorker(func(line string) { runs <- line }, "--concurrency", "4")
	one, err := b.KeepWorker(program)
	require.NoError(t, err)
	two, err := b.KeepWorker(program)
	require.NoError(t, err)
	<-runs
	one.Kill()
	two.Kill()
	stats := b.drained()
	require.EqualValues(t, n, stats.Completed)
	b.eventually("both were started again", func() bool { return one.Deaths() == 1 && two.Deaths() == 1 })
	b.balanced()
	require.NoError(t, one.Stop())
	b.balanced()
}
