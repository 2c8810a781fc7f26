package exec_test

import (
	"context"
	"testing"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"

	"github.com/taskfleet/taskfleet/internal/ydbembed/exec"
	"github.com/taskfleet/taskfleet/internal/ydbembed/issue"
	"github.com/taskfleet/taskfleet/internal/ydbembed/store"
)

// FuzzQuery runs texts that nobody would write: whatever comes, the answer is
// rows or an error that is not an internal one.
func FuzzQuery(f *testing.F) {
	for _, s := range statements {
		f.Add(s.query)
	}
	for _, e := range expressions {
		f.Add("SELECT " + e.expr)
	}
	for _, c := range paths {
		f.Add("SELECT p FROM events " + c.where)
	}
	for _, text := range []string{claim, finish, enqueue, promote, things, queueTables} {
		f.Add(text)
	}
	d := open(f)
	for _, text := range []string{people, crowd, events, queueTables} {
		d.must(text, nil)
	}
	p := claimParams(4)
	for _, more := range []params{typed, enqueueParams(), {"n": u64(2), "p": u16(1), "ps": list(u16(1)), "x": u64(3)}} {
		for name, v := range more {
			p[name] = v
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		q, values, err := d.compile(text, p)
		if err == nil {
			_ = q.ExplainJSON()
			_ = q.ExplainAST()
			if q.IsDDL() {
				return
			}
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			tx := d.store.Begin(store.Serializable)
			defer tx.Rollback()
			err = exec.Run(ctx, q, values, exec.NewTx(tx, pool()), now, &answer{}, nil)
		}
		if err != nil && issue.From(err).Status == Ydb.StatusIds_INTERNAL_ERROR {
			t.Fatalf("%q: %v", text, err)
		}
	})
}
