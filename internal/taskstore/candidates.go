package taskstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/ydb-platform/ydb-go-sdk/v3/query"
	"github.com/ydb-platform/ydb-go-sdk/v3/types"

	"github.com/taskfleet/taskfleet/pkg/task"
)

// candidatesText reads, for each partition, rows behind a cursor in claim order.
// There is no filter on other columns: YDB does not take a LIMIT behind one to
// where the rows are, and would read the partition to its end.
func candidatesText(arms int) string {
	return "$rows = " + union(arms, func(i int) string {
		return fmt.Sprintf(`SELECT partition_id, rank, id, kind, crashes, status, lock_epoch, locked_until FROM coordinated_tasks
WHERE partition_id = $p%[1]d AND (rank > $r%[1]d OR (rank = $r%[1]d AND id > $i%[1]d))
ORDER BY partition_id, rank, id LIMIT $limit`, i)
	}) + `;
SELECT partition_id, rank, id, kind, crashes, lock_epoch, COALESCE(status = "locked"u, false) AS locked,
  COALESCE(locked_until < CurrentUtcTimestamp(), false) AS late FROM $rows;
`
}

// Candidates reads, in snapshots of up to 32 partitions each, up to limit rows
// behind each cursor, and returns a run for each cursor, in their order. Free are
// tasks that are pending, and those whose lock is dead: its owner lost the
// partition, or its time has passed. It takes no locks and never conflicts.
func (s *Store) Candidates(ctx context.Context, cursors []task.Cursor, limit int) ([]task.CandidateRun, error) {
	limit = max(limit, 1)
	runs := make([]task.CandidateRun, 0, len(cursors))
	for chunk := range slices.Chunk(cursors, maxArms) {
		read, err := s.candidates(ctx, chunk, limit)
		if err != nil {
			return nil, err
		}
		for _, c := range chunk {
			runs = append(runs, runOf(c, read[c.Partition], limit))
		}
	}
	return runs, nil
}

// runnable is a row of the read for candidates.
type runnable struct {
	task.Candidate
	lockEpoch    uint64
	locked, late bool
}

// runOf chooses the free tasks of one partition's rows, which come in no order.
func runOf(c task.Cursor, rows []runnable, limit int) task.CandidateRun {
	slices.SortFunc(rows, func(a, b runnable) int { return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.ID, b.ID)) })
	run := task.CandidateRun{Next: c, Exhausted: len(rows) < limit}
	for _, r := range rows {
		run.Next.AfterRank, run.Next.AfterID = r.Rank, r.ID
		if r.locked && r.lockEpoch >= c.Epoch && !r.late {
			continue
		}
		if r.locked {
			r.Crashes++
		}
		run.Candidates = append(run.Candidates, r.Candidate)
	}
	return run
}

func (s *Store) candidates(ctx context.Context, cursors []task.Cursor, limit int) (map[uint16][]runnable, error) {
	arms := armsFor(len(cursors))
	p := params{"$limit": types.Uint64Value(uint64(limit))}
	for i := range arms {
		c := task.Cursor{Owned: task.Owned{Partition: noPartition}}
		if i < len(cursors) {
			c = cursors[i]
		}
		p[fmt.Sprintf("$p%d", i)] = types.Uint16Value(c.Partition)
		p[fmt.Sprintf("$r%d", i)] = types.Uint8Value(c.AfterRank)
		p[fmt.Sprintf("$i%d", i)] = types.TextValue(c.AfterID)
	}
	var rows map[uint16][]runnable
	_, err := s.run(ctx, statement{
		op: "candidates", text: s.texts.candidates[arms], params: p, snapshot: true,
		reset: func() { rows = map[uint16][]runnable{} },
		row: func(_ int, row query.Row) error {
			var r runnable
			err := row.Scan(&r.Partition, &r.Rank, &r.ID, &r.Kind, &r.Crashes, &r.lockEpoch, &r.locked, &r.late)
			rows[r.Partition] = append(rows[r.Partition], r)
			return err
		},
	})
	return rows, err
}
