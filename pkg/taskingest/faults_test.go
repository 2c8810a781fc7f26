package taskingest_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"

	"github.com/taskfleet/taskfleet/internal/testdb"
	"github.com/taskfleet/taskfleet/pkg/task"
	"github.com/taskfleet/taskfleet/pkg/taskingest"
	"github.com/taskfleet/taskfleet/pkg/taskproducer"
	"github.com/taskfleet/taskfleet/pkg/ydbembed"
)

// later sends tasks in the background.
func (s *front) later(t *testing.T, body string, headers ...string) <-chan reply {
	answer := make(chan reply, 1)
	go func() {
		r, err := s.send(context.WithoutCancel(t.Context()), http.MethodPost, "/v1/tasks", strings.NewReader(body), good(headers...)...)
		if err != nil {
			r.body = err.Error()
		}
		answer <- r
	}()
	return answer
}

func TestTooMuchInFlightIsBackpressure(t *testing.T) {
	t.Parallel()
	f := newFaultyFleet(t)
	big := fmt.Sprintf(`{"payload":%q}`, strings.Repeat("x", 800))
	for _, one := range []struct {
		limit  string
		change func(*taskingest.Config)
	}{
		{"requests", func(c *taskingest.Config) { c.MaxRequests = 1 }},
		{"bytes", func(c *taskingest.Config) {
			c.MaxTasks, c.MaxBody, c.MaxHookBody, c.MaxUnverifiedBytes = 1, 1000, 1000, 1000
			c.MaxBytes = c.LeastBytes()
		}},
	} {
		s := f.serve(t, one.change)
		before := len(s.ids(t))
		held := f.Faults().Hold("ExecuteQuery", ydbembed.Containing("INSERT INTO enqueue_batches"))
		first := s.later(t, big)
		require.NoError(t, held.Wait(t.Context(), 1))

		r := s.post(t, big)
		require.Equal(t, http.StatusTooManyRequests, r.code)
		require.Equal(t, "1", r.header.Get("Retry-After"))
		require.Contains(t, r.body, "too many "+one.limit+" in flight: nothing was stored")
		body := example(t, "gitea/push")
		if one.limit == "bytes" {
			body = body[:900]
		}
		r = s.hook(t, "gitea", "push", "d-1", body)
		require.Equal(t, http.StatusTooManyRequests, r.code)
		require.Equal(t, http.StatusOK, s.do(t, http.MethodGet, "/healthz", "").code, "health is never refused")

		held.Stop()
		require.Equal(t, http.StatusAccepted, (<-first).code)
		require.Len(t, s.ids(t), before+1)
		require.Len(t, s.post(t, big).tasks(t).IDs, 1, "what was held is given back")
		_, pressure := s.seen.told()
		require.Equal(t, []string{one.limit, one.limit}, pressure)
	}
}

// TestI1ASilentDatabaseIsNoAcknowledgement: 503, and the same request again
// stores once, whether the first came through or not.
func TestI1ASilentDatabaseIsNoAcknowledgement(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFaultyFleet(t)
		s := f.serve(t, func(c *taskingest.Config) { c.StoreTimeout = 300 * time.Millisecond })
		patient := f.serve(t, nil)
		faults := f.Faults()
		for i, hang := range []func() (resume func()){
			func() func() { faults.Silence(); return faults.Resume },
			func() func() {
				return faults.Hold("ExecuteQuery", ydbembed.Containing("task_ids"), ydbembed.Keep()).Stop
			},
			func() func() { return faults.Fail("ExecuteQuery", Ydb.StatusIds_OVERLOADED, ydbembed.Keep()).Stop },
		} {
			resume := hang()
			key := []string{"Idempotency-Key", fmt.Sprint("k-", i)}
			r := s.post(t, `[{},{}]`, key...)
			require.Equal(t, http.StatusServiceUnavailable, r.code, "%d: %s", i, r.body)
			require.Equal(t, "5", r.header.Get("Retry-After"))
			require.Contains(t, r.body, "it is not known whether the tasks are stored")
			r = s.hook(t, "gitea", "push", fmt.Sprint("d-", i), example(t, "gitea/push"))
			require.Equal(t, http.StatusServiceUnavailable, r.code)
			resume()

			require.Len(t, patient.post(t, `[{},{}]`, key...).tasks(t).IDs, 2)
			r = patient.hook(t, "gitea", "push", fmt.Sprint("d-", i), example(t, "gitea/push"))
			require.Equal(t, http.StatusAccepted, r.code)
			require.Len(t, patient.ids(t), 3*(i+1))
		}
		require.Contains(t, s.log.String(), "level=WARN msg=request route=tasks code=503")
		faults.Fail("ExecuteQuery", Ydb.StatusIds_SCHEME_ERROR, ydbembed.Containing("enqueue_batches"))
		r := s.post(t, `{}`)
		require.Equal(t, http.StatusInternalServerError, r.code)
		require.NotContains(t, r.body, "SCHEME_ERROR")
	})
}

// TestI1NothingAcknowledgedIsLost: clients send and repeat until they get an
// answer, while the database restarts, ends sessions and loses answers. What was
// acknowledged is there, once.
func TestI1NothingAcknowledgedIsLost(t *testing.T) {
	t.Parallel()
	e := testdb.Start(t, testdb.Options{Disk: true})
	f := migrated(t, &e.Database)
	fronts := []*front{
		f.serve(t, func(c *taskingest.Config) { c.StoreTimeout = 2 * time.Second }),
		f.serve(t, func(c *taskingest.Config) { c.StoreTimeout = 2 * time.Second }),
	}
	var (
		mu    sync.Mutex
		acked []string
		load  sync.WaitGroup
	)
	const clients, each = 4, 25
	half := make(chan struct{}, clients*each)
	for c := range clients {
		load.Go(func() {
			for n := range each {
				key := fmt.Sprintf("client-%d-%d", c, n)
				for try := 0; ; try++ {
					r, err := fronts[(c+try)%2].send(context.WithoutCancel(t.Context()), http.MethodPost, "/v1/tasks",
						strings.NewReader(`[{},{}]`), good("Idempotency-Key", key)...)
					if err == nil && r.code == http.StatusAccepted {
						mu.Lock()
						acked = append(acked, r.tasks(t).IDs...)
						mu.Unlock()
						break
					}
					if err == nil && r.code != http.StatusServiceUnavailable && r.code != http.StatusTooManyRequests {
						t.Errorf("%d %s", r.code, r.body)
						return
					}
				}
				half <- struct{}{}
			}
		})
	}
	wait := func(n int) {
		for range n {
			<-half
		}
	}
	wait(20)
	lost := e.Faults().DropAnswer("ExecuteQuery", ydbembed.Containing("enqueue_batches"))
	e.Faults().EndSessions()
	require.NoError(t, lost.Wait(t.Context(), 1))
	wait(20)
	e.Restart(0)
	wait(clients*each - 40)
	load.Wait()

	stored := fronts[0].ids(t)
	require.Len(t, acked, 2*clients*each)
	require.Len(t, stored, len(acked), "nothing twice")
	for _, id := range acked {
		require.Contains(t, stored, id)
	}
}

func TestI9AStopAnswersWhatIsInFlight(t *testing.T) {
	t.Parallel()
	f := newFaultyFleet(t)
	s := f.serve(t, nil)
	require.Equal(t, http.StatusOK, s.do(t, http.MethodGet, "/readyz", "").code)
	held := f.Faults().Hold("ExecuteQuery", ydbembed.Containing("INSERT INTO enqueue_batches"))
	first := s.later(t, `[{},{}]`)
	require.NoError(t, held.Wait(t.Context(), 1))
	s.stop()
	require.Eventually(t, func() bool {
		_, err := s.send(t.Context(), http.MethodGet, "/readyz", nil)
		return err != nil
	}, 10*time.Second, 5*time.Millisecond, "nothing is accepted any more")
	held.Stop()
	require.Len(t, (<-first).tasks(t).IDs, 2)
	require.Len(t, s.ids(t), 2)
}

// blocked is a producer that does not come to an end before its context does.
type blocked struct{ begun chan struct{} }

func (b blocked) EnqueueAll(ctx context.Context, _ string, _ ...task.Task) (taskproducer.Result, error) {
	b.begun <- struct{}{}
	<-ctx.Done()
	return taskproducer.Result{}, ctx.Err()
}

func TestADrainHasAnEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := blocked{make(chan struct{}, 1)}
		handler, err := taskingest.New(taskingest.Config{Producer: b, Tokens: []string{token}, StoreTimeout: time.Minute})
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		s := &front{pipes: newPipes()}
		go func() { ended <- handler.Serve(ctx, s.pipes, 50*time.Millisecond) }()
		first := s.later(t, `{}`)
		<-b.begun
		stop()
		require.ErrorContains(t, <-ended, "some requests were not answered within the drain of 50ms")
		require.NotEqual(t, http.StatusAccepted, (<-first).code)
	})
}

type panicking struct{}

func (panicking) EnqueueAll(context.Context, string, ...task.Task) (taskproducer.Result, error) {
	panic("a defect")
}

func TestAPanicIsAnAnswer(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	s := f.serve(t, func(c *taskingest.Config) { c.Producer = panicking{} })
	for range 3 {
		require.Equal(t, http.StatusInternalServerError, s.post(t, `{}`).code)
	}
	require.Contains(t, s.log.String(), "a defect")
}

func TestReadiness(t *testing.T) {
	t.Parallel()
	var asked int
	s := newFleet(t).serve(t, func(c *taskingest.Config) {
		c.Ready = func(context.Context) error { asked++; return errors.New("no database") }
	})
	for range 3 {
		r := s.do(t, http.MethodGet, "/readyz", "")
		require.Equal(t, http.StatusServiceUnavailable, r.code)
		require.NotContains(t, r.body, "no database")
	}
	require.LessOrEqual(t, asked, 2, "asked once a second")
	require.Contains(t, s.log.String(), "no database")
	require.Equal(t, http.StatusOK, s.do(t, http.MethodGet, "/healthz", "").code)
}
