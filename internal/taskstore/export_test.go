package taskstore

import "github.com/ydb-platform/ydb-go-sdk/v3/query"

// Seen is a statement that a store has run.
type Seen struct {
	Op, Text string
	Params   query.ExecuteOption
	Snapshot bool
}

// Watch calls f with every statement before it runs.
func (s *Store) Watch(f func(Seen)) {
	s.watch = func(st statement) { f(Seen{st.op, st.text, st.params.option(), st.snapshot}) }
}
