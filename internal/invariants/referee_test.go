package invariants

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/ydb-platform/ydb-go-sdk/v3"
	"github.com/ydb-platform/ydb-go-sdk/v3/query"

	"github.com/taskfleet/taskfleet/internal/migrate"
	"github.com/taskfleet/taskfleet/internal/taskstore"
	"github.com/taskfleet/taskfleet/pkg/rebalancer"
	"github.com/taskfleet/taskfleet/pkg/task"
	"github.com/taskfleet/taskfleet/pkg/taskworker"
	"github.com/taskfleet/taskfleet/pkg/ydbembed"
)

// What the referee does here is the rebalancer's.
var _ rebalancer.Consumer = (*taskworker.Worker)(nil)

const partitions = 16

// refereed is some workers on one database, with a referee that decides who owns
// which partition in place of the rebalancer.
type refereed struct {
	t      *testing.T
	db     *ydb.Driver
	folder string
	store  *taskstore.Store
	faults *ydbembed.Faults // nil on a real YDB
	rand   *rand.Rand
	log    *history
	handle taskworker.Handler

	workers []*member
	owner   [partitions]*member
	acked   map[string]bool // ids whose enqueue was acknowledged
	batches []task.Batch
}

type member struct {
	name   string
	worker *taskworker.Worker
	leases [partitions]context.CancelFunc
}

func newRefereed(t *testing.T, seed uint64, handle taskworker.Handler) *refereed {
	t.Helper()
	f := &refereed{
		t: t, folder: "t-" + uuid.NewString(), rand: rand.New(rand.NewPCG(seed, 0)),
		log: &history{}, acked: map[string]bool{},
	}
	dsn := os.Getenv("TASKFLEET_TEST_YDB")
	if dsn == "" {
		server, err := ydbembed.Start(t.Context(), ydbembed.Config{Memory: true})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, server.Close()) })
		dsn, f.faults = server.DSN(), server.Faults()
	}
	var err error
	f.db, err = ydb.Open(t.Context(), dsn)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.db.Close(context.Background())) })
	_, err = migrate.Up(t.Context(), f.db, migrate.Options{Folder: f.folder, Partitions: partitions})
	require.NoError(t, err)
	f.store = taskstore.New(f.db, taskstore.Options{Folder: f.folder})
	f.handle = handle
	return f
}

// join starts a worker; its results go through the history.
func (f *refereed) join() *member {
	f.t.Helper()
	m := &member{name: fmt.Sprintf("w%d", len(f.workers))}
	var err error
	m.worker, err = taskworker.New(&recorded{Store: f.store, log: f.log, worker: m.name}, taskworker.Config{
		Owner: m.name, Concurrency: 8, Handlers: map[string]taskworker.Handler{"k": f.handle},
		SweepMax: 100 * time.Millisecond, Logger: slog.New(slog.DiscardHandler),
		Backoff:  taskworker.Exponential(5*time.Millisecond, 50*time.Millisecond),
		Observer: &observer{log: f.log},
	})
	require.NoError(f.t, err)
	require.NoError(f.t, m.worker.Start(f.t.Context()))
	f.workers = append(f.workers, m)
	f.t.Cleanup(func() { m.stop(f.t, 30*time.Second) })
	return m
}

func (m *member) stop(t *testing.T, grace time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	require.NoError(t, m.worker.Stop(ctx))
	for _, end := range m.leases {
		if end != nil {
			end()
		}
	}
}

// give moves a partition to a worker, as the rebalancer does: revoked and
// drained first, fenced, then handed over.
func (f *refereed) give(p uint16, to *member) {
	f.t.Helper()
	if from := f.owner[p]; from != nil {
		ctx, cancel := context.WithTimeout(f.t.Context(), 100*time.Millisecond)
		require.NoError(f.t, from.worker.Revoke(ctx, p))
		cancel()
		from.leases[p]()
	}
	f.take(p, to)
}

// take hands over a partition that nobody owns any more.
func (f *refereed) take(p uint16, to *member) {
	f.t.Helper()
	epochs, err := f.store.Raise(f.t.Context(), []uint16{p}, to.name)
	require.NoError(f.t, err)
	lease, end := context.WithCancel(context.Background())
	to.leases[p], f.owner[p] = end, to
	to.worker.Acquired(lease, p, epochs[p])
}

// loseSession ends all leases of a worker at once, and the others take over.
func (f *refereed) loseSession(m *member) {
	for p := range uint16(partitions) {
		if f.owner[p] == m {
			m.leases[p]()
			f.take(p, f.workers[f.rand.IntN(len(f.workers))])
		}
	}
}

// enqueue stores a batch and counts it only when it is acknowledged.
func (f *refereed) enqueue(n int, change func(i int, t *task.Task)) {
	f.t.Helper()
	batch := task.Batch{ID: uuid.NewString()}
	for i := range n {
		tk := task.Task{ID: uuid.Must(uuid.NewV7()).String(), Kind: "k", Priority: uint8(f.rand.IntN(256))}
		tk.Partition = task.PartitionOf(tk.ID, partitions)
		if change != nil {
			change(i, &tk)
		}
		batch.Tasks = append(batch.Tasks, tk)
	}
	result, err := f.store.Enqueue(f.t.Context(), batch)
	require.NoError(f.t, err)
	require.Equal(f.t, n, result.Enqueued)
	for _, tk := range batch.Tasks {
		f.acked[tk.ID] = true
	}
	f.batches = append(f.batches, batch)
}

// trouble lets the referee do random things for a while.
func (f *refereed) trouble(steps int, things ...func()) {
	for range steps {
		things[f.rand.IntN(len(things))]()
		timer := time.NewTimer(time.Duration(f.rand.IntN(20)) * time.Millisecond)
		<-timer.C
	}
}

// drained waits until no task is runnable, running or delayed.
func (f *refereed) drained() {
	f.t.Helper()
	var last string
	done := func() bool {
		st, err := f.store.Stats(f.t.Context())
		last = fmt.Sprintf("%+v %v", st, err)
		return err == nil && st.Pending+st.Locked+st.Delayed == 0
	}
	if !assert.Eventually(f.t, done, time.Minute, 20*time.Millisecond) {
		f.t.Fatalf("not drained: %s", last)
	}
}

// places lists, in one snapshot, the tables that each task is in.
func (f *refereed) places() map[string][]string {
	f.t.Helper()
	text := fmt.Sprintf("PRAGMA TablePathPrefix(%q);\n", f.db.Name()+"/"+f.folder)
	tables := []string{"coordinated_tasks", "delayed_tasks", "completed_tasks", "dead_tasks"}
	for _, table := range tables {
		text += fmt.Sprintf("SELECT id, attempt FROM %s;\n", table)
	}
	result, err := f.db.Query().Query(f.t.Context(), text, query.WithTxControl(query.SnapshotReadOnlyTxControl()), query.WithIdempotent())
	require.NoError(f.t, err)
	places := map[string][]string{}
	for set, err := range result.ResultSets(f.t.Context()) {
		require.NoError(f.t, err)
		for row, err := range set.Rows(f.t.Context()) {
			require.NoError(f.t, err)
			var id string
			var attempt uint32
			require.NoError(f.t, row.Scan(&id, &attempt))
			places[id] = append(places[id], fmt.Sprintf("%s/%d", tables[set.Index()], attempt))
		}
	}
	return places
}

// history is what happened, for the checks afterwards.
type history struct {
	mu       sync.Mutex
	claims   map[string]int // by lock value: how often it was given out
	outcomes map[string][]string
	lost     int
}

func (h *history) do(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.claims == nil {
		h.claims, h.outcomes = map[string]int{}, map[string][]string{}
	}
	f()
}

// recorded is the store as a worker uses it, with a history.
type recorded struct {
	*taskstore.Store
	log    *history
	worker string
}

func (r *recorded) Claim(ctx context.Context, req task.ClaimRequest) (task.ClaimResult, error) {
	result, err := r.Store.Claim(ctx, req)
	r.log.do(func() {
		for _, c := range result.Claimed {
			r.log.claims[c.LockValue]++
		}
	})
	return result, err
}

func (r *recorded) Finish(ctx context.Context, results []task.Result) ([]bool, error) {
	held, err := r.Store.Finish(ctx, results)
	r.log.do(func() {
		for i := range held {
			if held[i] {
				r.log.outcomes[results[i].LockValue] = append(r.log.outcomes[results[i].LockValue], results[i].Outcome.String())
			}
		}
	})
	return held, err
}

type observer struct {
	taskworker.NopObserver
	log *history
}

func (o *observer) LostLease(string) { o.log.do(func() { o.log.lost++ }) }

var errTest = errors.New("failed on purpose")
