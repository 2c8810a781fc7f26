package invariants

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/pkg/task"
)

// begun counts the starts of handlers by what a worker prints of them.
type begun struct {
	mu     sync.Mutex
	starts map[string]int // "id attempt"
}

func (b *begun) line(line string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.starts == nil {
		b.starts = map[string]int{}
	}
	if start, ok := strings.CutPrefix(line, "began "); ok {
		b.starts[start]++
	}
}

// TestATaskDiesOnlyOfWhatItDid: two tasks that kill their worker, and 200 that
// must not die with them, on two workers that are started again and again.
func TestATaskDiesOnlyOfWhatItDid(t *testing.T) {
	t.Parallel()
	b := startProcesses(t)
	const good, poison, maxCrashes = 200, 2, 3
	var tasks []task.Task
	for i := range good {
		if i%100 == 50 {
			tasks = append(tasks, task.Task{ID: fmt.Sprint("poison-", i), Kind: kindPoison})
		}
		tasks = append(tasks, task.Task{ID: fmt.Sprint("good-", i), Kind: kindGood, Payload: []byte(`{"ms":20}`), MaxAttempts: 2})
	}
	_, err := b.producer.Enqueue(t.Context(), tasks...)
	require.NoError(t, err)
	var seen begun
	program := testWorker(seen.line)
	one, err := b.KeepWorker(program)
	require.NoError(t, err)
	two, err := b.KeepWorker(program)
	require.NoError(t, err)

	stats := b.drained()
	require.EqualValues(t, good, stats.Completed)
	require.EqualValues(t, poison, stats.Dead)
	require.LessOrEqual(t, one.Deaths()+two.Deaths(), poison*maxCrashes)
	dead, err := b.store.Dead(t.Context(), "", task.Key{}, 10)
	require.NoError(t, err)
	for _, d := range dead {
		require.Equal(t, kindPoison, d.Kind)
		require.Contains(t, d.LastError, "the worker died")
		require.Zero(t, d.Attempt)
	}
	seen.mu.Lock()
	defer seen.mu.Unlock()
	deaths := 0
	for start, times := range seen.starts {
		require.True(t, strings.HasSuffix(start, " 1"), "%s: no death spends an attempt", start)
		if strings.HasPrefix(start, "poison") {
			require.LessOrEqual(t, times, maxCrashes, start)
			deaths += times
		}
	}
	t.Logf("%d deaths for %d poison tasks", deaths, poison)
}

// TestAKilledFleetSpendsNoAttempt: what never started, and what was running, comes
// back as attempt 1, also where there is only one.
func TestAKilledFleetSpendsNoAttempt(t *testing.T) {
	t.Parallel()
	b := startProcesses(t)
	const n = 40
	tasks := make([]task.Task, n)
	for i := range tasks {
		tasks[i] = task.Task{Kind: kindGood, Payload: []byte(`{"ms":300}`), MaxAttempts: 1}
	}
	_, err := b.producer.Enqueue(t.Context(), tasks...)
	require.NoError(t, err)
	var seen begun
	started := make(chan struct{}, n)
	program := testWorker(func(line string) {
		seen.line(line)
		select {
		case started <- struct{}{}:
		default:
		}
	}, "--concurrency", "4")
	one, err := b.KeepWorker(program)
	require.NoError(t, err)
	two, err := b.KeepWorker(program)
	require.NoError(t, err)
	<-started
	one.Kill()
	two.Kill()
	stats := b.drained()
	require.EqualValues(t, n, stats.Completed)
	require.Zero(t, stats.Dead)
	seen.mu.Lock()
	defer seen.mu.Unlock()
	for start := range seen.starts {
		require.True(t, strings.HasSuffix(start, " 1"), start)
	}
}
