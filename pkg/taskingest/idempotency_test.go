package taskingest_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/pkg/ydbembed"
)

// forgetBatches deletes what an hour deletes.
func (s *front) forgetBatches(t *testing.T) {
	t.Helper()
	require.NoError(t, s.DB.Query().Exec(t.Context(), fmt.Sprintf("DELETE FROM `%s/enqueue_batches`", s.Path())))
}

// TestI5AKeyStoresOnce is invariant I5 for keys: at any server, at any time.
func TestI5AKeyStoresOnce(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	first, second := f.serve(t, nil), f.serve(t, nil)
	const body = `[{"kind":"mail"},{"kind":"mail","delay":"1h"}]`
	key := []string{"Idempotency-Key", "order-17"}
	original := first.post(t, body, key...).tasks(t)
	require.Len(t, original.IDs, 2)
	require.False(t, original.Replayed)
	require.Equal(t, 2, original.Enqueued)

	repeat := func(s *front, body string, headers ...string) {
		t.Helper()
		got := s.post(t, body, append(key, headers...)...).tasks(t)
		require.Equal(t, tasks{IDs: original.IDs, Enqueued: 2, Replayed: true}, got)
		require.Len(t, s.ids(t), 2)
	}
	refused := func(s *front, body string) {
		t.Helper()
		r := s.post(t, body, key...)
		require.Equal(t, http.StatusUnprocessableEntity, r.code, r.body)
		require.Contains(t, r.body, "Idempotency-Key: was used before, with other tasks; nothing was stored")
		require.Len(t, s.ids(t), 2)
	}
	repeat(first, body)
	repeat(second, body)
	repeat(second, strings.ReplaceAll(body, ",", " , "))
	repeat(second, "{\"kind\":\"mail\"}\n{\"delay\":3600,\"kind\":\"mail\"}", "Content-Type", "application/x-ndjson")
	refused(second, `[{"kind":"mail"},{"kind":"mail","delay":"2h"}]`)
	refused(second, `[{"kind":"mail"}]`)

	first.forgetBatches(t)
	repeat(second, body)
	refused(first, `[{"kind":"mail"}]`)

	other := first.post(t, body, "Idempotency-Key", "order-18").tasks(t)
	require.NotContains(t, other.IDs, original.IDs[0])
	require.Len(t, first.ids(t), 4)
}

// TestI5AtOnce: of requests with one key that come at once to two servers, one
// stores its tasks, and the others get the same ids, or are refused.
func TestI5AtOnce(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	fronts := []*front{f.serve(t, nil), f.serve(t, nil)}
	for round := range 5 {
		replies := make([]reply, 12)
		var all sync.WaitGroup
		for i := range replies {
			all.Go(func() {
				body := fmt.Sprintf(`[{"priority":%d},{}]`, i%3)
				var err error
				replies[i], err = fronts[i%2].send(t.Context(), http.MethodPost, "/v1/tasks", strings.NewReader(body),
					good("Idempotency-Key", fmt.Sprint("round-", round))...)
				if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		winner, ids := -1, []string(nil)
		for i, r := range replies {
			if r.code == http.StatusUnprocessableEntity {
				continue
			}
			got := r.tasks(t)
			if winner < 0 {
				winner, ids = i%3, got.IDs
			}
			require.Equal(t, winner, i%3, "one body wins")
			require.Equal(t, ids, got.IDs)
		}
		require.GreaterOrEqual(t, winner, 0)
		require.Len(t, fronts[0].ids(t), 2*(round+1))
	}
}

// TestI5ALostAnswerIsNoSecondTask: the commit went through, its answer did not.
func TestI5ALostAnswerIsNoSecondTask(t *testing.T) {
	t.Parallel()
	f := newFaultyFleet(t)
	s := f.serve(t, nil)
	for i, headers := range [][]string{nil, {"Idempotency-Key", "k"}} {
		lost := f.Faults().DropAnswer("ExecuteQuery", ydbembed.Containing("enqueue_batches"))
		got := s.post(t, `[{},{}]`, headers...).tasks(t)
		require.Equal(t, 1, lost.Hits())
		require.Equal(t, 2, got.Enqueued)
		require.Len(t, s.ids(t), 2*(i+1))
	}
}
