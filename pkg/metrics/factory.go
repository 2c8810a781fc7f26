package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// factory makes and registers the metrics of one part.
type factory struct {
	registry  prometheus.Registerer
	subsystem string
}

// seconds are the buckets of all durations: from what one statement takes to a
// handler that runs for minutes.
var seconds = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}

func (f factory) counter(name, help string, labels ...string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: namespace, Subsystem: f.subsystem, Name: name, Help: help,
	}, labels)
	f.registry.MustRegister(c)
	if len(labels) == 0 {
		c.WithLabelValues() // shown from the start
	}
	return c
}

func (f factory) gauge(name, help string, labels ...string) *prometheus.GaugeVec {
	g := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Namespace: namespace, Subsystem: f.subsystem, Name: name, Help: help,
	}, labels)
	f.registry.MustRegister(g)
	if len(labels) == 0 {
		g.WithLabelValues()
	}
	return g
}

func (f factory) histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: namespace, Subsystem: f.subsystem, Name: name, Help: help, Buckets: buckets,
	}, labels)
	f.registry.MustRegister(h)
	if len(labels) == 0 {
		h.WithLabelValues()
	}
	return h
}

// show makes values of a counter's only label visible from the start, so that
// the increase to their first event is seen.
func show(c *prometheus.CounterVec, values ...string) *prometheus.CounterVec {
	for _, value := range values {
		c.WithLabelValues(value)
	}
	return c
}

// add ignores what a counter must not take.
func add(c prometheus.Counter, n int) {
	if n > 0 {
		c.Add(float64(n))
	}
}

func observe(h prometheus.Observer, d time.Duration) { h.Observe(max(d, 0).Seconds()) }
