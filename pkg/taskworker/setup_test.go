package taskworker_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/taskfleet/taskfleet/internal/taskmodel"
	_ "github.com/taskfleet/taskfleet/internal/testdb" // one processor under the race detector
	"github.com/taskfleet/taskfleet/pkg/task"
	"github.com/taskfleet/taskfleet/pkg/taskworker"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var quiet = slog.New(slog.DiscardHandler)

// bundle is a worker on a model, in a bubble whose clock moves when everybody waits.
type bundle struct {
	t      *testing.T
	model  *taskmodel.Model
	worker *taskworker.Worker
	seen   *recorder
	batch  int
}

// setup makes a worker of the given handler for kind "k". The worker is
// started and has no partitions.
func setup(t *testing.T, cfg taskworker.Config, handler taskworker.Handler) *bundle {
	t.Helper()
	b := &bundle{t: t, model: taskmodel.New(time.Now), seen: &recorder{}}
	b.worker = newWorker(t, b.model, b.seen, cfg, handler)
	require.NoError(t, b.worker.Start(t.Context()))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		require.NoError(t, b.worker.Stop(ctx))
	})
	return b
}

func newWorker(t *testing.T, repo taskworker.TaskRepository, seen *recorder, cfg taskworker.Config, handler taskworker.Handler) *taskworker.Worker {
	t.Helper()
	cfg.Owner = "w"
	cfg.Handlers = map[string]taskworker.Handler{"k": handler}
	cfg.Observer = seen
	cfg.Logger = quiet
	if cfg.Fenced == nil {
		cfg.Fenced = seen.fenced
	}
	w, err := taskworker.New(repo, cfg)
	require.NoError(t, err)
	return w
}

// own hands partitions to the worker, under new epochs; the function ends the leases.
func (b *bundle) own(partitions ...uint16) context.CancelFunc {
	return b.ownBy(b.worker, partitions...)
}

// ownBy hands partitions to another worker on the same model.
func (b *bundle) ownBy(w *taskworker.Worker, partitions ...uint16) context.CancelFunc {
	lease, end := context.WithCancel(context.Background())
	b.t.Cleanup(end)
	epochs, err := b.model.Raise(context.Background(), partitions, "w")
	require.NoError(b.t, err)
	for p, epoch := range epochs {
		w.Acquired(lease, p, epoch)
	}
	return end
}

// add enqueues tasks; what they do not name is kind k in partition 0.
func (b *bundle) add(tasks ...task.Task) {
	b.t.Helper()
	b.batch++
	for i := range tasks {
		t := &tasks[i]
		if t.ID == "" {
			t.ID = fmt.Sprintf("%03d-%05d", b.batch, i)
		}
		if t.Kind == "" {
			t.Kind = "k"
		}
	}
	_, err := b.model.Enqueue(context.Background(), task.Batch{ID: fmt.Sprint(b.batch), Tasks: tasks})
	require.NoError(b.t, err)
}

// row returns the task with the given id.
func (b *bundle) row(id string) taskmodel.Row {
	b.t.Helper()
	for _, r := range b.model.Rows() {
		if r.ID == id {
			return r
		}
	}
	b.t.Fatalf("no task %s", id)
	return taskmodel.Row{}
}

// after lets virtual time pass, until everybody waits again.
func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// recorder counts what a worker reports.
type recorder struct {
	taskworker.NopObserver
	mu                    sync.Mutex
	outcomes              map[task.Outcome]int
	latencies             []time.Duration
	lost                  int
	abandoned             int
	skipped               map[string]int
	quarantined           int
	flushes               []int
	claims                []int
	reads, readPartitions int
	stale                 []uint16
	held                  taskworker.Buffers
	most                  taskworker.Buffers
	backlog               taskworker.Backlog
}

func (r *recorder) fenced(p uint16) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stale = append(r.stale, p)
}

func (r *recorder) Started(_ string, latency time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.latencies = append(r.latencies, latency)
}

func (r *recorder) Finished(_ string, outcome task.Outcome, _ time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.outcomes == nil {
		r.outcomes = map[task.Outcome]int{}
	}
	r.outcomes[outcome]++
}

func (r *recorder) Backlog(b taskworker.Backlog) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.backlog = b
}

// waits is the backlog as last reported.
func (r *recorder) waits() taskworker.Backlog {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.backlog
}

func (r *recorder) LostLease(string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lost++
}

func (r *recorder) Abandoned(string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.abandoned++
}

func (r *recorder) Skipped(kind string, tasks int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.skipped == nil {
		r.skipped = map[string]int{}
	}
	r.skipped[kind] += tasks
}

func (r *recorder) Quarantined() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.quarantined++
}

func (r *recorder) Flushed(n int, _ time.Duration, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		r.flushes = append(r.flushes, n)
	}
}

func (r *recorder) Swept(partitions, _ int, _ time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reads++
	r.readPartitions += partitions
}

func (r *recorder) Claimed(_, got int, _ time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.claims = append(r.claims, got)
}

func (r *recorder) Holds(b taskworker.Buffers) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held = b
	r.most.Waiting = max(r.most.Waiting, b.Waiting)
	r.most.Running = max(r.most.Running, b.Running)
	r.most.Unrecorded = max(r.most.Unrecorded, b.Unrecorded)
}

// read looks at the recorder under its lock.
func (r *recorder) read(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
}

func tasks(n int, partitions int) []task.Task {
	list := make([]task.Task, n)
	for i := range list {
		list[i].Partition = uint16(i % partitions)
	}
	return list
}
