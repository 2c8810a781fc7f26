package rebalancer

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/internal/coord"
)

// refusing is a session that grants nothing, and is lost with the first request.
type refusing struct {
	*fakeSession
	acquires atomic.Int32
}

func (s *refusing) Acquire(context.Context, string, coord.Request) (lease, error) {
	s.acquires.Add(1)
	s.cancel(errors.New("lost"))
	return nil, coord.ErrBusy
}

// TestALostSessionIsAskedNoMore: a slot that has not been told yet that its term
// is over must not ask again and again until it is.
func TestALostSessionIsAskedNoMore(t *testing.T) {
	t.Parallel()
	opened, err := newFakeNode().open(t.Context())
	require.NoError(t, err)
	session := &refusing{fakeSession: opened.(*fakeSession)}
	r := newRebalancer(Config{WorkerID: "a", Partitions: 1}.withDefaults(), nil)
	term := newTerm(r, t.Context(), session)
	term.ctx = session.Context()
	wanted, drop := context.WithCancelCause(t.Context()) // the end has not arrived here
	defer drop(nil)
	term.tend(&slot{partition: 0, wanted: wanted, drop: drop})
	require.EqualValues(t, 1, session.acquires.Load())
}
