package taskworker_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/internal/taskmodel"
	"github.com/taskfleet/taskfleet/pkg/task"
	"github.com/taskfleet/taskfleet/pkg/taskworker"
)

// refusing is a repository that refuses statements with more than some rows, and
// those with a bad one.
type refusing struct {
	*taskmodel.Model
	op      string
	most    int
	bad     string // id
	refused int
}

func (r *refusing) refuse(op string, ids []string) error {
	if op != r.op {
		return nil
	}
	for _, id := range ids {
		if id == r.bad {
			r.refused++
			return fmt.Errorf("row too large: %w", task.ErrRefused)
		}
	}
	if len(ids) > r.most {
		r.refused++
		return fmt.Errorf("result too large: %w", task.ErrRefused)
	}
	return nil
}

func (r *refusing) Claim(ctx context.Context, req task.ClaimRequest) (task.ClaimResult, error) {
	var ids []string
	for _, k := range req.Keys {
		ids = append(ids, k.ID)
	}
	if err := r.refuse("claim", ids); err != nil {
		return task.ClaimResult{}, err
	}
	return r.Model.Claim(ctx, req)
}

func (r *refusing) Finish(ctx context.Context, results []task.Result) ([]bool, error) {
	var ids []string
	for _, result := range results {
		if result.Outcome != task.OutcomeDead { // what is dead is small
			ids = append(ids, result.Key.ID)
		}
	}
	if err := r.refuse("finish", ids); err != nil {
		return nil, err
	}
	return r.Model.Finish(ctx, results)
}

// TestAStatementThatIsRefusedDoesNotWedge: batches are halved until the row that
// is to blame is alone and dead; the others are done, and nothing is lost at the stop.
func TestAStatementThatIsRefusedDoesNotWedge(t *testing.T) {
	for _, op := range []string{"claim", "finish"} {
		for name, bad := range map[string]string{"all too large together": "", "one bad row": "001-00017"} {
			t.Run(op+": "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					repo := &refusing{Model: taskmodel.New(time.Now), op: op, most: 5, bad: bad}
					b := &bundle{t: t, model: repo.Model, seen: &recorder{}}
					b.worker = newWorker(t, repo, b.seen, taskworker.Config{}, nothing)
					require.NoError(t, b.worker.Start(t.Context()))
					b.add(tasks(100, 3)...)
					b.own(0, 1, 2)
					after(10 * time.Second)
					require.NoError(t, b.worker.Stop(t.Context()))
					for _, row := range b.model.Rows() {
						if row.ID == bad {
							require.Equal(t, task.Dead, row.Status)
							require.Contains(t, row.LastError, "row too large")
							continue
						}
						require.Equal(t, task.Completed, row.Status, row.ID)
						require.EqualValues(t, 1, row.Attempt)
					}
					require.Positive(t, repo.refused)
				})
			})
		}
	}
}
