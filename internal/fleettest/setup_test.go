package fleettest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/ydb-platform/ydb-go-sdk/v3/query"
	"go.uber.org/goleak"

	"github.com/taskfleet/taskfleet/internal/taskstore"
	"github.com/taskfleet/taskfleet/internal/testdb"
	"github.com/taskfleet/taskfleet/pkg/migrate"
	"github.com/taskfleet/taskfleet/pkg/rebalancer"
	"github.com/taskfleet/taskfleet/pkg/task"
	"github.com/taskfleet/taskfleet/pkg/taskproducer"
	"github.com/taskfleet/taskfleet/pkg/taskworker"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	// sessionTimeout is the shipped one.
	sessionTimeout = 10 * time.Second
	// patience is how long a fleet may take for anything. No time passes while
	// anybody in the bubble has something to do.
	patience = 2 * time.Minute
)

// world is a server, the fleet on it, and who watches both.
type world struct {
	*judge
	*testdb.Embedded
	producer *taskproducer.Producer
	handler  taskworker.Handler // of every worker
	cfg      rebalancer.Config  // what tests change of the workers to come
	abandon  time.Duration
	acked    []string
}

// inBubble runs a test of a whole fleet on the virtual clock.
func inBubble(t *testing.T, partitions int, test func(t *testing.T, w *world)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { test(t, setup(t, partitions)) })
}

func setup(t testing.TB, partitions int) *world {
	t.Helper()
	w := &world{
		judge: newJudge(t, partitions), Embedded: testdb.Start(t, testdb.Options{Disk: true}),
		handler: func(context.Context, *task.Task) error { return nil },
		cfg:     rebalancer.Config{SessionTimeout: sessionTimeout, DrainTimeout: 5 * time.Second},
		abandon: time.Second,
	}
	_, err := migrate.Up(t.Context(), w.DB, migrate.Options{Folder: w.Folder, Partitions: partitions})
	require.NoError(t, err)
	w.producer, err = taskproducer.Open(t.Context(), w.DB, taskproducer.Config{Folder: w.Folder})
	require.NoError(t, err)
	return w
}

// node is the path of the fleet's coordination node.
func (w *world) node() string { return w.Path() + "/" + migrate.NodeName }

// worker is one whole worker behind a network of its own.
type worker struct {
	rebalancer.NopObserver
	w       *world
	id      string
	network *testdb.Network
	tasks   *taskworker.Worker
	parts   *rebalancer.Rebalancer
	log     *logBuffer

	mu        sync.Mutex
	session   uint64
	opened    time.Time // when the session was
	outcomes  map[task.Outcome]int
	abandoned int
}

func (w *world) start(id string, weight int) *worker {
	w.t.Helper()
	one := &worker{
		w: w, id: id, network: &testdb.Network{}, log: &logBuffer{}, outcomes: map[task.Outcome]int{},
	}
	db := w.Through(one.network)
	store := taskstore.New(db, taskstore.Options{Folder: w.Folder})
	logger := slog.New(slog.NewTextHandler(one.log, nil))
	var err error
	one.tasks, err = taskworker.New(repository{store, w.judge, id}, taskworker.Config{
		Owner: id, Handlers: map[string]taskworker.Handler{task.DefaultKind: w.handle(id, w.handler)},
		AbandonAfter: w.abandon, Observer: taskObserver{worker: one}, Logger: logger,
		Fenced: func(p uint16) { one.parts.Fenced(p) },
	})
	require.NoError(w.t, err)
	cfg := w.cfg
	cfg.WorkerID, cfg.Weight, cfg.Partitions, cfg.Node = id, weight, w.partitions, w.node()
	cfg.Consumer, cfg.Fence, cfg.Observer, cfg.Logger = one, store, one, logger
	one.parts, err = rebalancer.New(db, cfg)
	require.NoError(w.t, err)
	background := context.WithoutCancel(w.t.Context())
	require.NoError(w.t, one.tasks.Start(background))
	require.NoError(w.t, one.parts.Start(background))
	w.t.Cleanup(func() {
		one.abort()
		if w.t.Failed() {
			w.t.Logf("log of %s:\n%s", id, one.log)
		}
	})
	return one
}

// Acquired and Revoke are the consumer's, under the judge's eyes.
func (o *worker) Acquired(lease context.Context, p uint16, epoch uint64) {
	o.w.acquired(lease, o.id, p, epoch)
	o.tasks.Acquired(lease, p, epoch)
}

func (o *worker) Revoke(ctx context.Context, p uint16) error {
	o.w.event(func() { o.w.revoked[o.id] = append(o.w.revoked[o.id], p) })
	return o.tasks.Revoke(ctx, p)
}

// SessionOpened is the rebalancer's observer's.
func (o *worker) SessionOpened(id uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.session, o.opened = id, time.Now()
}

func (o *worker) lastSession() (id uint64, opened time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.session, o.opened
}

func (o *worker) sessionID() uint64 {
	id, _ := o.lastSession()
	return id
}

// taskObserver counts what the task worker reports.
type taskObserver struct {
	taskworker.NopObserver
	worker *worker
}

func (o taskObserver) Finished(_ string, outcome task.Outcome, _ time.Duration) {
	o.worker.mu.Lock()
	o.worker.outcomes[outcome]++
	o.worker.mu.Unlock()
	o.worker.w.event(func() {})
}

func (o taskObserver) Abandoned(string) {
	o.worker.mu.Lock()
	o.worker.abandoned++
	o.worker.mu.Unlock()
	o.worker.w.event(func() {})
}

func (o *worker) count(outcome task.Outcome) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.outcomes[outcome]
}

// leave stops a worker in order, as SIGTERM does.
func (o *worker) leave() {
	o.w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	require.NoError(o.w.t, errors.Join(o.parts.Stop(ctx), o.tasks.Stop(ctx)))
}

// abort ends a worker without waiting for anything.
func (o *worker) abort() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = o.parts.Stop(ctx)
	_ = o.tasks.Stop(ctx)
}

// enqueue adds tasks, which are acknowledged.
func (w *world) enqueue(tasks ...task.Task) {
	w.t.Helper()
	result, err := w.producer.Enqueue(w.t.Context(), tasks...)
	require.NoError(w.t, err)
	w.acked = append(w.acked, result.IDs...)
}

// idsIn returns n task ids of every partition.
func (w *world) idsIn(n int) map[uint16][]string {
	ids := map[uint16][]string{}
	for i, missing := 0, n*w.partitions; missing > 0; i++ {
		id := fmt.Sprintf("task-%d", i)
		p := task.PartitionOf(id, w.partitions)
		if len(ids[p]) < n {
			ids[p] = append(ids[p], id)
			missing--
		}
	}
	return ids
}

// place is where a task stands.
type place struct {
	Table   string
	ID      string
	Status  string
	Attempt uint32
	Owner   string
}

// places reads in one snapshot where all tasks stand.
func (w *world) places() map[string][]place {
	w.t.Helper()
	var text strings.Builder
	fmt.Fprintf(&text, "PRAGMA TablePathPrefix(%q);\n", w.Path())
	text.WriteString(`SELECT "coordinated"u AS tab, id, status, attempt, COALESCE(lock_owner, ""u) AS own FROM coordinated_tasks
UNION ALL SELECT "delayed"u AS tab, id, "delayed"u AS status, attempt, ""u AS own FROM delayed_tasks
UNION ALL SELECT "completed"u AS tab, id, "completed"u AS status, attempt, ""u AS own FROM completed_tasks
UNION ALL SELECT "dead"u AS tab, id, "dead"u AS status, attempt, ""u AS own FROM dead_tasks`)
	result, err := w.DB.Query().QueryResultSet(w.t.Context(), text.String(), query.WithIdempotent(), query.WithTxControl(query.SnapshotReadOnlyTxControl()))
	require.NoError(w.t, err)
	defer func() { require.NoError(w.t, result.Close(context.Background())) }()
	all := map[string][]place{}
	for {
		row, err := result.NextRow(w.t.Context())
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(w.t, err)
		var p place
		require.NoError(w.t, row.Scan(&p.Table, &p.ID, &p.Status, &p.Attempt, &p.Owner))
		all[p.ID] = append(all[p.ID], p)
	}
}

// drained waits until every acknowledged task is completed, and holds I1 and I2.
func (w *world) drained() {
	w.t.Helper()
	require.Eventually(w.t, func() bool {
		all := w.places()
		for _, id := range w.acked {
			require.Len(w.t, all[id], 1, "I1, I2: task %s", id)
			if all[id][0].Table != "completed" {
				return false
			}
		}
		return true
	}, patience, 100*time.Millisecond, "every acknowledged task is completed")
}

// logBuffer is a log that may be read meanwhile.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func weights(ids ...string) map[string]int {
	all := map[string]int{}
	for _, id := range ids {
		all[id] = 1
	}
	return all
}
