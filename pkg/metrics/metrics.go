package metrics

import (
	"fmt"
	"net/http"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

const namespace = "taskfleet"

// Metrics holds the metrics of one process. Its methods may be called
// concurrently.
type Metrics struct {
	registry *prometheus.Registry
	kinds    *labels

	producer   func() *Producer
	worker     func() *Worker
	rebalancer func() *Rebalancer
	database   func() *Database
	outbound   func() *Outbound
	ingest     func() *Ingest

	mu     sync.Mutex
	health func() error
}

// New returns metrics with those of the Go runtime and of the process, CPU time
// among them.
func New() *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), kinds: newLabels(maxKinds)}
	m.registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	m.producer = sync.OnceValue(func() *Producer { return newProducer(m) })
	m.worker = sync.OnceValue(func() *Worker { return newWorker(m) })
	m.outbound = sync.OnceValue(func() *Outbound { return newOutbound(m) })
	m.rebalancer = sync.OnceValue(func() *Rebalancer { return newRebalancer(m) })
	m.database = sync.OnceValue(func() *Database { return newDatabase(m) })
	m.ingest = sync.OnceValue(func() *Ingest { return newIngest(m) })
	return m
}

// Producer returns the observer for a taskproducer.
func (m *Metrics) Producer() *Producer { return m.producer() }

// Worker returns the observer for a taskworker.
func (m *Metrics) Worker() *Worker { return m.worker() }

// Rebalancer returns the observer for a rebalancer.
func (m *Metrics) Rebalancer() *Rebalancer { return m.rebalancer() }

// Outbound returns the observer for what a worker's handlers send.
func (m *Metrics) Outbound() *Outbound { return m.outbound() }

// Ingest returns the observer for a taskingest.Handler.
func (m *Metrics) Ingest() *Ingest { return m.ingest() }

// Database returns the observer for the statements of a producer or a worker.
func (m *Metrics) Database() *Database { return m.database() }

// Registry is where further metrics of the process may be registered.
func (m *Metrics) Registry() *prometheus.Registry { return m.registry }

// SetHealth makes /healthz answer 503 with the error's text while check returns
// one. check is called concurrently.
func (m *Metrics) SetHealth(check func() error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.health = check
}

// Handler serves /metrics and /healthz.
func (m *Metrics) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		m.mu.Lock()
		check := m.health
		m.mu.Unlock()
		if check != nil {
			if err := check(); err != nil {
				http.Error(w, err.Error(), http.StatusServiceUnavailable)
				return
			}
		}
		fmt.Fprintln(w, "ok")
	})
	return mux
}
