package fleettest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/pkg/task"
	"github.com/taskfleet/taskfleet/pkg/taskworker"
)

// judge sees every ownership, claim, handler and outcome of a fleet, and notes
// what must not be.
type judge struct {
	t          testing.TB
	partitions int
	forced     bool // a session was ended behind its owner's back: for a moment only the fence keeps two apart

	mu         sync.Mutex
	changed    chan struct{} // closed and replaced at every event
	tenures    map[uint16]*tenure
	ended      map[uint16]time.Time // when a partition's last tenure ended
	gaps       []time.Duration      // of partitions without an owner
	epochs     map[uint16]uint64    // the highest that anybody owned under
	claimers   map[ownership]string
	outcomes   map[string]int // recorded, by lock value
	handlers   map[*handling]bool
	revoked    map[string][]uint16 // by worker, in the order in which Revoke began
	violations []string
}

type tenure struct {
	worker string
	epoch  uint64
	lease  context.Context
}

type ownership struct {
	partition uint16
	epoch     uint64
}

// handling is a handler that runs.
type handling struct {
	worker string
	task   *task.Task
	ctx    context.Context
}

func newJudge(t testing.TB, partitions int) *judge {
	j := &judge{
		t: t, partitions: partitions, changed: make(chan struct{}), tenures: map[uint16]*tenure{}, ended: map[uint16]time.Time{},
		epochs: map[uint16]uint64{}, claimers: map[ownership]string{}, outcomes: map[string]int{}, handlers: map[*handling]bool{},
		revoked: map[string][]uint16{},
	}
	t.Cleanup(func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		require.Empty(t, j.violations)
	})
	return j
}

// event runs f under the lock and wakes those who wait.
func (j *judge) event(f func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	f()
	close(j.changed)
	j.changed = make(chan struct{})
}

func (j *judge) violation(format string, args ...any) {
	j.violations = append(j.violations, fmt.Sprintf(format, args...))
}

// await returns, after how long, when cond holds, which runs under the lock.
func (j *judge) await(limit time.Duration, what string, cond func() bool) time.Duration {
	j.t.Helper()
	began := time.Now()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		j.mu.Lock()
		ok, changed, loads := cond(), j.changed, j.loads()
		j.mu.Unlock()
		if ok {
			return time.Since(began)
		}
		select {
		case <-changed:
		case <-timer.C:
			require.FailNow(j.t, "not in time: "+what, "after %v: %v", limit, loads)
		}
	}
}

func (j *judge) loads() map[string]int {
	n := map[string]int{}
	for _, t := range j.tenures {
		if t.lease.Err() == nil {
			n[t.worker]++
		}
	}
	return n
}

// share tells whether these workers own everything, by weight, give or take one.
func (j *judge) share(weights map[string]int) func() bool {
	total := 0
	for _, w := range weights {
		total += w
	}
	return func() bool {
		n, sum := j.loads(), 0
		for id, w := range weights {
			if n[id] < j.partitions*w/total || n[id] > (j.partitions*w+total-1)/total {
				return false
			}
			sum += n[id]
		}
		return sum == j.partitions
	}
}

func (j *judge) acquired(lease context.Context, worker string, p uint16, epoch uint64) {
	t := &tenure{worker: worker, epoch: epoch, lease: lease}
	j.event(func() {
		if other := j.tenures[p]; other != nil && other.lease.Err() == nil && lease.Err() == nil && !j.forced {
			j.violation("I4: %s owns partition %d under %d while %s does under %d", worker, p, epoch, other.worker, other.epoch)
		}
		if epoch <= j.epochs[p] {
			j.violation("I4: partition %d: epoch %d after %d", p, epoch, j.epochs[p])
		}
		for h := range j.handlers {
			if h.task.Partition == p && h.worker != worker && h.ctx.Err() == nil && lease.Err() == nil && !j.forced {
				j.violation("I6: task %s still runs at %s when %s owns partition %d", h.task.ID, h.worker, worker, p)
			}
		}
		if at, ok := j.ended[p]; ok {
			j.gaps = append(j.gaps, time.Since(at))
		}
		j.epochs[p] = max(j.epochs[p], epoch)
		j.tenures[p] = t
	})
	context.AfterFunc(lease, func() {
		j.event(func() {
			j.ended[p] = time.Now()
			if j.tenures[p] == t {
				delete(j.tenures, p)
			}
		})
	})
}

// handle runs a handler of a worker under the judge's eyes.
func (j *judge) handle(worker string, handler taskworker.Handler) taskworker.Handler {
	return func(ctx context.Context, t *task.Task) error {
		h := &handling{worker, t, ctx}
		j.event(func() { j.handlers[h] = true })
		defer j.event(func() { delete(j.handlers, h) })
		return handler(ctx, t)
	}
}

// repository notes the claims and outcomes of one worker.
type repository struct {
	taskworker.TaskRepository
	j      *judge
	worker string
}

func (r repository) Claim(ctx context.Context, req task.ClaimRequest) (task.ClaimResult, error) {
	result, err := r.TaskRepository.Claim(ctx, req)
	r.j.event(func() {
		for _, c := range result.Claimed {
			o := ownership{c.Key.Partition, c.Epoch}
			if other := r.j.claimers[o]; other != "" && other != r.worker {
				r.j.violation("I4: %s and %s claim in partition %d under epoch %d", other, r.worker, o.partition, o.epoch)
			}
			r.j.claimers[o] = r.worker
		}
	})
	return result, err
}

func (r repository) Finish(ctx context.Context, results []task.Result) ([]bool, error) {
	held, err := r.TaskRepository.Finish(ctx, results)
	r.j.event(func() {
		for i, ok := range held {
			if !ok || err != nil {
				continue
			}
			lock := results[i].LockValue
			if r.j.outcomes[lock]++; r.j.outcomes[lock] > 1 {
				r.j.violation("I3: claim %s of task %s has %d outcomes", lock, results[i].Key.ID, r.j.outcomes[lock])
			}
		}
	})
	return held, err
}
