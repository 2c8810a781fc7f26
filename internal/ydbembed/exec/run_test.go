package exec_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"go.uber.org/goleak"

	"github.com/taskfleet/taskfleet/internal/ydbembed/exec"
	"github.com/taskfleet/taskfleet/internal/ydbembed/issue"
	"github.com/taskfleet/taskfleet/internal/ydbembed/plan"
	"github.com/taskfleet/taskfleet/internal/ydbembed/store"
	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// One compiled query serves any number of runs at once.
func TestPlansAreShared(t *testing.T) {
	t.Parallel()
	d := queue(t, 2, 50)
	want := d.must(claim, claimParams(40)).set(0)
	q, _, err := d.compile(claim, claimParams(40))
	require.NoError(t, err)
	d.must(`UPDATE coordinated_tasks SET status = 'pending', attempt = 0u;`, nil)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 20 {
				_, values, err := d.compile(claim, claimParams(40))
				if err != nil {
					t.Error(err)
					return
				}
				tx := d.store.Begin(store.Serializable)
				a := &answer{}
				if err := exec.Run(context.Background(), q, values, exec.NewTx(tx, pool()), now, a, nil); err != nil || a.set(0) != want {
					t.Error(err, a.rows)
				}
				tx.Rollback()
			}
		})
	}
	group.Wait()
}

func TestPlansAreCached(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.must(people, nil)
	env := func(p params) plan.Env {
		e := plan.Env{Catalog: d.store.Catalog(), Database: "/local"}
		if p != nil {
			e.Params = map[string]*types.Type{"x": p["x"].t}
		}
		return e
	}
	compile := func(text string, p params) bool {
		_, hit, err := d.cache.Compile(text, env(p))
		require.NoError(t, err)
		return hit
	}
	q := "SELECT id FROM people WHERE id = $x;"
	require.False(t, compile(q, params{"x": u64(1)}))
	require.True(t, compile(q, params{"x": u64(2)}))
	require.False(t, compile(q, params{"x": u32(1)}), "another type is another plan")
	d.must(`ALTER TABLE people ADD COLUMN more Utf8;`, nil)
	require.False(t, compile(q, params{"x": u64(1)}), "another scheme is another plan")
}

func TestRunEndsWithItsContext(t *testing.T) {
	t.Parallel()
	d := open(t)
	q, _, err := d.compile(`$l = AsList(1, 2, 3, 4, 5, 6, 7, 8, 9, 10); $r = SELECT a.x AS x FROM AS_TABLE(AsList(<|x: 1|>, <|x: 2|>, <|x: 3|>, <|x: 4|>, <|x: 5|>, <|x: 6|>, <|x: 7|>, <|x: 8|>)) AS a;
		SELECT COUNT(*) FROM $r AS a CROSS JOIN $r AS b CROSS JOIN $r AS c CROSS JOIN $r AS d CROSS JOIN $r AS e CROSS JOIN $r AS f CROSS JOIN $r AS g CROSS JOIN $r AS h CROSS JOIN $r AS i;`, nil)
	require.NoError(t, err)
	for _, c := range []struct {
		status Ydb.StatusIds_StatusCode
		ctx    func() (context.Context, context.CancelFunc)
	}{
		{Ydb.StatusIds_TIMEOUT, func() (context.Context, context.CancelFunc) {
			return context.WithTimeout(context.Background(), 20*time.Millisecond)
		}},
		{Ydb.StatusIds_CANCELLED, func() (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			return ctx, cancel
		}},
	} {
		ctx, cancel := c.ctx()
		tx := d.store.Begin(store.SnapshotReadOnly)
		err := exec.Run(ctx, q, nil, exec.NewTx(tx, pool()), now, &answer{}, nil)
		require.Error(t, err)
		require.Equal(t, c.status, issue.From(err).Status)
		tx.Rollback()
		cancel()
	}
}

// A statement that fails leaves nothing behind once its transaction is rolled back.
func TestTextIsAtomic(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.must(people, nil)
	d.must(crowd, nil)
	_, err := d.try(`UPSERT INTO people (id) VALUES (50); INSERT INTO people (id) VALUES (1);`, nil)
	require.Error(t, err)
	require.Equal(t, "4", d.must(`SELECT COUNT(*) FROM people;`, nil).set(0))
}
