package taskingest_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/ydb-platform/ydb-go-sdk/v3"

	"github.com/taskfleet/taskfleet/pkg/task"
	"github.com/taskfleet/taskfleet/pkg/taskingest"
	"github.com/taskfleet/taskfleet/pkg/taskproducer"
)

// TestTheAnswerDoesNotWaitForTheDriver: the driver deletes its session before it
// gives up, which takes an hour here if the server is silent. The answer comes
// while it still tries.
func TestTheAnswerDoesNotWaitForTheDriver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFaultyFleet(t)
		s := f.serve(t, func(c *taskingest.Config) { c.StoreTimeout = 200 * time.Millisecond },
			ydb.WithSessionPoolDeleteTimeout(time.Hour))
		require.Equal(t, http.StatusAccepted, s.post(t, `{}`).code, "there is a session")
		f.Faults().Silence()
		defer f.Faults().Resume()
		r := s.post(t, `{}`)
		require.Equal(t, http.StatusServiceUnavailable, r.code, r.body)
		require.Contains(t, r.body, "it is not known whether the tasks are stored")
	})
}

// stubborn is a producer that returns long after its context has ended.
type stubborn struct{ after time.Duration }

func (b stubborn) EnqueueAll(ctx context.Context, _ string, _ ...task.Task) (taskproducer.Result, error) {
	<-ctx.Done()
	time.Sleep(b.after)
	return taskproducer.Result{}, ctx.Err()
}

// TestTheAnswerComesAtTheStoreTimeout: and the request holds its place until the
// producer has returned.
func TestTheAnswerComesAtTheStoreTimeout(t *testing.T) {
	t.Parallel()
	for after, want := range map[time.Duration]time.Duration{
		0:           taskingest.DefaultStoreTimeout - 100*time.Millisecond,
		time.Minute: taskingest.DefaultStoreTimeout,
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newSite(t, func(c *taskingest.Config) { c.Producer, c.MaxRequests = stubborn{after}, 1 })
			begin := time.Now()
			r := s.post(t, `{}`)
			require.Equal(t, http.StatusServiceUnavailable, r.code)
			require.Equal(t, "5", r.header.Get("Retry-After"))
			require.Equal(t, want, time.Since(begin))
			synctest.Wait()
			if after > 0 {
				require.EqualValues(t, 1, s.seen.inFlight.Load())
				require.Equal(t, http.StatusTooManyRequests, s.post(t, `{}`).code)
				time.Sleep(after)
				synctest.Wait()
			}
			require.Zero(t, s.seen.inFlight.Load())
		})
	}
}

// TestReadinessDoesNotWaitForItsCheck: all who ask get their answer in two
// seconds, and one check runs at a time.
func TestReadinessDoesNotWaitForItsCheck(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked := make(chan struct{}, 10)
		s := newSite(t, func(c *taskingest.Config) {
			c.Ready = func(context.Context) error { asked <- struct{}{}; time.Sleep(time.Minute); return nil }
		})
		begin := time.Now()
		for range 3 {
			require.Equal(t, http.StatusServiceUnavailable, s.do(t, http.MethodGet, "/readyz", "").code)
		}
		require.Equal(t, 6*time.Second, time.Since(begin))
		require.Len(t, asked, 1)
		time.Sleep(time.Minute - 6*time.Second)
		synctest.Wait()
		require.Equal(t, http.StatusOK, s.do(t, http.MethodGet, "/readyz", "").code)
	})
}
