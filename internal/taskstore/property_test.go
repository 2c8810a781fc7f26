package taskstore_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/taskfleet/taskfleet/internal/taskmodel"
	"github.com/taskfleet/taskfleet/internal/taskstore"
	"github.com/taskfleet/taskfleet/internal/testdb"
	"github.com/taskfleet/taskfleet/pkg/task"
)

// TestStoreBehavesAsTheModel runs random operations on the database and on the
// model, some with answers that get lost, and compares what they answer and
// what the tables hold. It is also where I2 is checked after every step.
func TestStoreBehavesAsTheModel(t *testing.T) {
	t.Parallel()
	testdb.Test(t, func(t *testing.T, d *testdb.Database) {
		b := setupOn(t, d, taskstore.Options{})
		notT := struct{ *testing.T }{t} // rapid asks a T for its deadline, which there is none of in a bubble
		rapid.Check(notT, func(rt *rapid.T) {
			b.clear()
			m := &machine{bundle: b, ctx: t.Context(), model: taskmodel.New(time.Now), owned: map[uint16]uint64{}, recorded: map[string]bool{}}
			rt.Repeat(map[string]func(*rapid.T){
				"":           m.compare,
				"enqueue":    m.enqueue,
				"again":      m.enqueueAgain,
				"raise":      m.raise,
				"candidates": m.candidates,
				"claim":      m.claim,
				"bury":       m.bury,
				"replay":     m.replay,
				"finish":     m.finish,
				"promote":    m.promote,
			})
		})
	})
}

const machinePartitions = 3

// machine drives both sides.
type machine struct {
	*bundle
	ctx      context.Context
	model    *taskmodel.Model
	owned    map[uint16]uint64
	batches  []task.Batch
	claims   []*task.Claimed
	last     task.ClaimRequest
	recorded map[string]bool // lock values whose outcome was recorded
	ids      int
}

// lose arms a lost answer in one of three steps, where that can be done; the
// function tells whether it happened.
func (m *machine) lose(t *rapid.T) (lost func() bool) {
	if m.Faults() == nil || rapid.IntRange(0, 2).Draw(t, "lose") > 0 {
		return func() bool { return false }
	}
	fault := m.Faults().DropAnswer("ExecuteQuery")
	return func() bool { fault.Stop(); return fault.Hits() > 0 }
}

func (m *machine) enqueue(t *rapid.T) {
	batch := task.Batch{ID: uuid.NewString()}
	for range rapid.IntRange(1, 5).Draw(t, "tasks") {
		m.ids++
		tk := task.Task{
			ID: fmt.Sprintf("%05d", m.ids), Kind: "k", Payload: []byte("p"),
			Partition: uint16(rapid.IntRange(0, machinePartitions-1).Draw(t, "partition")),
			Priority:  rapid.SampledFrom([]uint8{0, 0, 7, 255}).Draw(t, "priority"),
		}
		if rapid.Bool().Draw(t, "given") {
			tk.ID, tk.IDGiven = rapid.SampledFrom([]string{"g1", "g2", "g3", "g4", "g5"}).Draw(t, "id"), true
		}
		switch rapid.IntRange(0, 3).Draw(t, "when") {
		case 0:
			tk.Delay = time.Microsecond
		case 1:
			tk.Delay = time.Hour
		case 2:
			tk.RunAt = time.Now().Add(-time.Hour)
		}
		batch.Tasks = append(batch.Tasks, tk)
	}
	lost := m.lose(t)
	got, err := m.store.Enqueue(m.ctx, batch)
	require.NoError(t, err)
	want, err := m.model.Enqueue(m.ctx, batch)
	require.NoError(t, err)
	if lost() {
		want = task.EnqueueResult{Enqueued: len(batch.Tasks), Replayed: true}
	}
	require.Equal(t, want, got)
	m.batches = append(m.batches, batch)
}

func (m *machine) enqueueAgain(t *rapid.T) {
	if len(m.batches) == 0 {
		return
	}
	batch := rapid.SampledFrom(m.batches).Draw(t, "batch")
	got, err := m.store.Enqueue(m.ctx, batch)
	require.NoError(t, err)
	require.Equal(t, task.EnqueueResult{Enqueued: len(batch.Tasks), Replayed: true}, got)
}

func (m *machine) raise(t *rapid.T) {
	partitions := rapid.SliceOfNDistinct(rapid.Uint16Range(0, machinePartitions-1), 1, machinePartitions, rapid.ID[uint16]).Draw(t, "partitions")
	lost := m.lose(t)
	got, err := m.store.Raise(m.ctx, partitions, "w")
	require.NoError(t, err)
	want, err := m.model.Raise(m.ctx, partitions, "w")
	require.NoError(t, err)
	if lost() {
		want, err = m.model.Raise(m.ctx, partitions, "w")
		require.NoError(t, err)
	}
	require.Equal(t, want, got)
	for p, e := range got {
		m.owned[p] = e
	}
}

// epochs draws what a caller believes to own: mostly the truth.
func (m *machine) epochs(t *rapid.T) []task.Owned {
	var owned []task.Owned
	for p := range uint16(machinePartitions) {
		e := m.owned[p]
		if e > 0 && rapid.IntRange(0, 7).Draw(t, "old") == 0 {
			e--
		}
		owned = append(owned, task.Owned{Partition: p, Epoch: e})
	}
	return owned
}

func (m *machine) candidates(t *rapid.T) {
	var cursors []task.Cursor
	for _, o := range m.epochs(t) {
		c := task.Cursor{Owned: o}
		if rapid.Bool().Draw(t, "behind") {
			c.AfterRank = rapid.SampledFrom([]uint8{0, 248, 255}).Draw(t, "rank")
			c.AfterID = rapid.SampledFrom([]string{"00002", "00004", "g2"}).Draw(t, "id")
		}
		cursors = append(cursors, c)
	}
	limit := rapid.IntRange(1, 5).Draw(t, "limit")
	got, err := m.store.Candidates(m.ctx, cursors, limit)
	require.NoError(t, err)
	want, err := m.model.Candidates(m.ctx, cursors, limit)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func (m *machine) bury(t *rapid.T) {
	rows := m.model.Rows()
	if len(rows) == 0 {
		return
	}
	row := rapid.SampledFrom(rows).Draw(t, "task")
	owned := m.epochs(t)[row.Partition]
	key := task.Key{Partition: row.Partition, Rank: task.Rank(row.Priority), ID: row.ID}
	lost := m.lose(t)
	got, err := m.store.Bury(m.ctx, owned, key, "no")
	require.NoError(t, err)
	lost()
	want, err := m.model.Bury(m.ctx, owned, key, "no")
	require.NoError(t, err)
	require.Equal(t, want || row.Status == task.Dead, got)
}

func (m *machine) replay(t *rapid.T) {
	var dead, want []task.Key
	for _, row := range m.model.Rows() {
		if row.Status == task.Dead && rapid.Bool().Draw(t, "dead") {
			dead = append(dead, task.Key{Partition: row.Partition, ID: row.ID})
			want = append(want, task.Key{Partition: row.Partition, ID: row.ID})
		}
	}
	if len(dead) == 0 {
		return
	}
	lost := m.lose(t)
	got, err := m.store.Replay(m.ctx, dead)
	require.NoError(t, err)
	require.ElementsMatch(t, want, m.model.Replay(dead))
	if !lost() {
		require.ElementsMatch(t, want, got)
	}
}

func (m *machine) claim(t *rapid.T) {
	req := m.last
	if len(req.Keys) == 0 || rapid.IntRange(0, 4).Draw(t, "again") > 0 {
		req = request(m.epochs(t), nil)
		for _, row := range m.model.Rows() {
			if rapid.Bool().Draw(t, "key") {
				req.Keys = append(req.Keys, task.Key{Partition: row.Partition, Rank: task.Rank(row.Priority), ID: row.ID})
			}
		}
	}
	lost := m.lose(t)
	got, err := m.store.Claim(m.ctx, req)
	require.NoError(t, err)
	lost()
	want, err := m.model.Claim(m.ctx, req)
	require.NoError(t, err)
	require.Equal(t, len(want.Claimed), len(got.Claimed))
	for i, w := range want.Claimed {
		g := got.Claimed[i]
		require.Equal(t, []any{w.Key, w.LockValue, w.Epoch, w.Attempt, w.Crashes, w.IDGiven, w.LastError, w.Payload, w.Kind},
			[]any{g.Key, g.LockValue, g.Epoch, g.Attempt, g.Crashes, g.IDGiven, g.LastError, g.Payload, g.Kind})
	}
	if len(req.Keys) > 0 {
		require.Equal(t, want.Stale, got.Stale)
	}
	m.last = req
	m.claims = append(m.claims, got.Claimed...)
}

func (m *machine) finish(t *rapid.T) {
	var results []task.Result
	used := map[task.Key]bool{}
	for _, c := range m.claims {
		if used[c.Key] || !rapid.Bool().Draw(t, "claim") {
			continue
		}
		used[c.Key] = true
		r := finishing(c, rapid.SampledFrom([]task.Outcome{task.OutcomeCompleted, task.OutcomeCompleted, task.OutcomeRetry, task.OutcomeDead, task.OutcomeReleased}).Draw(t, "outcome"))
		if r.Outcome == task.OutcomeRetry || r.Outcome == task.OutcomeDead {
			r.Error = rapid.SampledFrom([]string{"e1", "e2"}).Draw(t, "error")
			r.Delay = rapid.SampledFrom([]time.Duration{0, time.Hour}).Draw(t, "delay")
		}
		results = append(results, r)
	}
	if len(results) == 0 {
		return
	}
	lost := m.lose(t)
	got, err := m.store.Finish(m.ctx, results)
	require.NoError(t, err)
	want, err := m.model.Finish(m.ctx, results)
	require.NoError(t, err)
	dropped := lost()
	for i, r := range results {
		// What is uncertain after a lost answer: a result that was recorded before, and
		// one of a partition that has moved on which leaves no trace to be found.
		if dropped && want[i] != got[i] {
			moved := m.owned[r.Key.Partition] != r.Epoch
			before := !want[i] && (m.recorded[r.LockValue] || !moved)
			untraced := want[i] && moved && r.Outcome == task.OutcomeRetry
			require.True(t, before || untraced, "result %d: %+v", i, r)
		} else {
			require.Equal(t, want[i], got[i], "result %d: %+v", i, r)
		}
		m.recorded[r.LockValue] = m.recorded[r.LockValue] || want[i]
	}
}

func (m *machine) promote(t *rapid.T) {
	owned := m.epochs(t)
	limit := rapid.IntRange(1, 4).Draw(t, "limit")
	lost := m.lose(t)
	got, err := m.store.Promote(m.ctx, owned, limit)
	require.NoError(t, err)
	want, err := m.model.Promote(m.ctx, owned, limit)
	require.NoError(t, err)
	if lost() {
		// The repetition moved what was left.
		_, err = m.model.Promote(m.ctx, owned, limit)
		require.NoError(t, err)
		return
	}
	require.Equal(t, want.Moved, got.Moved)
	require.Equal(t, want.Stale, got.Stale)
	require.Equal(t, len(want.NextDue), len(got.NextDue))
	for p, w := range want.NextDue {
		require.InDelta(t, w, got.NextDue[p], float64(time.Minute))
	}
}

// compare holds the tables against the model, and lets short delays pass.
func (m *machine) compare(t *rapid.T) {
	<-time.After(time.Millisecond)
	var want, ids []string
	for _, r := range m.model.Rows() {
		if r.IDGiven {
			ends := r.Status == task.Completed || r.Status == task.Dead
			ids = append(ids, fmt.Sprintf("%s ends %t", r.ID, ends))
		}
		lock := ""
		if r.Status == task.Locked {
			lock = r.LockValue
		}
		want = append(want, fmt.Sprintf("%s %d/%d %s attempt %d crashes %d lock %q error %q", r.ID, r.Partition, r.Priority, r.Status, r.Attempt, r.Crashes, lock, r.LastError))
	}
	got, remembered := m.contents()
	require.Equal(t, want, got)
	require.Equal(t, ids, remembered)
}

// contents lists every row of the four tables, and the ids that callers gave with
// whether their time is counted.
func (b *bundle) contents() (rows, ids []string) {
	var text strings.Builder
	for _, table := range fourTables {
		fmt.Fprintf(&text, "SELECT id, partition_id, priority, status, attempt, crashes, IF(status = \"locked\"u, lock_value, \"\"u), last_error FROM %s;\n", b.path(table))
	}
	fmt.Fprintf(&text, "SELECT id, expires_at IS NOT NULL FROM %s ORDER BY id;\n", b.path("task_ids"))
	result, err := b.DB.Query().Query(b.t.Context(), text.String())
	require.NoError(b.t, err)
	for set, err := range result.ResultSets(b.t.Context()) {
		require.NoError(b.t, err)
		for row, err := range set.Rows(b.t.Context()) {
			require.NoError(b.t, err)
			var id, status, lock, lastError string
			var partition uint16
			var priority uint8
			var attempt, crashes uint32
			var ends bool
			if set.Index() == len(fourTables) {
				require.NoError(b.t, row.Scan(&id, &ends))
				ids = append(ids, fmt.Sprintf("%s ends %t", id, ends))
				continue
			}
			require.NoError(b.t, row.Scan(&id, &partition, &priority, &status, &attempt, &crashes, &lock, &lastError))
			rows = append(rows, fmt.Sprintf("%s %d/%d %s attempt %d crashes %d lock %q error %q", id, partition, priority, status, attempt, crashes, lock, lastError))
		}
	}
	slices.Sort(rows)
	return rows, ids
}

var fourTables = []string{"coordinated_tasks", "delayed_tasks", "completed_tasks", "dead_tasks"}

func (b *bundle) path(table string) string {
	return fmt.Sprintf("`%s/%s`", b.Path(), table)
}

// clear empties the tables.
func (b *bundle) clear() {
	var text strings.Builder
	for _, table := range append([]string{"partitions", "enqueue_batches", "task_ids"}, fourTables...) {
		text.WriteString("DELETE FROM " + b.path(table) + ";\n")
	}
	require.NoError(b.t, b.DB.Query().Exec(b.t.Context(), text.String()))
}
