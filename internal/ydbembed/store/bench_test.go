package store

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

func benchStore(b *testing.B, rows int) (*Store, *Table) {
	s := open(b)
	tbl := makeTable(b, s)
	v := strings.Repeat("x", 200)
	tx := s.Begin(Serializable)
	for k := range rows {
		tx.Put(tbl, row(1, k, v), nil)
	}
	commit(b, tx)
	return s, tbl
}

func BenchmarkGet(b *testing.B) {
	const rows = 10_000
	s, tbl := benchStore(b, rows)
	tx := s.Begin(SnapshotReadOnly)
	defer tx.Rollback()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, ok, err := tx.Get(tbl, key(1, i%rows), nil, nil); !ok || err != nil {
			b.Fatal(ok, err)
		}
	}
}

// BenchmarkScan reads 100 rows of 10 000 in a snapshot of its own.
func BenchmarkScan(b *testing.B) {
	s, tbl := benchStore(b, 10_000)
	for name, need := range map[string][]bool{"all": nil, "keys": setOf(0, 1)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				tx := s.Begin(SnapshotReadOnly)
				if got := drain(b, tx.Scan(tbl, whole(1), false, need, nil), 100); len(got) != 100 {
					b.Fatal(len(got))
				}
				tx.Rollback()
			}
		})
	}
}

// BenchmarkCommit reads a row and commits a change of it, in memory.
func BenchmarkCommit(b *testing.B) {
	s, tbl := benchStore(b, 10_000)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		tx := s.Begin(Serializable)
		if _, _, err := tx.Get(tbl, key(1, i%10_000), nil, nil); err != nil {
			b.Fatal(err)
		}
		tx.Put(tbl, row(1, i%10_000, "changed"), nil)
		if err := tx.Commit(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDurableCommit is bound by the disk's fsync; many committers share one.
func BenchmarkDurableCommit(b *testing.B) {
	for name, committers := range map[string]int{"1": 1, "64": 64} {
		b.Run(name, func(b *testing.B) {
			s, err := Open(Options{Dir: b.TempDir(), TTLInterval: -1})
			require.NoError(b, err)
			defer s.Close()
			tbl := makeTable(b, s)
			var next, done atomic.Int64
			b.ResetTimer()
			errs := make(chan error, committers)
			for range committers {
				go func() {
					for {
						k := next.Add(1)
						if k > int64(b.N) {
							errs <- nil
							return
						}
						tx := s.Begin(Serializable)
						tx.Put(tbl, row(1, int(k), "a row of the usual kind"), nil)
						if err := tx.Commit(context.Background()); err != nil {
							errs <- err
							return
						}
						done.Add(1)
					}
				}()
			}
			for range committers {
				require.NoError(b, <-errs)
			}
			b.ReportMetric(float64(done.Load())/b.Elapsed().Seconds(), "commits/s")
		})
	}
}

// BenchmarkConsumedHead reads the first row of a range whose first 20 000 rows
// were deleted one by one, as a queue does.
func BenchmarkConsumedHead(b *testing.B) {
	const consumed = 20_000
	s, tbl := benchStore(b, consumed+100)
	for from := 0; from < consumed; from += 100 {
		tx := s.Begin(Serializable)
		for k := from; k < from+100; k++ {
			tx.Delete(tbl, key(1, k), nil)
		}
		commit(b, tx)
	}
	b.ReportAllocs()
	for b.Loop() {
		tx := s.Begin(SnapshotReadOnly)
		if got := drain(b, tx.Scan(tbl, whole(1), false, nil, nil), 1); len(got) != 1 {
			b.Fatal("no row")
		}
		tx.Rollback()
	}
}
