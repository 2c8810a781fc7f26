package metrics

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/taskfleet/taskfleet/pkg/taskingest"
)

// Ingest is the observer of a taskingest.Handler.
type Ingest struct {
	requests, bytes, tasks *prometheus.CounterVec
	hooks, backpressure    *prometheus.CounterVec
	duration               *prometheus.HistogramVec
	inFlight, bytesHeld    *prometheus.GaugeVec
}

var _ taskingest.Observer = (*Ingest)(nil)

func newIngest(m *Metrics) *Ingest {
	f := factory{m.registry, "ingest"}
	i := &Ingest{
		requests: f.counter("requests_total", "Requests that were answered, by route and code.", "route", "code"),
		bytes:    f.counter("request_bytes_total", "Bytes of the bodies that were read, by route.", "route"),
		tasks:    f.counter("request_tasks_total", "Tasks that requests wanted to be stored, by route and code of the answer.", "route", "code"),
		hooks: f.counter("hook_events_total",
			"Webhooks by service and outcome: stored, duplicate, ignored, ping, refused (not genuine), bad (not understood) or failed (not stored).", "service", "outcome"),
		backpressure: show(f.counter("backpressure_total", "Requests that were answered 429, or gave way to another, by what there is too much of: requests or bytes, and the same of webhooks whose signature is not checked yet.", "limit"),
			"requests", "bytes", "unverified_requests", "unverified_bytes"),
		duration:  f.histogram("request_duration_seconds", "How long requests took to be answered, by route.", seconds, "route"),
		inFlight:  f.gauge("requests_in_flight", "Requests that are being read or worked on."),
		bytesHeld: f.gauge("bytes_in_flight", "Bytes of memory of the requests in flight: bodies, and what is made of them."),
	}
	for _, service := range []string{"github", "gitlab", "gitea"} {
		for _, outcome := range []string{"stored", "duplicate", "ignored", "ping", "refused", "bad", "failed"} {
			i.hooks.WithLabelValues(service, outcome)
		}
	}
	return i
}

// Request counts an answered request.
func (i *Ingest) Request(r taskingest.Request) {
	code := strconv.Itoa(r.Code)
	i.requests.WithLabelValues(r.Route, code).Inc()
	add(i.bytes.WithLabelValues(r.Route), int(r.Bytes))
	if r.Tasks > 0 {
		add(i.tasks.WithLabelValues(r.Route, code), r.Tasks)
	}
	observe(i.duration.WithLabelValues(r.Route), r.Took)
}

// Hook counts a webhook.
func (i *Ingest) Hook(service, outcome string) { i.hooks.WithLabelValues(service, outcome).Inc() }

// Backpressure counts a request that was refused.
func (i *Ingest) Backpressure(limit string) { i.backpressure.WithLabelValues(limit).Inc() }

// InFlight shows what is being worked on.
func (i *Ingest) InFlight(requests int, bytes int64) {
	i.inFlight.WithLabelValues().Add(float64(requests))
	i.bytesHeld.WithLabelValues().Add(float64(bytes))
}
