package taskworker

import (
	"fmt"

	"github.com/taskfleet/taskfleet/pkg/task"
)

// A statement that the database refuses for good (task.ErrRefused) is not
// repeated as it stands: its batch is halved until the row that is to blame is
// alone. That row goes to the dead tasks, the others go on.

// halve splits a batch of at least two.
func halve[T any](batch []T) [2][]T {
	middle := len(batch) / 2
	return [2][]T{batch[:middle:middle], batch[middle:]}
}

// bury sends the one task of a refused claim to the dead tasks.
func (w *Worker) bury(req task.ClaimRequest, from map[uint16]*partition, cause error) {
	key := req.Keys[0]
	p := from[key.Partition]
	reason := errorText(fmt.Errorf("the database refuses to claim the task: %w", cause))
	buried, err := w.repo.Bury(w.store, task.Owned{Partition: p.id, Epoch: p.epoch}, key, reason)
	if err != nil {
		w.failed("bury", err) // it is found again by a later read
	}
	if buried {
		w.refused("claim", key, cause)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unreserve(req, from)
}

// refuseOutcome turns an outcome that the database refuses into a dead task with
// the reason, once. An outcome that is refused even so is given up: its lock ends
// by itself.
func (w *Worker) refuseOutcome(a *attempt, cause error) (again bool) {
	w.refused("finish", a.Key, cause)
	if a.refused {
		return false
	}
	a.refused = true
	a.result.Outcome, a.result.Delay = task.OutcomeDead, 0
	a.result.Error = errorText(fmt.Errorf("the database refuses the outcome: %w", cause))
	return true
}

func (w *Worker) refused(op string, key task.Key, cause error) {
	w.log.Error("the database refuses a task", "op", op, "task_id", key.ID, "partition", key.Partition, "error", cause)
	w.cfg.Observer.Refused(op)
}
