package taskstore

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/taskfleet/taskfleet/pkg/task"
)

// The size of one statement of Promote. YDB refuses one that holds more than
// 48 MiB; few of the largest tasks are moved until it is known how large they are.
const (
	promoteBytes = 16 << 20
	promoteRows  = 4096
	largestTask  = 512 << 10
)

// Promote moves up to limit due tasks of each partition to the runnable table, in
// transactions of up to 32 partitions that hold about 16 MiB, and reports when the
// next one is due. A partition that had due tasks has zero there: more may be due.
//
// What fails in one transaction is in the error, and does not stop the others. A
// transaction that the database refuses is divided until one task is alone, which
// goes to dead_tasks. Promote may be repeated: a task that was moved is not there
// any more. A lost answer makes Moved too small, nothing else.
func (s *Store) Promote(ctx context.Context, partitions []task.Owned, limit int) (task.PromoteResult, error) {
	p := promotion{
		Store: s, left: map[uint16]int{},
		result: task.PromoteResult{Moved: map[uint16]int{}, NextDue: map[uint16]time.Duration{}},
	}
	for chunk := range slices.Chunk(partitions, maxArms) {
		next, err := s.peek(ctx, chunk)
		if err != nil {
			p.errs = append(p.errs, err)
			continue
		}
		for _, o := range chunk {
			if wait, any := next[o.Partition]; any {
				p.result.NextDue[o.Partition] = wait
				if wait == 0 {
					p.left[o.Partition] = max(limit, 1)
				}
			}
		}
		p.moveAll(ctx, chunk)
	}
	return p.result, errors.Join(p.errs...)
}

// promotion is one call of Promote.
type promotion struct {
	*Store
	result task.PromoteResult
	left   map[uint16]int // how many tasks may still be moved, of partitions that have some
	errs   []error
}

// moveAll moves what the partitions have left, in turn.
func (p *promotion) moveAll(ctx context.Context, partitions []task.Owned) {
	for {
		partitions = slices.DeleteFunc(slices.Clone(partitions), func(o task.Owned) bool { return p.left[o.Partition] == 0 })
		if len(partitions) == 0 {
			return
		}
		rows := min(max(int(promoteBytes/p.taskBytes.Load()), 1), promoteRows)
		for group := range slices.Chunk(partitions, rows) {
			each := rows / len(group)
			for _, o := range group {
				each = min(each, p.left[o.Partition])
			}
			p.move(ctx, group, each)
		}
	}
}

// move moves up to n tasks of each partition of a group.
func (p *promotion) move(ctx context.Context, group []task.Owned, n int) {
	moved, own, err := p.promote(ctx, group, n)
	switch {
	case err == nil:
		p.count(group, n, moved, own)
	case !errors.Is(err, task.ErrRefused):
		p.fail(err, group...)
	case len(group) > 1:
		half := len(group) / 2
		p.move(ctx, group[:half], n)
		p.move(ctx, group[half:], n)
	case n > 1:
		p.taskBytes.Store(promoteBytes / int64(n/2))
		p.move(ctx, group, n/2)
	default:
		buried, err := p.buryDue(ctx, group[0], err.Error())
		if err != nil || len(buried) == 0 {
			p.fail(err, group...)
			return
		}
		p.result.Buried = append(p.result.Buried, buried...)
		p.left[group[0].Partition]--
	}
}

func (p *promotion) fail(err error, group ...task.Owned) {
	if err != nil {
		p.errs = append(p.errs, err)
	}
	for _, o := range group {
		delete(p.left, o.Partition)
	}
}

func (p *promotion) count(group []task.Owned, n int, moved map[uint16]int, own map[uint16]bool) {
	for _, o := range group {
		k := moved[o.Partition]
		if k > 0 {
			p.result.Moved[o.Partition] += k
		}
		p.left[o.Partition] -= k
		if k < n {
			delete(p.left, o.Partition)
		}
		if !own[o.Partition] {
			delete(p.result.NextDue, o.Partition)
			p.result.Stale = append(p.result.Stale, o.Partition)
		}
	}
}
