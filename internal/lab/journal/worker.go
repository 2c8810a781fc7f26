package journal

import (
	"context"
	"sync"

	"github.com/taskfleet/taskfleet/pkg/rebalancer"
	"github.com/taskfleet/taskfleet/pkg/task"
	"github.com/taskfleet/taskfleet/pkg/taskworker"
)

type repository struct {
	taskworker.TaskRepository
	journal *Journal
}

// Repository notes every claim and every outcome that goes through it.
func (j *Journal) Repository(r taskworker.TaskRepository) taskworker.TaskRepository {
	return &repository{r, j}
}

func (r *repository) Claim(ctx context.Context, req task.ClaimRequest) (task.ClaimResult, error) {
	r.journal.begin(Event{Op: Claim, ID: req.ID})
	result, err := r.TaskRepository.Claim(ctx, req)
	locks := make([]Lock, len(result.Claimed))
	for i, c := range result.Claimed {
		locks[i] = Lock{Task: c.ID, Partition: c.Key.Partition, Epoch: c.Epoch, Lock: c.LockValue, Attempt: c.Attempt}
	}
	r.journal.end(Event{Op: Claim, ID: req.ID, Locks: locks}, err)
	return result, err
}

func (r *repository) Finish(ctx context.Context, results []task.Result) ([]bool, error) {
	noted := make([]Result, len(results))
	for i, result := range results {
		noted[i] = Result{Task: result.Key.ID, Lock: result.LockValue, Outcome: result.Outcome.String()}
	}
	id := r.journal.id()
	r.journal.begin(Event{Op: Finish, ID: id, Results: noted})
	held, err := r.TaskRepository.Finish(ctx, results)
	for i := range held {
		noted[i].Held = held[i]
	}
	r.journal.end(Event{Op: Finish, ID: id, Results: noted}, err)
	return held, err
}

type fence struct {
	rebalancer.Fence
	journal *Journal
}

// Fence notes every epoch that is raised through it.
func (j *Journal) Fence(f rebalancer.Fence) rebalancer.Fence { return &fence{f, j} }

func (f *fence) Raise(ctx context.Context, partitions []uint16, owner string) (map[uint16]uint64, error) {
	id := f.journal.id()
	f.journal.begin(Event{Op: Raise, ID: id})
	epochs, err := f.Fence.Raise(ctx, partitions, owner)
	raised := make([]Partition, 0, len(epochs))
	for _, p := range partitions {
		if epoch, ok := epochs[p]; ok {
			raised = append(raised, Partition{ID: p, Epoch: epoch})
		}
	}
	f.journal.end(Event{Op: Raise, ID: id, Partitions: raised}, err)
	return epochs, err
}

type consumer struct {
	rebalancer.Consumer
	journal *Journal

	mu    sync.Mutex
	owned map[uint16]func() // ends the ownership, once
}

// Consumer notes from when until when the consumer may work on a partition: from
// Acquired until its Revoke has returned, or the lease has ended.
func (j *Journal) Consumer(c rebalancer.Consumer) rebalancer.Consumer {
	return &consumer{Consumer: c, journal: j, owned: map[uint16]func(){}}
}

func (c *consumer) Acquired(lease context.Context, partition uint16, epoch uint64) {
	id := c.journal.id()
	own := []Partition{{ID: partition, Epoch: epoch}}
	c.journal.begin(Event{Op: Own, ID: id, Partitions: own})
	end := sync.OnceFunc(func() { c.journal.end(Event{Op: Own, ID: id, Partitions: own}, nil) })
	c.mu.Lock()
	c.owned[partition] = end
	c.mu.Unlock()
	context.AfterFunc(lease, end)
	c.Consumer.Acquired(lease, partition, epoch)
}

func (c *consumer) Revoke(ctx context.Context, partition uint16) error {
	err := c.Consumer.Revoke(ctx, partition)
	c.mu.Lock()
	end := c.owned[partition]
	c.mu.Unlock()
	if end != nil {
		end()
	}
	return err
}
