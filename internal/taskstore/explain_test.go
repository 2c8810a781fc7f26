package taskstore_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/ydb-platform/ydb-go-sdk/v3/query"

	"github.com/taskfleet/taskfleet/internal/taskstore"
	"github.com/taskfleet/taskfleet/pkg/task"
)

// TestNoStatementReadsAWholeTable asks the database for the plan of every
// statement in every variant that the product sends. Counting for people may
// read everything, and the settings are a handful of rows. The fence is read by
// its key, or each claim would cost what a fleet has of partitions.
func TestNoStatementReadsAWholeTable(t *testing.T) {
	t.Parallel()
	b := setup(t, taskstore.Options{})
	seen := map[string]taskstore.Seen{}
	b.store.Watch(func(s taskstore.Seen) error { seen[s.Text] = s; return nil })
	b.exercise()
	b.store.Watch(nil)
	require.Greater(t, len(seen), 40)
	fenced := map[string]bool{}
	for text, s := range seen {
		plan := b.plan(s)
		scanned := fullScans(t, plan)
		switch s.Op {
		case "stats", "settings", "partitions":
			require.NotEmpty(t, scanned, "%s: the check must see a scan where there is one", s.Op)
		default:
			require.Empty(t, scanned, text)
			for _, how := range readsOf(t, plan, "partitions") {
				fenced[s.Op] = true
				require.Contains(t, []string{"Lookup", "MultiLookup"}, how, text)
			}
		}
	}
	require.Equal(t, map[string]bool{
		"bury": true, "bury due": true, "claim": true, "finish: resolve": true, "promote": true, "raise": true,
	}, fenced)
}

// exercise runs every operation in every variant.
func (b *bundle) exercise() {
	ctx := b.t.Context()
	b.enqueue(task.Task{Kind: "k"})
	_, err := b.store.KnownID(ctx, "key-")
	require.NoError(b.t, err)
	for lists := range 8 {
		var tasks []task.Task
		if lists&1 != 0 {
			tasks = append(tasks, task.Task{Kind: "k"})
		}
		if lists&2 != 0 {
			tasks = append(tasks, task.Task{Kind: "k", Delay: time.Microsecond})
		}
		if lists&4 != 0 {
			tasks = append(tasks, task.Task{Kind: "k", ID: uuid.NewString(), IDGiven: true})
		}
		if len(tasks) > 0 {
			batch := b.enqueue(tasks...)
			_, err := b.store.Enqueue(ctx, batch) // again
			require.NoError(b.t, err)
			_, err = b.store.Split(ctx, batch.ID)
			require.NoError(b.t, err)
		}
	}
	for n := 1; n <= 16; n++ {
		owned := b.own(n)
		for p := range owned {
			b.enqueue(task.Task{Kind: "k", Partition: uint16(p), RunAt: time.Now().Add(-time.Hour), Delay: 0})
		}
		_, err := b.store.Promote(ctx, owned, 10)
		require.NoError(b.t, err)
		claimed := b.claim(owned...)
		if n == 1 {
			continue
		}
		// The first outcome of every combination.
		var results []task.Result
		for i, c := range claimed {
			outcome := task.Outcome(i%4 + 1)
			if n&(1<<(outcome-1)) != 0 || n == 16 {
				results = append(results, finishing(c, outcome))
			}
		}
		_, err = b.store.Finish(ctx, results)
		require.NoError(b.t, err)
	}
	owned := b.own(16)
	for p := range owned {
		b.enqueue(task.Task{Kind: "k", Partition: uint16(p), Delay: time.Microsecond})
		b.enqueue(task.Task{Kind: "k", Partition: uint16(p), Delay: 24 * time.Hour})
	}
	for n := 16; n >= 1; n /= 2 {
		_, err := b.store.Promote(ctx, owned[:n], 1)
		require.NoError(b.t, err)
	}
	// More partitions than there are: the widest texts.
	many := make([]task.Cursor, 40)
	for i := range many {
		many[i].Partition = uint16(i)
	}
	_, err = b.store.Candidates(ctx, many, 10)
	require.NoError(b.t, err)
	wide := make([]task.Owned, 32)
	for i := range wide {
		wide[i].Partition = uint16(i)
	}
	_, err = b.store.Promote(ctx, wide, 10)
	require.NoError(b.t, err)
	unanswered := finishing(b.claim(owned...)[0], task.OutcomeCompleted)
	for range 2 {
		_, err = b.store.Finish(ctx, []task.Result{unanswered})
		require.NoError(b.t, err)
		unanswered.Repeated = true
	}
	_, err = b.store.CountRunnable(ctx, []uint16{1, 2, 3})
	require.NoError(b.t, err)
	_, err = b.store.CountDelayed(ctx, []uint16{1, 2, 3})
	require.NoError(b.t, err)
	_, err = b.store.Stats(ctx)
	require.NoError(b.t, err)
	_, err = b.store.Partitions(ctx)
	require.NoError(b.t, err)
	_, err = b.store.Settings(ctx)
	require.NoError(b.t, err)
	owned = b.own(16)
	for _, c := range b.candidates(owned...) {
		_, err = b.store.Bury(ctx, owned[c.Partition], c.Key, "no")
		require.NoError(b.t, err)
	}
	_, err = taskstore.BuryDue(ctx, b.store, owned[0], "no")
	require.NoError(b.t, err)
	_, err = b.store.Dead(ctx, "k", task.Key{Partition: 1, ID: "x"}, 10)
	require.NoError(b.t, err)
	_, err = b.store.Replay(ctx, []task.Key{{Partition: 1, ID: "x"}})
	require.NoError(b.t, err)
}

// plan returns the database's plan of a statement.
func (b *bundle) plan(s taskstore.Seen) (plan string) {
	opts := []query.ExecuteOption{
		s.Params, query.WithExecMode(query.ExecModeExplain),
		query.WithStatsMode(query.StatsModeNone, func(stats query.Stats) { plan = stats.QueryPlan() }),
	}
	if s.Snapshot {
		opts = append(opts, query.WithTxControl(query.SnapshotReadOnlyTxControl()))
	}
	require.NoError(b.t, b.DB.Query().Exec(b.t.Context(), s.Text, opts...))
	require.NotEmpty(b.t, plan)
	return plan
}

// readsOf lists how a plan reads a table.
func readsOf(t *testing.T, plan, table string) (how []string) {
	var tree struct {
		Tables []struct {
			Name  string
			Reads []struct{ Type string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(plan), &tree))
	for _, read := range tree.Tables {
		if strings.HasSuffix(read.Name, "/"+table) {
			for _, r := range read.Reads {
				how = append(how, r.Type)
			}
		}
	}
	return how
}

// fullScans lists the operators of a plan that read a whole table.
func fullScans(t *testing.T, plan string) (found []string) {
	var tree any
	require.NoError(t, json.Unmarshal([]byte(plan), &tree))
	var walk func(any)
	walk = func(n any) {
		switch n := n.(type) {
		case map[string]any:
			for key, v := range n {
				text, _ := v.(string)
				if (key == "Name" || key == "Node Type") && strings.Contains(text, "FullScan") || key == "type" && text == "FullScan" {
					found = append(found, text)
				}
				walk(v)
			}
		case []any:
			for _, v := range n {
				walk(v)
			}
		}
	}
	walk(tree)
	return found
}
