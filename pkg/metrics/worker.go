package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/taskfleet/taskfleet/pkg/task"
	"github.com/taskfleet/taskfleet/pkg/taskworker"
)

// Worker is the observer of a taskworker.
type Worker struct {
	kinds   *labels
	started sync.Map // kinds whose outcomes are shown

	tasks, lost, abandoned, candidates, asked, claimed, promoted, errors *prometheus.CounterVec
	skipped, quarantined, refused                                        *prometheus.CounterVec
	taskDuration, taskLatency, statement, flushTasks                     *prometheus.HistogramVec
	partitions, held, backlog, oldest, counted                           *prometheus.GaugeVec
}

var _ taskworker.Observer = (*Worker)(nil)

func newWorker(m *Metrics) *Worker {
	f := factory{m.registry, "worker"}
	return &Worker{
		kinds: m.kinds,
		tasks: f.counter("tasks_total",
			"Attempts whose outcome was recorded, by kind and outcome: completed, retry, dead or released.", "kind", "outcome"),
		taskDuration: f.histogram("task_duration_seconds", "How long handlers ran, by kind.", seconds, "kind"),
		taskLatency:  f.histogram("task_latency_seconds", "From the time a task was due until its handler started, by kind.", seconds, "kind"),
		lost: f.counter("lost_leases_total",
			"Results that were not recorded because another worker has the task, by kind.", "kind"),
		abandoned: f.counter("abandoned_handlers_total",
			"Handlers that did not heed the end of their context, by kind.", "kind"),
		candidates: f.counter("candidates_total", "Keys that the looks for candidates found."),
		asked:      f.counter("claims_asked_total", "Tasks that claims asked for."),
		claimed:    f.counter("claims_total", "Tasks that claims got."),
		promoted:   f.counter("promoted_tasks_total", "Delayed tasks that this worker made runnable."),
		errors: show(f.counter("errors_total", "Operations on the database that failed after their retries, by operation.", "op"),
			"candidates", "claim", "flush", "promote", "bury", "count"),
		skipped: f.counter("skipped_tasks_total",
			"Times that a read found a task of a kind without a handler in this worker, by kind. It stays runnable for other workers.", "kind"),
		quarantined: f.counter("quarantined_runs_total",
			"Tasks that were claimed to run alone, because workers that held them died."),
		refused: show(f.counter("refused_tasks_total",
			"Tasks that the database refuses for good, by operation: they went to the dead tasks.", "op"), "claim", "finish", "promote"),
		statement: f.histogram("statement_duration_seconds",
			"How long operations on the database took, by operation: sweep, claim, flush or promote.", seconds, "op"),
		flushTasks: f.histogram("flush_tasks", "Outcomes per record.", prometheus.ExponentialBuckets(1, 2, 12)),
		partitions: f.gauge("partitions", "Partitions in which this worker claims."),
		backlog: f.gauge("backlog_tasks",
			"Tasks in this worker's partitions when they were counted last, by state: pending, locked or delayed. The sum over all workers is the fleet's.", "state"),
		oldest: f.gauge("oldest_pending_age_seconds",
			"How long the pending task of this worker's partitions that waits longest had been due when it was counted last; 0 without one."),
		counted: f.gauge("counted_partitions", "Partitions that the backlog covers."),
		held:    f.gauge("held_tasks", "Claimed tasks in this worker, by state: waiting, running or unrecorded.", "state"),
	}
}

// Swept counts a look for candidates.
func (w *Worker) Swept(_, found int, took time.Duration) {
	add(w.candidates.WithLabelValues(), found)
	observe(w.statement.WithLabelValues("sweep"), took)
}

// Claimed counts a claim.
func (w *Worker) Claimed(asked, got int, took time.Duration) {
	add(w.asked.WithLabelValues(), asked)
	add(w.claimed.WithLabelValues(), got)
	observe(w.statement.WithLabelValues("claim"), took)
}

// Started measures how late a task started. The outcomes of a kind are shown
// from its first start on, so that the increase to the first one is seen.
func (w *Worker) Started(kind string, latency time.Duration) {
	kind = w.kinds.value(kind)
	observe(w.taskLatency.WithLabelValues(kind), latency)
	if _, known := w.started.LoadOrStore(kind, true); !known {
		for outcome := task.OutcomeCompleted; outcome <= task.OutcomeReleased; outcome++ {
			w.tasks.WithLabelValues(kind, outcome.String())
		}
		show(w.lost, kind)
		show(w.abandoned, kind)
	}
}

// Finished counts an attempt whose outcome was recorded.
func (w *Worker) Finished(kind string, outcome task.Outcome, took time.Duration) {
	kind = w.kinds.value(kind)
	w.tasks.WithLabelValues(kind, outcome.String()).Inc()
	observe(w.taskDuration.WithLabelValues(kind), took)
}

// LostLease counts a result that was not recorded.
func (w *Worker) LostLease(kind string) { w.lost.WithLabelValues(w.kinds.value(kind)).Inc() }

// Abandoned counts a handler that runs on.
func (w *Worker) Abandoned(kind string) { w.abandoned.WithLabelValues(w.kinds.value(kind)).Inc() }

// Flushed counts a record of outcomes.
func (w *Worker) Flushed(outcomes int, took time.Duration, err error) {
	observe(w.statement.WithLabelValues("flush"), took)
	if err != nil {
		w.errors.WithLabelValues("flush").Inc()
		return
	}
	w.flushTasks.WithLabelValues().Observe(float64(outcomes))
}

// Promoted counts tasks that became runnable.
func (w *Worker) Promoted(_, moved int, took time.Duration) {
	add(w.promoted.WithLabelValues(), moved)
	observe(w.statement.WithLabelValues("promote"), took)
}

// Skipped counts tasks of a kind that this worker does not handle.
func (w *Worker) Skipped(kind string, tasks int) {
	add(w.skipped.WithLabelValues(w.kinds.value(kind)), tasks)
}

// Quarantined counts a task that runs alone.
func (w *Worker) Quarantined() { w.quarantined.WithLabelValues().Inc() }

// Refused counts a task that the database refuses.
func (w *Worker) Refused(op string) { w.refused.WithLabelValues(op).Inc() }

// Failed counts an operation that failed.
func (w *Worker) Failed(op string, _ error) { w.errors.WithLabelValues(op).Inc() }

// Holds shows what the worker holds.
func (w *Worker) Holds(b taskworker.Buffers) {
	w.partitions.WithLabelValues().Set(float64(b.Partitions))
	w.held.WithLabelValues("waiting").Set(float64(b.Waiting))
	w.held.WithLabelValues("running").Set(float64(b.Running))
	w.held.WithLabelValues("unrecorded").Set(float64(b.Unrecorded))
}

// Backlog shows what waits in the worker's partitions.
func (w *Worker) Backlog(b taskworker.Backlog) {
	w.backlog.WithLabelValues("pending").Set(float64(b.Pending))
	w.backlog.WithLabelValues("locked").Set(float64(b.Locked))
	w.backlog.WithLabelValues("delayed").Set(float64(b.Delayed))
	w.oldest.WithLabelValues().Set(b.Oldest.Seconds())
	w.counted.WithLabelValues().Set(float64(b.Partitions))
}
