package taskmodel

import (
	"context"

	"github.com/taskfleet/taskfleet/pkg/task"
)

// CountRunnable counts the pending and the locked tasks of partitions.
func (m *Model) CountRunnable(ctx context.Context, partitions []uint16) (map[uint16]task.Runnable, error) {
	unlock, err := m.begin(ctx, "count_runnable")
	if err != nil {
		return nil, err
	}
	defer unlock()
	counts := map[uint16]task.Runnable{}
	for _, p := range partitions {
		counts[p] = task.Runnable{}
	}
	for _, r := range m.rows {
		c, asked := counts[r.Partition]
		switch {
		case !asked:
			continue
		case r.Status == task.Pending:
			c.Pending++
			c.Oldest = max(c.Oldest, m.Now().Sub(r.RunAt))
		case r.Status == task.Locked:
			c.Locked++
		}
		counts[r.Partition] = c
	}
	return counts, nil
}

// CountDelayed counts the tasks of partitions that are not due.
func (m *Model) CountDelayed(ctx context.Context, partitions []uint16) (map[uint16]uint64, error) {
	unlock, err := m.begin(ctx, "count_delayed")
	if err != nil {
		return nil, err
	}
	defer unlock()
	counts := map[uint16]uint64{}
	for _, p := range partitions {
		counts[p] = 0
	}
	for _, r := range m.rows {
		if _, asked := counts[r.Partition]; asked && r.Status == task.Delayed {
			counts[r.Partition]++
		}
	}
	return counts, nil
}

// Replay makes dead tasks new, and returns those that were dead.
func (m *Model) Replay(keys []task.Key) []task.Key {
	m.mu.Lock()
	defer m.mu.Unlock()
	var moved []task.Key
	for _, k := range keys {
		if r := m.rows[k.ID]; r != nil && r.Partition == k.Partition && r.Status == task.Dead {
			r.Status, r.Attempt, r.Crashes, r.RunAt, r.LockValue = task.Pending, 0, 0, m.Now(), ""
			moved = append(moved, k)
		}
	}
	return moved
}
