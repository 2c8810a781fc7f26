package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
)

func TestAcknowledgedCommitsSurviveACrash(t *testing.T) {
	for _, lucky := range []int{0, 50} { // per cent of what was not synced that survives all the same
		t.Run(fmt.Sprint(lucky), func(t *testing.T) {
			fs := vfs.NewCrashableMem()
			s, err := Open(Options{Dir: "data", TTLInterval: -1, fs: fs})
			require.NoError(t, err)
			tbl := makeTable(t, s)

			const writers = 8
			var acknowledged [writers]atomic.Int64
			var group errgroup.Group
			stop := make(chan struct{})
			for w := range writers {
				group.Go(func() error {
					for k := 1; ; k++ {
						select {
						case <-stop:
							return nil
						default:
						}
						tx := s.Begin(Serializable) // two rows, which must stand or fall together
						tx.Put(tbl, row(w, k, "left"), nil)
						tx.Put(tbl, row(w+100, k, "right"), nil)
						if err := tx.Commit(context.Background()); err != nil {
							return err
						}
						acknowledged[w].Store(int64(k))
					}
				})
			}
			for range 3 {
				require.Eventually(t, func() bool { return acknowledged[0].Load() > 20 }, waitLong, waitShort)
				var before [writers]int64
				for w := range writers {
					before[w] = acknowledged[w].Load()
				}
				crashed := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: lucky, RNG: rand.New(rand.NewPCG(1, 2))})
				checkAfterCrash(t, crashed, before[:])
			}
			close(stop)
			require.NoError(t, group.Wait())
			require.NoError(t, s.Close())
		})
	}
}

func checkAfterCrash(t *testing.T, fs vfs.FS, acknowledged []int64) {
	s, err := Open(Options{Dir: "data", TTLInterval: -1, fs: fs})
	require.NoError(t, err)
	defer s.Close()
	tbl := table(t, s, tablePath)
	tx := s.Begin(SnapshotReadOnly)
	defer tx.Rollback()
	for w, least := range acknowledged {
		left := drain(t, tx.Scan(tbl, whole(w), false, nil, nil), 1<<30)
		right := drain(t, tx.Scan(tbl, whole(w+100), false, nil, nil), 1<<30)
		require.GreaterOrEqual(t, len(left), int(least))
		require.Len(t, right, len(left), "half a transaction")
	}
}

func TestConcurrentCommits(t *testing.T) {
	s := open(t)
	tbl := makeTable(t, s)
	const workers, rounds, counters = 8, 40, 3
	for c := range counters {
		put(t, s, tbl, row(0, c, ""))
	}
	var conflicts atomic.Int64
	var group sync.WaitGroup
	errs := make(chan error, workers)
	for w := range workers {
		group.Go(func() {
			for i := 0; i < rounds; {
				err := increment(s, tbl, (w+i)%counters)
				switch {
				case err == nil:
					i++
				case isConflict(err):
					conflicts.Add(1)
				default:
					errs <- err
					return
				}
			}
		})
	}
	group.Wait()
	close(errs)
	require.NoError(t, <-errs)
	sum := int64(0)
	tx := s.Begin(SnapshotReadOnly)
	defer tx.Rollback()
	for _, r := range drain(t, tx.Scan(tbl, Range{}, false, nil, nil), counters) {
		sum += r[3].Int()
	}
	require.EqualValues(t, counters+workers*rounds, sum, "no increment is lost")
	t.Logf("%d conflicts", conflicts.Load())
}

func increment(s *Store, tbl *Table, counter int) error {
	tx := s.Begin(Serializable)
	defer tx.Rollback()
	r, ok, err := tx.Get(tbl, key(0, counter), nil, nil)
	if err != nil || !ok {
		return errors.Join(err, fmt.Errorf("row there: %t", ok))
	}
	n := types.IntValue(types.Int64, r[3].Int()+1)
	tx.Merge(tbl, append(key(0, counter), types.NullValue, n, types.NullValue), setOf(3), nil)
	return tx.Commit(context.Background())
}

func TestCloseEndsWhatIsOpen(t *testing.T) {
	s, err := Open(Options{})
	require.NoError(t, err)
	tbl := makeTable(t, s)
	put(t, s, tbl, row(1, 1, ""), row(1, 2, ""))
	reading, writing := s.Begin(SnapshotReadOnly), s.Begin(Serializable)
	it := reading.Scan(tbl, Range{}, false, nil, nil)
	_, _, err = it.Next()
	require.NoError(t, err)
	writing.Put(tbl, row(1, 1, ""), nil)
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())

	_, _, err = it.Next()
	require.ErrorIs(t, err, ErrClosed)
	it.Close()
	require.ErrorIs(t, writing.Commit(t.Context()), ErrClosed)
	_, _, err = s.Begin(Serializable).Get(tbl, key(1, 1), nil, nil)
	require.ErrorIs(t, err, ErrClosed)
	require.ErrorIs(t, s.MetaPut("a", nil), ErrClosed)
	_, _, err = s.MetaGet("a")
	require.ErrorIs(t, err, ErrClosed)
	require.ErrorIs(t, s.MetaScan("", nil), ErrClosed)
	require.ErrorIs(t, s.DropTable(tablePath), ErrClosed)
	_, err = s.RunTTL(t.Context())
	require.NoError(t, err, "nothing has a TTL")
}

func TestCloseWhileBusy(t *testing.T) {
	for range 10 {
		s, err := Open(Options{})
		require.NoError(t, err)
		tbl := makeTable(t, s)
		var group errgroup.Group
		started := make(chan struct{}, 4)
		for w := range 4 {
			group.Go(func() error {
				for k := 0; ; k++ {
					tx := s.Begin(Serializable)
					_, _, err := tx.Scan(tbl, whole(w), true, nil, nil).Next()
					if err == nil {
						tx.Put(tbl, row(w, k, ""), nil)
						err = tx.Commit(context.Background())
					}
					tx.Rollback()
					if k == 5 {
						started <- struct{}{}
					}
					if errors.Is(err, ErrClosed) {
						return nil
					}
					if err != nil {
						return err
					}
				}
			})
		}
		for range 4 {
			<-started
		}
		require.NoError(t, s.Close())
		require.NoError(t, group.Wait())
	}
}

func TestReaderWaitsUntilWhatItSawIsOnDisk(t *testing.T) {
	disk := newSpace(func() (uint64, error) { return 1 << 40, nil }, &pace{}, slog.New(slog.DiscardHandler))
	w := newWatermark()
	w.raise(3)
	require.NoError(t, w.wait(t.Context(), 3, disk))
	ended := make(chan error, 1)
	go func() { ended <- w.wait(context.Background(), 5, disk) }()
	w.raise(4)
	select {
	case err := <-ended:
		t.Fatalf("returned early: %v", err)
	default:
	}
	w.raise(6)
	require.NoError(t, <-ended)
	w.raise(5) // later and lower
	require.NoError(t, w.wait(t.Context(), 6, disk))

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, w.wait(ctx, 9, disk), context.Canceled)
	boom := errors.New("boom")
	w.fail(boom)
	require.ErrorIs(t, w.wait(t.Context(), 9, disk), boom)
	require.NoError(t, w.wait(t.Context(), 6, disk), "what is on disk stays so")
}
