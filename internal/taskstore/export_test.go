package taskstore

import (
	"context"

	"github.com/ydb-platform/ydb-go-sdk/v3/query"
	"github.com/ydb-platform/ydb-go-sdk/v3/types"

	"github.com/taskfleet/taskfleet/pkg/task"
)

// Seen is a statement that a store has run.
type Seen struct {
	Op, Text string
	Params   query.ExecuteOption
	Values   map[string]types.Value
	Snapshot bool
}

// Watch calls f with every statement before it runs. An error is the statement's,
// which does not run then.
func (s *Store) Watch(f func(Seen) error) {
	if f == nil {
		s.watch = nil
		return
	}
	s.watch = func(st statement) error { return f(Seen{st.op, st.text, st.params.option(), st.params, st.snapshot}) }
}

// BuryDue is what Promote does with a task that is refused alone.
func BuryDue(ctx context.Context, s *Store, owned task.Owned, reason string) ([]task.Key, error) {
	return s.buryDue(ctx, owned, reason)
}
