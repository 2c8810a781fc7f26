package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
)

const (
	ttlScanRows   = 10_000 // read under one snapshot
	ttlDeleteRows = 256    // deleted by one transaction
)

// deleteExpired runs the deleter until the store closes.
func (s *Store) deleteExpired(ctx context.Context, interval time.Duration) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		deleted, err := s.RunTTL(ctx)
		if err != nil && ctx.Err() == nil {
			s.log.Error("store: deleting expired rows", "deleted", deleted, "error", err)
		} else if deleted > 0 {
			s.log.Info("store: deleted expired rows", "deleted", deleted)
		}
	}
}

// RunTTL deletes the expired rows of all tables once, in small transactions,
// and returns how many it deleted. A row that is written meanwhile is looked at
// again, and left if it is no longer expired.
func (s *Store) RunTTL(ctx context.Context) (deleted int, err error) {
	for _, t := range s.Catalog().Tables() {
		if t.TTL == nil {
			continue
		}
		n, err := s.expireTable(ctx, t)
		deleted += n
		if err != nil && !errors.Is(err, ErrSchemeChanged) { // dropped or altered: the next run sees it
			return deleted, fmt.Errorf("store: expiring rows of %s: %w", t.Path, err)
		}
	}
	return deleted, nil
}

func (s *Store) expireTable(ctx context.Context, t *Table) (deleted int, err error) {
	expired, err := expiry(t)
	if err != nil {
		return 0, err
	}
	var from *Bound
	for {
		keys, last, err := s.expiredKeys(ctx, t, from, expired)
		if err != nil {
			return deleted, err
		}
		for len(keys) > 0 {
			batch := keys[:min(len(keys), ttlDeleteRows)]
			n, err := s.deleteIfExpired(ctx, t, batch, expired)
			var conflict *ConflictError
			if errors.As(err, &conflict) {
				continue // somebody wrote one of them: look at them again
			}
			if err != nil {
				return deleted, err
			}
			deleted += n
			keys = keys[len(batch):]
		}
		if last == nil {
			return deleted, nil
		}
		from = &Bound{Prefix: last}
	}
}

// expiredKeys looks through a stretch of the table; last is where to go on,
// nil at the end.
func (s *Store) expiredKeys(ctx context.Context, t *Table, from *Bound, expired expiryFunc) (keys [][]types.Value, last []types.Value, err error) {
	need := make([]bool, len(t.Columns))
	for _, i := range t.Key {
		need[i] = true
	}
	need[t.Column(t.TTL.Column)] = true
	tx := s.Begin(SnapshotReadOnly)
	defer tx.Rollback()
	it := tx.Scan(t, Range{From: from}, false, need, nil)
	now := s.clock()
	for range ttlScanRows {
		row, ok, err := it.Next()
		if err != nil || !ok {
			return keys, nil, err
		}
		last = t.KeyOf(row)
		if expired(row, now) {
			keys = append(keys, last)
		}
	}
	return keys, last, context.Cause(ctx)
}

// deleteIfExpired looks at the rows again and deletes what still is expired. It
// conflicts if one of those is written meanwhile; others may change freely.
func (s *Store) deleteIfExpired(ctx context.Context, t *Table, keys [][]types.Value, expired expiryFunc) (deleted int, err error) {
	tx := s.Begin(SnapshotReadWrite)
	defer tx.Rollback()
	now := s.clock()
	for _, key := range keys {
		row, ok, err := tx.Get(t, key, nil, nil)
		if err != nil {
			return 0, err
		}
		if ok && expired(row, now) {
			tx.Delete(t, key, nil)
			deleted++
		}
	}
	if err := tx.Commit(ctx); err != nil {
		return 0, err
	}
	return deleted, nil
}

type expiryFunc func(row Row, now time.Time) bool

// expiry returns the test for expired rows of a table with TTL.
func expiry(t *Table) (expiryFunc, error) {
	at := t.Column(t.TTL.Column)
	if at < 0 {
		return nil, fmt.Errorf("TTL column %s is missing", t.TTL.Column)
	}
	if t.TTL.After < 0 {
		return nil, fmt.Errorf("TTL of %s is negative", t.TTL.After)
	}
	kind := t.Columns[at].Type.Kind
	var moment func(types.Value) time.Time
	switch {
	case t.TTL.Unit == "" && (kind == types.Date || kind == types.Datetime || kind == types.Timestamp):
		moment = types.Value.Time
	case kind == types.Uint32 || kind == types.Uint64:
		unit, ok := map[string]uint64{
			"SECONDS": 1, "MILLISECONDS": 1e3, "MICROSECONDS": 1e6, "NANOSECONDS": 1e9,
		}[t.TTL.Unit]
		if !ok {
			return nil, fmt.Errorf("TTL column %s needs a unit, got %q", t.TTL.Column, t.TTL.Unit)
		}
		moment = func(v types.Value) time.Time {
			return time.Unix(int64(min(v.Uint()/unit, 1<<40)), int64(v.Uint()%unit*(1e9/unit)))
		}
	default:
		return nil, fmt.Errorf("TTL on column %s of type %s with unit %q", t.TTL.Column, t.Columns[at].Type, t.TTL.Unit)
	}
	after := t.TTL.After
	return func(row Row, now time.Time) bool {
		v := row[at]
		return !v.IsNull() && !moment(v).Add(after).After(now)
	}, nil
}
