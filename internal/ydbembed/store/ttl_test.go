package store

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
)

const (
	waitLong  = 20 * time.Second
	waitShort = time.Millisecond
)

func ttlStore(t testing.TB, now time.Time, ttl TTL, interval time.Duration) (*Store, *Table) {
	s := open(t, func(o *Options) {
		o.Clock = func() time.Time { return now }
		o.TTLInterval = interval
	})
	def := testTable(tablePath)
	def.TTL = &ttl
	require.NoError(t, s.CreateTable(def))
	return s, table(t, s, tablePath)
}

// row(p, k, v) has at = k seconds.
func TestTTLDeletesWhatExpiredAndNothingElse(t *testing.T) {
	s, tbl := ttlStore(t, time.Unix(1100, 0), TTL{Column: "at", After: 100 * time.Second}, -1)
	put(t, s, tbl, row(1, 999, ""), row(1, 1000, ""), row(1, 1001, ""))
	forever := row(1, 5, "")
	forever[4] = types.NullValue
	put(t, s, tbl, forever)
	n, err := s.RunTTL(t.Context())
	require.NoError(t, err)
	require.Equal(t, 2, n)
	left := drain(t, s.Begin(SnapshotReadOnly).Scan(tbl, Range{}, false, nil, nil), 9)
	require.Len(t, left, 2)
	require.EqualValues(t, 5, left[0][1].Int())
	require.EqualValues(t, 1001, left[1][1].Int())
}

func TestTTLOfManyRows(t *testing.T) {
	s, tbl := ttlStore(t, time.Unix(1<<30, 0), TTL{Column: "at"}, -1)
	const rows = 2*ttlScanRows + 7
	tx := s.Begin(Serializable)
	for k := range rows {
		tx.Put(tbl, row(k%3, k, ""), nil)
	}
	commit(t, tx)
	n, err := s.RunTTL(t.Context())
	require.NoError(t, err)
	require.Equal(t, rows, n)
	require.Empty(t, drain(t, s.Begin(SnapshotReadOnly).Scan(tbl, Range{}, false, nil, nil), 1))
}

func TestTTLLeavesARowThatWasUpdatedMeanwhile(t *testing.T) {
	s, tbl := ttlStore(t, time.Unix(1100, 0), TTL{Column: "at"}, -1)
	put(t, s, tbl, row(1, 1, ""), row(1, 2, ""))
	expired, err := expiry(tbl)
	require.NoError(t, err)
	keys, _, err := s.expiredKeys(t.Context(), tbl, nil, expired)
	require.NoError(t, err)
	require.Len(t, keys, 2)
	fresh := row(1, 1, "fresh")
	fresh[4] = types.TimestampValue(time.Unix(2000, 0))
	put(t, s, tbl, fresh) // after the deleter found it
	n, err := s.deleteIfExpired(t.Context(), tbl, keys, expired)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	_, ok := get(t, s.Begin(SnapshotReadOnly), tbl, key(1, 1))
	require.True(t, ok)
}

func TestTTLRaceWithUpdates(t *testing.T) {
	now := time.Unix(1100, 0)
	s, tbl := ttlStore(t, now, TTL{Column: "at"}, -1)
	for i := range 200 {
		put(t, s, tbl, row(1, 1, "old"))
		done := make(chan error, 1)
		go func() {
			_, err := s.RunTTL(context.Background())
			done <- err
		}()
		tx := s.Begin(Serializable)
		r, ok, err := tx.Get(tbl, key(1, 1), nil, nil)
		require.NoError(t, err)
		if ok {
			r = append(Row(nil), r...)
			r[4] = types.TimestampValue(now.Add(time.Hour))
			tx.Put(tbl, r, nil)
		}
		err = tx.Commit(t.Context())
		require.NoError(t, <-done)
		_, there := get(t, s.Begin(SnapshotReadOnly), tbl, key(1, 1))
		require.Equal(t, ok && err == nil, there, "round %d: the update's outcome tells", i)
		undo := s.Begin(Serializable)
		undo.Delete(tbl, key(1, 1), nil)
		commit(t, undo)
	}
}

func TestTTLOfIntegersAndDates(t *testing.T) {
	now := time.Unix(10*86400, 0)
	for _, c := range []struct {
		kind    types.Kind
		unit    string
		at      uint64 // expires now
		perUnit uint64
	}{
		{types.Uint32, "SECONDS", uint64(now.Unix()), 1},
		{types.Uint64, "MILLISECONDS", uint64(now.UnixMilli()), 1},
		{types.Uint64, "MICROSECONDS", uint64(now.UnixMicro()), 1},
		{types.Uint64, "NANOSECONDS", uint64(now.UnixNano()), 1},
		{types.Date, "", 10, 1},
		{types.Datetime, "", uint64(now.Unix()), 1},
	} {
		t.Run(c.kind.String()+c.unit, func(t *testing.T) {
			s := open(t, func(o *Options) { o.Clock = func() time.Time { return now } })
			def := testTable(tablePath)
			def.Columns[4] = Column{Name: "at", Type: types.Primitive(c.kind)}
			def.TTL = &TTL{Column: "at", Unit: c.unit}
			require.NoError(t, s.CreateTable(def))
			tbl := table(t, s, tablePath)
			for k, at := range []uint64{c.at, c.at + 1} {
				r := row(1, k, "")
				r[4] = types.UintValue(c.kind, at)
				put(t, s, tbl, r)
			}
			n, err := s.RunTTL(t.Context())
			require.NoError(t, err)
			require.Equal(t, 1, n)
		})
	}
}

func TestTTLRunsByItself(t *testing.T) {
	s, tbl := ttlStore(t, time.Unix(1<<30, 0), TTL{Column: "at"}, time.Millisecond)
	put(t, s, tbl, row(1, 1, ""))
	require.Eventually(t, func() bool {
		tx := s.Begin(SnapshotReadOnly)
		defer tx.Rollback()
		_, ok := get(t, tx, tbl, key(1, 1))
		return !ok
	}, waitLong, waitShort)
}

func TestTTLSurvivesSchemeChanges(t *testing.T) {
	s, tbl := ttlStore(t, time.Unix(1<<30, 0), TTL{Column: "at"}, time.Millisecond)
	put(t, s, tbl, row(1, 1, ""))
	for range 20 {
		require.NoError(t, s.DropTable(tablePath))
		def := testTable(tablePath)
		def.TTL = &TTL{Column: "at"}
		require.NoError(t, s.CreateTable(def))
		put(t, s, table(t, s, tablePath), row(1, 1, ""))
		_, err := s.RunTTL(t.Context())
		require.NoError(t, err)
	}
}
