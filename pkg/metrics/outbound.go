package metrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/taskfleet/taskfleet/internal/outbound"
)

// Outbound is the observer of what a worker's handlers send. Hosts are data that
// others send, so that no metric has them as a label.
type Outbound struct {
	responses, refused, notSent *prometheus.CounterVec
	duration                    *prometheus.HistogramVec
	breakers                    *prometheus.GaugeVec
}

var _ outbound.Observer = (*Outbound)(nil)

func newOutbound(m *Metrics) *Outbound {
	f := factory{m.registry, "worker"}
	return &Outbound{
		responses: f.counter("http_responses_total",
			"Answers to the HTTP calls of handlers, by status code; \"error\" when there was none.", "code"),
		duration: f.histogram("http_request_duration_seconds",
			"How long the HTTP calls of handlers took, by status code; \"error\" when there was no answer.", seconds, "code"),
		refused: show(f.counter("outbound_refused_total",
			"HTTP calls of handlers that were refused because of where they lead: url, port, metadata, address, private, denied, not_allowed or redirect.", "reason"),
			"url", "port", "metadata", "address", "private", "denied", "not_allowed", "redirect"),
		notSent: f.counter("outbound_not_sent_total",
			"HTTP calls of handlers that were not sent because their host had failed too often in a row."),
		breakers: f.gauge("outbound_open_breakers", "Hosts that are left alone because they failed too often in a row."),
	}
}

// HTTPResponse counts the answer to a handler's HTTP call. A code outside
// 100..599 says that there was none.
func (o *Outbound) HTTPResponse(code int, took time.Duration) {
	label := "error"
	if code >= 100 && code <= 599 {
		label = strconv.Itoa(code)
	}
	o.responses.WithLabelValues(label).Inc()
	observe(o.duration.WithLabelValues(label), took)
}

// Refused counts a call that must not be made.
func (o *Outbound) Refused(reason outbound.Reason) { o.refused.WithLabelValues(string(reason)).Inc() }

// NotSent counts a call that a breaker kept back.
func (o *Outbound) NotSent() { o.notSent.WithLabelValues().Inc() }

// Breaker counts the hosts that are left alone.
func (o *Outbound) Breaker(open bool) {
	if open {
		o.breakers.WithLabelValues().Inc()
	} else {
		o.breakers.WithLabelValues().Dec()
	}
}
