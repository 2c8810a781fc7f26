// Package taskmodel keeps a fleet's tasks in memory, by the same rules as the
// database. It is what the store of tasks is checked against, and what the
// worker's tests run on.
package taskmodel

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/taskfleet/taskfleet/pkg/task"
)

// Row is a task in one of the four tables.
type Row struct {
	task.Task
	Status      task.Status
	LockValue   string
	LockEpoch   uint64
	LockedUntil time.Time
}

// Model is the four tables and what fences them. Its methods may be called
// concurrently.
type Model struct {
	// Now is the clock of the database. It must be set.
	Now func() time.Time
	// Hook, when set, is called before every operation, and may block it or fail
	// it: nothing has happened then.
	Hook func(ctx context.Context, op string) error

	mu      sync.Mutex
	rows    map[string]*Row // by id: a task is in one table
	ended   map[string]bool // lock values whose outcome is recorded
	epochs  map[uint16]uint64
	batches map[string]bool
	given   map[string]bool
}

// New returns an empty model.
func New(now func() time.Time) *Model {
	return &Model{
		Now: now, rows: map[string]*Row{}, ended: map[string]bool{}, epochs: map[uint16]uint64{},
		batches: map[string]bool{}, given: map[string]bool{},
	}
}

func (m *Model) begin(ctx context.Context, op string) (unlock func(), err error) {
	if m.Hook != nil {
		if err := m.Hook(ctx, op); err != nil {
			return nil, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	return m.mu.Unlock, nil
}

// Rows returns a copy of every task, ordered by id.
func (m *Model) Rows() []Row {
	m.mu.Lock()
	defer m.mu.Unlock()
	rows := make([]Row, 0, len(m.rows))
	for _, r := range m.rows {
		rows = append(rows, *r)
	}
	slices.SortFunc(rows, func(a, b Row) int { return cmp.Compare(a.ID, b.ID) })
	return rows
}

// Count tells how many tasks have a status.
func (m *Model) Count(status task.Status) int {
	n := 0
	for _, r := range m.Rows() {
		if r.Status == status {
			n++
		}
	}
	return n
}

// Enqueue stores a batch, once.
func (m *Model) Enqueue(ctx context.Context, batch task.Batch) (task.EnqueueResult, error) {
	unlock, err := m.begin(ctx, "enqueue")
	if err != nil {
		return task.EnqueueResult{}, err
	}
	defer unlock()
	if m.batches[batch.ID] {
		return task.EnqueueResult{Enqueued: len(batch.Tasks), Replayed: true}, nil
	}
	m.batches[batch.ID] = true
	var result task.EnqueueResult
	now := m.Now()
	for _, t := range batch.Tasks {
		if t.IDGiven && m.given[t.ID] {
			result.Duplicates++
			continue
		}
		if t.IDGiven {
			m.given[t.ID] = true
		}
		if t.RunAt.IsZero() {
			t.RunAt = now.Add(t.Delay)
		}
		status := task.Pending
		if t.RunAt.After(now) {
			status = task.Delayed
		}
		t.CreatedAt = now
		m.rows[t.ID] = &Row{Task: t, Status: status}
		result.Enqueued++
	}
	return result, nil
}

// Raise gives partitions their next epoch.
func (m *Model) Raise(ctx context.Context, partitions []uint16, _ string) (map[uint16]uint64, error) {
	unlock, err := m.begin(ctx, "raise")
	if err != nil {
		return nil, err
	}
	defer unlock()
	epochs := map[uint16]uint64{}
	for _, p := range partitions {
		m.epochs[p]++
		epochs[p] = m.epochs[p]
	}
	return epochs, nil
}

// Candidates lists what may be claimed.
func (m *Model) Candidates(ctx context.Context, cursors []task.Cursor, limit int) ([]task.CandidateRun, error) {
	unlock, err := m.begin(ctx, "candidates")
	if err != nil {
		return nil, err
	}
	defer unlock()
	runs := make([]task.CandidateRun, len(cursors))
	for i, c := range cursors {
		var rows []*Row
		for _, r := range m.rows {
			k := keyOf(r)
			after := cmp.Or(cmp.Compare(k.Rank, c.AfterRank), cmp.Compare(k.ID, c.AfterID)) > 0
			if k.Partition == c.Partition && after && (r.Status == task.Pending || r.Status == task.Locked) {
				rows = append(rows, r)
			}
		}
		slices.SortFunc(rows, func(a, b *Row) int {
			return cmp.Or(cmp.Compare(keyOf(a).Rank, keyOf(b).Rank), cmp.Compare(a.ID, b.ID))
		})
		run := task.CandidateRun{Next: c, Exhausted: len(rows) < limit}
		for _, r := range rows[:min(limit, len(rows))] {
			k := keyOf(r)
			run.Next.AfterRank, run.Next.AfterID = k.Rank, k.ID
			if m.free(r, c.Epoch) {
				candidate := task.Candidate{Key: k, Kind: r.Kind, Crashes: r.Crashes}
				if r.Status == task.Locked {
					candidate.Crashes++
				}
				run.Candidates = append(run.Candidates, candidate)
			}
		}
		runs[i] = run
	}
	return runs, nil
}

// Bury moves a runnable task to the dead ones.
func (m *Model) Bury(ctx context.Context, owned task.Owned, key task.Key, reason string) (bool, error) {
	unlock, err := m.begin(ctx, "bury")
	if err != nil {
		return false, err
	}
	defer unlock()
	r := m.rows[key.ID]
	if !m.owns(owned) || r == nil || keyOf(r) != key || !m.free(r, owned.Epoch) {
		return false, nil
	}
	r.Status, r.LastError = task.Dead, reason
	return true, nil
}

func keyOf(r *Row) task.Key {
	return task.Key{Partition: r.Partition, Rank: task.Rank(r.Priority), ID: r.ID}
}

func (m *Model) free(r *Row, epoch uint64) bool {
	return r.Status == task.Pending ||
		r.Status == task.Locked && (r.LockEpoch < epoch || r.LockedUntil.Before(m.Now()))
}

// owns tells whether an epoch holds. A partition that nobody took has none.
func (m *Model) owns(o task.Owned) bool {
	return o.Epoch > 0 && m.epochs[o.Partition] == o.Epoch
}

// Claim locks what is free.
func (m *Model) Claim(ctx context.Context, req task.ClaimRequest) (task.ClaimResult, error) {
	unlock, err := m.begin(ctx, "claim")
	if err != nil {
		return task.ClaimResult{}, err
	}
	defer unlock()
	var result task.ClaimResult
	epochs := map[uint16]uint64{}
	for _, o := range req.Owned {
		if !m.owns(o) {
			result.Stale = append(result.Stale, o.Partition)
			continue
		}
		epochs[o.Partition] = o.Epoch
	}
	now := m.Now()
	for i, k := range req.Keys {
		lock := req.LockValue(i)
		epoch, own := epochs[k.Partition]
		r := m.rows[k.ID]
		if !own || r == nil || keyOf(r) != k {
			continue
		}
		again := r.Status == task.Locked && r.LockValue == lock
		if !again && (!m.free(r, epoch) || r.LockValue == lock) {
			continue
		}
		if !again && r.Status == task.Locked {
			r.Crashes++
		}
		timeout := r.Timeout
		if timeout == 0 {
			timeout = req.DefaultTimeout
		}
		r.Status, r.LockValue, r.LockEpoch = task.Locked, lock, epoch
		r.LockedUntil = now.Add(timeout + req.Margin)
		claimed := &task.Claimed{Task: r.Task, Key: k, LockValue: lock, Epoch: epoch, Waited: max(now.Sub(r.RunAt), 0)}
		claimed.Attempt++
		result.Claimed = append(result.Claimed, claimed)
	}
	return result, nil
}

// Finish records outcomes of what is still locked by the result's lock value.
func (m *Model) Finish(ctx context.Context, results []task.Result) ([]bool, error) {
	unlock, err := m.begin(ctx, "finish")
	if err != nil {
		return nil, err
	}
	defer unlock()
	held := make([]bool, len(results))
	now := m.Now()
	for i, res := range results {
		r := m.rows[res.Key.ID]
		if r == nil || r.Status != task.Locked || r.LockValue != res.LockValue {
			held[i] = res.Repeated && m.ended[res.LockValue]
			continue
		}
		held[i], m.ended[res.LockValue] = true, true
		if res.Outcome != task.OutcomeReleased {
			r.Attempt = res.Attempt
		}
		switch res.Outcome {
		case task.OutcomeCompleted:
			r.Status = task.Completed
		case task.OutcomeDead:
			r.Status, r.LastError = task.Dead, res.Error
		case task.OutcomeRetry:
			r.Status, r.LastError, r.RunAt = task.Delayed, res.Error, now.Add(res.Delay)
		case task.OutcomeReleased:
			r.Status = task.Pending
		}
	}
	return held, nil
}

// Promote makes due tasks runnable.
func (m *Model) Promote(ctx context.Context, partitions []task.Owned, limit int) (task.PromoteResult, error) {
	result := task.PromoteResult{Moved: map[uint16]int{}, NextDue: map[uint16]time.Duration{}}
	unlock, err := m.begin(ctx, "promote")
	if err != nil {
		return result, err
	}
	defer unlock()
	now := m.Now()
	for _, o := range partitions {
		var delayed []*Row
		for _, r := range m.rows {
			if r.Partition == o.Partition && r.Status == task.Delayed {
				delayed = append(delayed, r)
			}
		}
		slices.SortFunc(delayed, func(a, b *Row) int {
			return cmp.Or(a.RunAt.Compare(b.RunAt), cmp.Compare(a.ID, b.ID))
		})
		if len(delayed) == 0 {
			continue
		}
		wait := max(delayed[0].RunAt.Sub(now), 0)
		if wait == 0 && !m.owns(o) {
			result.Stale = append(result.Stale, o.Partition)
			continue
		}
		result.NextDue[o.Partition] = wait
		for _, r := range delayed[:min(limit, len(delayed))] {
			if !r.RunAt.After(now) {
				r.Status = task.Pending
				result.Moved[o.Partition]++
			}
		}
	}
	return result, nil
}
