package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/taskfleet/taskfleet/internal/taskstore"
	"github.com/taskfleet/taskfleet/internal/ydbconn"
)

// Database is the observer of the statements that a process sends to YDB.
type Database struct {
	known sync.Map // operations whose errors are shown

	statements, conflicts, errors, units, read, written *prometheus.CounterVec
	duration                                            *prometheus.HistogramVec
}

var _ taskstore.Observer = (*Database)(nil)

func newDatabase(m *Metrics) *Database {
	f := factory{m.registry, "ydb"}
	return &Database{
		statements: f.counter("statements_total", "Statements that were sent, repetitions included, by operation.", "op"),
		conflicts: f.counter("conflicts_total",
			"Statements that ended with ABORTED, because another transaction was first, and were repeated, by operation.", "op"),
		errors: f.counter("errors_total",
			"Operations that failed after their repetitions, by operation and class: retry, conflict, unknown, precondition, bad_rows or fatal.", "op", "class"),
		units:   f.counter("request_units_total", "Request units that the statements consumed, as the database tells it, by operation.", "op"),
		read:    f.counter("rows_read_total", "Rows that the statements read, by operation.", "op"),
		written: f.counter("rows_written_total", "Rows that the statements updated or deleted, by operation.", "op"),
		duration: f.histogram("operation_duration_seconds",
			"How long operations took with their repetitions, by operation.", seconds, "op"),
	}
}

// Statement counts an operation. Every counter of an operation is shown from its
// first statement on, so that rates begin at zero.
func (d *Database) Statement(op string, took time.Duration, cost taskstore.Usage, err error) {
	d.statements.WithLabelValues(op).Add(float64(cost.Statements))
	d.conflicts.WithLabelValues(op).Add(float64(cost.Aborted))
	d.units.WithLabelValues(op).Add(float64(cost.RequestUnits))
	d.read.WithLabelValues(op).Add(float64(cost.RowsRead))
	d.written.WithLabelValues(op).Add(float64(cost.RowsWritten))
	observe(d.duration.WithLabelValues(op), took)
	if _, known := d.known.LoadOrStore(op, true); !known {
		for class := ydbconn.Retry; class <= ydbconn.Fatal; class++ {
			d.errors.WithLabelValues(op, class.String())
		}
	}
	if err != nil {
		d.errors.WithLabelValues(op, ydbconn.Classify(err).String()).Inc()
	}
}
