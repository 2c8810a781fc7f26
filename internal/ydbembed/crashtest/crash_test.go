package crashtest

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/ydb-platform/ydb-go-sdk/v3"
	"github.com/ydb-platform/ydb-go-sdk/v3/query"

	"github.com/taskfleet/taskfleet/internal/lab/fleet"
)

const (
	writers = 8
	rounds  = 5
)

// TestAcknowledgedCommitsSurviveKill kills the server in the middle of writes,
// several times over on the same folder, and checks everything after each start.
func TestAcknowledgedCommitsSurviveKill(t *testing.T) {
	bin, err := fleet.Build()
	require.NoError(t, err)
	program, dir := filepath.Join(bin, "ydbembed"), t.TempDir()
	crew := make([]*writer, writers)
	for i := range crew {
		crew[i] = &writer{id: uint32(i)}
	}
	s := start(t, program, dir)
	prepare(t, s)
	for round := range rounds {
		// The kill falls when a random number of commits was acknowledged, while
		// all other writers are somewhere inside theirs.
		writeUntilKilled(t, s, crew, 20+rand.Int64N(400))
		began := time.Now()
		s = start(t, program, dir)
		recovery := time.Since(began)
		found := read(t, s)
		found.check(t, crew)
		t.Logf("round %d: %d tried, %d acknowledged, %d found, ready again in %s",
			round, tried(crew), acknowledged(crew), len(found.seals), recovery.Round(time.Millisecond))
	}
	s.kill(t)
}

// prepare makes the tables and the counter.
func prepare(t *testing.T, s *server) {
	t.Helper()
	db, err := connect(t.Context(), s.dsn)
	require.NoError(t, err)
	defer disconnect(db)
	require.NoError(t, db.Query().Exec(t.Context(), schemeText))
	require.NoError(t, db.Query().Exec(t.Context(), counterText))
}

// writeUntilKilled lets all writers write at once and kills the server after
// the given number of acknowledged commits. It returns when all have stopped.
func writeUntilKilled(t *testing.T, s *server, crew []*writer, limit int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	clients := make([]*ydb.Driver, len(crew))
	for i := range clients {
		var err error
		clients[i], err = connect(ctx, s.dsn)
		require.NoError(t, err)
	}
	var count atomic.Int64
	reached := make(chan struct{})
	var wg sync.WaitGroup
	for i, w := range crew {
		wg.Go(func() {
			w.run(ctx, clients[i], func() {
				if count.Add(1) == limit {
					close(reached)
				}
			})
			disconnect(clients[i])
		})
	}
	select {
	case <-reached:
	case <-ctx.Done():
		require.Fail(t, "too few commits", "%d of %d in %s\n%s", count.Load(), limit, patience, s.log)
	}
	s.kill(t)
	cancel()
	wg.Wait()
}

// contents is what a start found.
type contents struct {
	seals   map[writeID]uint32            // number of parts that the write should have
	parts   map[writeID]map[uint32]string // bodies
	counter uint64
}

type writeID struct {
	writer uint32
	seq    uint64
}

// read takes everything out of the database in one snapshot.
func read(t *testing.T, s *server) contents {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	db, err := connect(ctx, s.dsn)
	require.NoError(t, err)
	defer disconnect(db)
	c := contents{seals: map[writeID]uint32{}, parts: map[writeID]map[uint32]string{}}
	each(ctx, t, db, "SELECT writer, seq, parts FROM seals", func(row query.Row) error {
		var id writeID
		var parts uint32
		err := row.Scan(&id.writer, &id.seq, &parts)
		c.seals[id] = parts
		return err
	})
	each(ctx, t, db, "SELECT writer, seq, part, body FROM parts", func(row query.Row) error {
		var id writeID
		var part uint32
		var text *string
		if err := row.Scan(&id.writer, &id.seq, &part, &text); err != nil {
			return err
		}
		if c.parts[id] == nil {
			c.parts[id] = map[uint32]string{}
		}
		c.parts[id][part] = *text
		return nil
	})
	each(ctx, t, db, "SELECT value FROM counters WHERE id = 1u", func(row query.Row) error {
		return row.Scan(&c.counter)
	})
	return c
}

func each(ctx context.Context, t *testing.T, db *ydb.Driver, text string, f func(query.Row) error) {
	t.Helper()
	rows, err := db.Query().QueryResultSet(ctx, text)
	require.NoError(t, err)
	defer func() { require.NoError(t, rows.Close(ctx)) }()
	for row, err := range rows.Rows(ctx) {
		require.NoError(t, err)
		require.NoError(t, f(row))
	}
}

// check holds the contents against what the writers know.
func (c contents) check(t *testing.T, crew []*writer) {
	t.Helper()
	for _, w := range crew {
		for _, seq := range w.acks {
			require.Contains(t, c.seals, writeID{w.id, seq}, "an acknowledged commit is lost")
		}
	}
	raised := uint64(0)
	for id, count := range c.seals {
		require.Less(t, id.seq, crew[id.writer].next, "a write that nobody made")
		require.Equal(t, partCount(id.writer, id.seq), count)
		require.Len(t, c.parts[id], int(count), "a transaction is there in part: %v", id)
		for part, text := range c.parts[id] {
			require.Equal(t, body(id.writer, id.seq, part), text)
		}
		if crew[id.writer].kind() == counting {
			raised++
		}
	}
	require.Len(t, c.parts, len(c.seals), "parts without a seal")
	require.Equal(t, raised, c.counter, "the counter and the transactions that raised it disagree")
}

func tried(crew []*writer) (n uint64) {
	for _, w := range crew {
		n += w.next
	}
	return n
}

func acknowledged(crew []*writer) (n int) {
	for _, w := range crew {
		n += len(w.acks)
	}
	return n
}
