package metrics

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/taskfleet/taskfleet/internal/taskstore"
	"github.com/taskfleet/taskfleet/pkg/task"
	"github.com/taskfleet/taskfleet/pkg/taskingest"
	"github.com/taskfleet/taskfleet/pkg/taskworker"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// everything tells every observer everything once.
func everything(m *Metrics) {
	p := m.Producer()
	p.Enqueued(task.Batch{Tasks: []task.Task{{Kind: "mail"}, {Kind: "mail"}, {Kind: "http"}}}, task.EnqueueResult{Enqueued: 2, Duplicates: 1}, time.Millisecond)
	p.Enqueued(task.Batch{Tasks: []task.Task{{Kind: "http"}}}, task.EnqueueResult{Enqueued: 1, Replayed: true}, time.Millisecond)
	p.Failed(3, time.Second, errors.New("no"))
	p.Invalid("priority")
	p.Backpressure(50)
	p.SetTarget(500)

	w := m.Worker()
	w.Swept(4, 10, time.Millisecond)
	w.Claimed(10, 8, time.Millisecond)
	w.Started("mail", time.Second)
	w.Finished("mail", task.OutcomeCompleted, time.Second)
	w.Finished("mail", task.OutcomeRetry, -time.Second)
	w.LostLease("mail")
	w.Abandoned("mail")
	w.Flushed(8, time.Millisecond, nil)
	w.Flushed(8, time.Millisecond, errors.New("no"))
	w.Promoted(4, 2, time.Millisecond)
	w.Skipped("push", 3)
	w.Quarantined()
	w.Refused("claim")
	w.Failed("claim", errors.New("no"))
	w.Holds(taskworker.Buffers{Partitions: 64, Waiting: 3, Running: 2, Unrecorded: 1})
	w.Backlog(taskworker.Backlog{Partitions: 63, Pending: 7, Locked: 2, Delayed: 5, Oldest: 3 * time.Second})

	o := m.Outbound()
	o.HTTPResponse(200, time.Millisecond)
	o.HTTPResponse(0, time.Millisecond)
	o.HTTPResponse(100_000, time.Millisecond)
	o.Refused("metadata")
	o.NotSent()
	o.Breaker(true)
	o.Breaker(true)
	o.Breaker(true)
	o.Breaker(false)

	r := m.Rebalancer()
	r.SetPartitions(256)
	r.SessionOpened(1)
	r.ViewChanged(4)
	r.Planned(64, 10, 2)
	r.PartitionAcquired(3, time.Second)
	r.PartitionReleased(3, time.Second)
	r.OwnedChanged(63)
	r.Failed("acquire", errors.New("no"))
	r.SessionLost(errors.New("no"))
	d := m.Database()
	d.Statement("claim", time.Second, taskstore.Usage{Statements: 3, Aborted: 2, RequestUnits: 40, RowsRead: 7, RowsWritten: 5}, nil)
	d.Statement("claim", time.Second, taskstore.Usage{Statements: 1}, context.DeadlineExceeded)

	i := m.Ingest()
	i.Request(taskingest.Request{Route: "tasks", Code: 202, Bytes: 100, Tasks: 3, Took: time.Millisecond})
	i.Request(taskingest.Request{Route: "other", Code: 404, Took: time.Millisecond})
	i.Hook("github", "stored")
	i.Backpressure("bytes")
	i.InFlight(2, 1000)
}

func TestNamesFollowTheRules(t *testing.T) {
	t.Parallel()
	m := New()
	everything(m)
	families, err := m.registry.Gather()
	require.NoError(t, err)
	var names []string
	for _, family := range families {
		name := family.GetName()
		if !strings.HasPrefix(name, "go_") && !strings.HasPrefix(name, "process_") {
			names = append(names, name)
			require.Regexp(t, "^taskfleet_(producer|worker|rebalancer|ingest|ydb)_", name)
		}
	}
	require.Greater(t, len(names), 30)
	problems, err := testutil.GatherAndLint(m.registry, names...)
	require.NoError(t, err)
	require.Empty(t, problems)
}

// TestEveryEventIsCounted: what an observer is told can be seen.
func TestEveryEventIsCounted(t *testing.T) {
	t.Parallel()
	m := New()
	everything(m)
	body := get(t, m, "/metrics")
	for _, line := range []string{
		`taskfleet_producer_tasks_total{kind="mail"} 2`,
		`taskfleet_producer_tasks_total{kind="http"} 2`,
		`taskfleet_producer_duplicate_tasks_total 1`,
		`taskfleet_producer_invalid_tasks_total{field="priority"} 1`,
		`taskfleet_producer_batches_total{outcome="stored"} 1`,
		`taskfleet_producer_batches_total{outcome="replayed"} 1`,
		`taskfleet_producer_batches_total{outcome="failed"} 1`,
		`taskfleet_producer_batch_tasks_sum 4`,
		`taskfleet_producer_batch_duration_seconds_count{outcome="stored"} 1`,
		`taskfleet_producer_backpressure_windows_total 1`,
		`taskfleet_producer_backpressure_tasks_total 50`,
		`taskfleet_worker_tasks_total{kind="mail",outcome="completed"} 1`,
		`taskfleet_worker_tasks_total{kind="mail",outcome="retry"} 1`,
		`taskfleet_worker_task_duration_seconds_sum{kind="mail"} 1`,
		`taskfleet_worker_task_latency_seconds_count{kind="mail"} 1`,
		`taskfleet_worker_lost_leases_total{kind="mail"} 1`,
		`taskfleet_worker_abandoned_handlers_total{kind="mail"} 1`,
		`taskfleet_worker_candidates_total 10`,
		`taskfleet_worker_claims_asked_total 10`,
		`taskfleet_worker_claims_total 8`,
		`taskfleet_worker_promoted_tasks_total 2`,
		`taskfleet_worker_errors_total{op="claim"} 1`,
		`taskfleet_worker_errors_total{op="flush"} 1`,
		`taskfleet_worker_statement_duration_seconds_count{op="flush"} 2`,
		`taskfleet_worker_flush_tasks_sum 8`,
		`taskfleet_worker_http_responses_total{code="200"} 1`,
		`taskfleet_worker_http_responses_total{code="error"} 2`,
		`taskfleet_worker_http_request_duration_seconds_count{code="200"} 1`,
		`taskfleet_worker_outbound_refused_total{reason="metadata"} 1`,
		`taskfleet_worker_outbound_not_sent_total 1`,
		`taskfleet_worker_outbound_open_breakers 2`,
		`taskfleet_worker_partitions 64`,
		`taskfleet_worker_held_tasks{state="running"} 2`,
		`taskfleet_rebalancer_sessions_opened_total 1`,
		`taskfleet_rebalancer_sessions_lost_total 1`,
		`taskfleet_rebalancer_session_up 0`,
		`taskfleet_rebalancer_members 4`,
		`taskfleet_rebalancer_plans_total 1`,
		`taskfleet_rebalancer_planned_partitions 64`,
		`taskfleet_rebalancer_owned_partitions 63`,
		`taskfleet_rebalancer_gained_partitions_total 10`,
		`taskfleet_rebalancer_given_partitions_total 2`,
		`taskfleet_rebalancer_acquire_wait_seconds_sum 1`,
		`taskfleet_rebalancer_drain_duration_seconds_sum 1`,
		`taskfleet_rebalancer_errors_total{op="acquire"} 1`,
		`taskfleet_rebalancer_partitions 256`,
		`taskfleet_producer_target_tasks_per_second 500`,
		`taskfleet_worker_tasks_total{kind="mail",outcome="dead"} 0`,
		`taskfleet_worker_backlog_tasks{state="pending"} 7`,
		`taskfleet_worker_backlog_tasks{state="locked"} 2`,
		`taskfleet_worker_backlog_tasks{state="delayed"} 5`,
		`taskfleet_worker_oldest_pending_age_seconds 3`,
		`taskfleet_worker_counted_partitions 63`,
		`taskfleet_ydb_statements_total{op="claim"} 4`,
		`taskfleet_ydb_conflicts_total{op="claim"} 2`,
		`taskfleet_ydb_request_units_total{op="claim"} 40`,
		`taskfleet_ydb_rows_read_total{op="claim"} 7`,
		`taskfleet_ydb_rows_written_total{op="claim"} 5`,
		`taskfleet_ydb_errors_total{class="unknown",op="claim"} 1`,
		`taskfleet_ydb_operation_duration_seconds_count{op="claim"} 2`,
		`taskfleet_ingest_requests_total{code="202",route="tasks"} 1`,
		`taskfleet_ingest_request_bytes_total{route="tasks"} 100`,
		`taskfleet_ingest_request_tasks_total{code="202",route="tasks"} 3`,
		`taskfleet_ingest_request_duration_seconds_count{route="other"} 1`,
		`taskfleet_ingest_hook_events_total{outcome="stored",service="github"} 1`,
		`taskfleet_ingest_backpressure_total{limit="bytes"} 1`,
		`taskfleet_ingest_requests_in_flight 2`,
		`taskfleet_ingest_bytes_in_flight 1000`,
	} {
		require.Contains(t, body, "\n"+line+"\n")
	}
	for _, name := range []string{"process_cpu_seconds_total", "go_goroutines"} {
		require.Contains(t, body, "\n"+name+" ")
	}
}

func TestOnlyWhatIsAskedForIsShown(t *testing.T) {
	t.Parallel()
	m := New()
	m.Producer()
	m.Producer()
	body := get(t, m, "/metrics")
	require.Contains(t, body, "taskfleet_producer_duplicate_tasks_total 0")
	require.NotContains(t, body, "taskfleet_worker_")
}

// TestHostileKindsStayBounded: kinds come from whoever enqueues.
func TestHostileKindsStayBounded(t *testing.T) {
	t.Parallel()
	m := New()
	w := m.Worker()
	for i := range 10 * maxKinds {
		kind := fmt.Sprintf("kind-%d-\xff\"\n", i)
		w.Started(kind, time.Second)
		w.LostLease(kind)
	}
	require.Equal(t, maxKinds+1, testutil.CollectAndCount(w.lost))
	require.Equal(t, maxKinds+1, testutil.CollectAndCount(w.taskLatency))
	require.EqualValues(t, 9*maxKinds, testutil.ToFloat64(w.lost.WithLabelValues(other)))
	get(t, m, "/metrics")
}

func TestHealth(t *testing.T) {
	t.Parallel()
	m := New()
	require.Equal(t, "ok\n", get(t, m, "/healthz"))
	m.SetHealth(func() error { return errors.New("no session") })
	server, err := m.Serve(t.Context(), "127.0.0.1:0")
	require.NoError(t, err)
	status, body := fetch(t, "http://"+server.Addr()+"/healthz")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Equal(t, "no session\n", body)
	require.NoError(t, server.Close())
	require.NoError(t, server.Close())
}

func TestServerKnowsWhetherTheNetworkReachesIt(t *testing.T) {
	t.Parallel()
	host, _, err := net.SplitHostPort(DefaultAddr)
	require.NoError(t, err)
	require.True(t, net.ParseIP(host).IsLoopback(), "the default is not open")
	for addr, loopback := range map[string]bool{"127.0.0.1:0": true, "localhost:0": true, ":0": false, "0.0.0.0:0": false} {
		server, err := New().Serve(t.Context(), addr)
		require.NoError(t, err)
		require.Equal(t, loopback, server.Loopback(), addr)
		require.NoError(t, server.Close())
	}
}

func TestServeReportsAnAddressThatIsTaken(t *testing.T) {
	t.Parallel()
	m := New()
	server, err := m.Serve(t.Context(), "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, server.Close()) }()
	_, err = m.Serve(t.Context(), server.Addr())
	require.ErrorContains(t, err, "metrics: address "+server.Addr()+" is in use by another process")
	require.ErrorContains(t, err, "--metrics-addr")
	_, err = m.Serve(t.Context(), "nonsense")
	require.ErrorContains(t, err, `listening on "nonsense"`)
}

func TestServeEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	server, err := New().Serve(ctx, "127.0.0.1:0")
	require.NoError(t, err)
	cancel()
	<-server.done
	require.NoError(t, server.Close())
}

func get(t *testing.T, m *Metrics, path string) string {
	t.Helper()
	server, err := m.Serve(t.Context(), "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, server.Close()) }()
	status, body := fetch(t, "http://"+server.Addr()+path)
	require.Equal(t, http.StatusOK, status, body)
	return body
}

func fetch(t *testing.T, url string) (status int, body string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	response, err := client.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(text)
}
