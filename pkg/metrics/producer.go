package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/taskfleet/taskfleet/pkg/task"
	"github.com/taskfleet/taskfleet/pkg/taskproducer"
)

// Producer is the observer of a taskproducer.
type Producer struct {
	kinds *labels

	tasks, batches, duplicates, invalid *prometheus.CounterVec
	backpressure, backpressureTasks     *prometheus.CounterVec
	batchDuration, batchTasks           *prometheus.HistogramVec
	target                              *prometheus.GaugeVec
}

var _ taskproducer.Observer = (*Producer)(nil)

func newProducer(m *Metrics) *Producer {
	f := factory{m.registry, "producer"}
	return &Producer{
		kinds: m.kinds,
		tasks: f.counter("tasks_total",
			"Tasks of stored batches, by kind; tasks whose id was known already are among them.", "kind"),
		duplicates: f.counter("duplicate_tasks_total",
			"Tasks of stored batches that were left as they are because their id was known already."),
		invalid: f.counter("invalid_tasks_total",
			"Tasks that were refused, by the first field that is wrong; `database` when the database refused a task that passed its check.", "field"),
		batches: show(f.counter("batches_total",
			"Batches by outcome: stored, replayed (an earlier try had stored it) or failed (tried again or given up).", "outcome"),
			"stored", "replayed", "failed"),
		backpressure: f.counter("backpressure_windows_total",
			"Windows that did not fit because too many batches were being stored."),
		backpressureTasks: f.counter("backpressure_tasks_total",
			"Tasks of the windows that did not fit; they are due again in the next window."),
		batchDuration: f.histogram("batch_duration_seconds", "How long storing a batch took, by outcome.", seconds, "outcome"),
		target: f.gauge("target_tasks_per_second",
			"Rate that the producer is asked to hold; 0 when it has none: as fast as possible, or as tasks come in."),
		batchTasks: f.histogram("batch_tasks", "Tasks per stored batch.", prometheus.ExponentialBuckets(1, 2, 14)),
	}
}

// SetTarget shows the rate, in tasks per second, that the producer is to hold.
func (p *Producer) SetTarget(rate float64) { p.target.WithLabelValues().Set(rate) }

// Enqueued counts a stored batch.
func (p *Producer) Enqueued(batch task.Batch, result task.EnqueueResult, took time.Duration) {
	outcome := "stored"
	if result.Replayed {
		outcome = "replayed"
	}
	p.batches.WithLabelValues(outcome).Inc()
	observe(p.batchDuration.WithLabelValues(outcome), took)
	p.batchTasks.WithLabelValues().Observe(float64(len(batch.Tasks)))
	add(p.duplicates.WithLabelValues(), result.Duplicates)
	kinds := map[string]int{}
	for i := range batch.Tasks {
		kinds[batch.Tasks[i].Kind]++
	}
	for kind, n := range kinds {
		add(p.tasks.WithLabelValues(p.kinds.value(kind)), n)
	}
}

// Failed counts a batch that was not stored.
func (p *Producer) Failed(_ int, took time.Duration, _ error) {
	p.batches.WithLabelValues("failed").Inc()
	observe(p.batchDuration.WithLabelValues("failed"), took)
}

// Invalid counts a task that was refused.
func (p *Producer) Invalid(field string) { p.invalid.WithLabelValues(field).Inc() }

// Backpressure counts a window that did not fit.
func (p *Producer) Backpressure(tasks int) {
	p.backpressure.WithLabelValues().Inc()
	add(p.backpressureTasks.WithLabelValues(), tasks)
}
