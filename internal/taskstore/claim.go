package taskstore

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ydb-platform/ydb-go-sdk/v3/query"
	"github.com/ydb-platform/ydb-go-sdk/v3/types"

	"github.com/taskfleet/taskfleet/pkg/task"
)

// claimText locks those keys that are free, in partitions whose epoch is still
// the caller's. It reads each partition and each task once. A repetition finds
// its own lock values and answers as the first attempt would have. A task that is
// not locked and carries this very lock value was claimed by this request and
// given back: an execution that comes late must not lock it again.
var claimText = fmt.Sprintf(`$now = CurrentUtcTimestamp();
$current = SELECT p.partition_id AS partition_id, p.epoch AS epoch
FROM AS_TABLE($owned) AS o JOIN partitions AS p ON p.partition_id = o.partition_id;
$free = SELECT %s, %s,
  t.attempt AS attempt,
  COALESCE(t.crashes, 0u) + IF(t.status = "locked"u AND COALESCE(t.lock_value != k.lock_value, true), 1u, 0u) AS crashes,
  t.last_error AS last_error, t.scheduled_at AS scheduled_at,
  k.lock_value AS lock_value, k.epoch AS lock_epoch,
  $now + $millisecond * IF(t.timeout_ms > 0u, CAST(t.timeout_ms AS Int64), $timeout_ms) + $margin AS locked_until
FROM AS_TABLE($keys) AS k
JOIN $current AS c ON c.partition_id = k.partition_id
JOIN coordinated_tasks AS t ON t.partition_id = k.partition_id AND t.rank = k.rank AND t.id = k.id
WHERE c.epoch = k.epoch AND (
  t.status = "locked"u AND (t.lock_epoch < k.epoch OR t.locked_until < $now OR t.lock_value = k.lock_value)
  OR COALESCE(t.status != "locked"u, true) AND COALESCE(t.lock_value != k.lock_value, true));
SELECT partition_id, epoch FROM $current;
SELECT partition_id, rank, id, lock_value, priority, kind, payload, partition_key, attempt, crashes, id_given, max_attempts,
  timeout_ms, scheduled_at, created_at, last_error, headers, $now AS now FROM $free;
UPSERT INTO coordinated_tasks
SELECT partition_id, rank, id, "locked"u AS status, crashes, lock_value, lock_epoch, $owner AS lock_owner, locked_until FROM $free;
`, columns("t", "partition_id", "rank", "id"), columns("t", fixedColumns...))

// Claim locks those of the keys that are free, or whose lock is dead, which is
// counted as a crash. What is missing in the result is somebody else's. It may
// be repeated: lock values are made of the request's id, and a repetition of the
// same request finds its own.
func (s *Store) Claim(ctx context.Context, req task.ClaimRequest) (task.ClaimResult, error) {
	if len(req.Keys) == 0 {
		return task.ClaimResult{}, nil
	}
	epochs := make(map[uint16]uint64, len(req.Owned))
	for _, o := range req.Owned {
		epochs[o.Partition] = o.Epoch
	}
	number := 0
	keys := list(req.Keys, func(k task.Key) []types.StructValueOption {
		number++
		return append(keyFields(k),
			types.StructFieldValue("epoch", types.Uint64Value(epochs[k.Partition])),
			types.StructFieldValue("lock_value", types.TextValue(req.LockValue(number-1))),
		)
	})
	var claimed []*task.Claimed
	var current map[uint16]uint64
	_, err := s.run(ctx, statement{
		op: "claim", text: s.texts.claim,
		params: params{
			"$owned":       ownedList(req.Owned),
			"$keys":        keys,
			"$owner":       types.TextValue(req.Owner),
			"$millisecond": types.IntervalValueFromDuration(time.Millisecond),
			"$timeout_ms":  types.Int64Value(int64(milliseconds(req.DefaultTimeout))),
			"$margin":      types.IntervalValueFromDuration(req.Margin),
		},
		reset: func() { claimed, current = nil, map[uint16]uint64{} },
		row: func(set int, row query.Row) error {
			if set == 0 {
				var o task.Owned
				err := row.Scan(&o.Partition, &o.Epoch)
				current[o.Partition] = o.Epoch
				return err
			}
			c, err := scanClaimed(row)
			if err != nil {
				return err
			}
			c.Epoch = epochs[c.Key.Partition]
			claimed = append(claimed, c)
			return nil
		},
	})
	if err != nil {
		return task.ClaimResult{}, err
	}
	result := task.ClaimResult{Claimed: inOrder(claimed, req.Keys)}
	for _, o := range req.Owned {
		if epoch, taken := current[o.Partition]; !taken || epoch != o.Epoch {
			result.Stale = append(result.Stale, o.Partition)
		}
	}
	return result, nil
}

// inOrder sorts what was claimed as it was asked for: rows come in no order.
func inOrder(claimed []*task.Claimed, keys []task.Key) []*task.Claimed {
	place := make(map[task.Key]int, len(keys))
	for i, k := range keys {
		place[k] = i
	}
	slices.SortFunc(claimed, func(a, b *task.Claimed) int { return place[a.Key] - place[b.Key] })
	return claimed
}

func scanClaimed(row query.Row) (*task.Claimed, error) {
	var (
		c        task.Claimed
		timeout  uint64
		headers  string
		due, now time.Time
	)
	err := row.Scan(&c.Key.Partition, &c.Key.Rank, &c.Key.ID, &c.LockValue, &c.Priority, &c.Kind, &c.Payload,
		&c.PartitionKey, &c.Attempt, &c.Crashes, &c.IDGiven, &c.MaxAttempts, &timeout, &due, &c.CreatedAt, &c.LastError, &headers, &now)
	if err != nil {
		return nil, err
	}
	c.ID, c.Partition = c.Key.ID, c.Key.Partition
	c.Attempt++ // the row has those that are recorded
	c.Timeout = time.Duration(timeout) * time.Millisecond
	c.RunAt = due
	c.Waited = max(now.Sub(due), 0)
	c.Headers = parseHeaders(headers)
	return &c, nil
}
