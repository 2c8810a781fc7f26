package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/taskfleet/taskfleet/pkg/rebalancer"
)

// Rebalancer is the observer of a rebalancer.
type Rebalancer struct {
	opened, lost, plans, gained, given, errors *prometheus.CounterVec
	connected, members, planned, owned, all    *prometheus.GaugeVec
	acquire, drain                             *prometheus.HistogramVec
}

var _ rebalancer.Observer = (*Rebalancer)(nil)

func newRebalancer(m *Metrics) *Rebalancer {
	f := factory{m.registry, "rebalancer"}
	return &Rebalancer{
		opened:    f.counter("sessions_opened_total", "Coordination sessions that were opened."),
		lost:      f.counter("sessions_lost_total", "Coordination sessions that ended without having been closed."),
		connected: f.gauge("session_up", "1 while there is a coordination session."),
		members:   f.gauge("members", "Active workers of the fleet, as this one sees it."),
		plans:     f.counter("plans_total", "Plans of who owns what that were computed."),
		planned:   f.gauge("planned_partitions", "Partitions that the plan gives to this worker."),
		owned:     f.gauge("owned_partitions", "Partitions that this worker owns."),
		all:       f.gauge("partitions", "Partitions of the fleet, whoever owns them."),
		gained:    f.counter("gained_partitions_total", "Partitions that plans gave to this worker."),
		given:     f.counter("given_partitions_total", "Partitions that plans took from this worker."),
		acquire:   f.histogram("acquire_wait_seconds", "From the plan that gave a partition until it was owned.", seconds),
		drain:     f.histogram("drain_duration_seconds", "How long it took to empty a partition before it was released.", seconds),
		errors: show(f.counter("errors_total", "Operations that failed and are tried again, by operation.", "op"),
			"open", "register", "watch", "acquire", "fence", "revoke", "release"),
	}
}

// SetPartitions shows how many partitions the fleet has.
func (r *Rebalancer) SetPartitions(n int) { r.all.WithLabelValues().Set(float64(n)) }

// SessionOpened counts a session.
func (r *Rebalancer) SessionOpened(uint64) {
	r.opened.WithLabelValues().Inc()
	r.connected.WithLabelValues().Set(1)
}

// SessionLost counts a lost session.
func (r *Rebalancer) SessionLost(error) {
	r.lost.WithLabelValues().Inc()
	r.connected.WithLabelValues().Set(0)
}

// ViewChanged shows the size of the fleet.
func (r *Rebalancer) ViewChanged(members int) { r.members.WithLabelValues().Set(float64(members)) }

// Planned shows what a plan gives to this worker.
func (r *Rebalancer) Planned(mine, gained, lost int) {
	r.plans.WithLabelValues().Inc()
	r.planned.WithLabelValues().Set(float64(mine))
	add(r.gained.WithLabelValues(), gained)
	add(r.given.WithLabelValues(), lost)
}

// PartitionAcquired measures how long a partition had no owner here.
func (r *Rebalancer) PartitionAcquired(_ uint16, waited time.Duration) {
	observe(r.acquire.WithLabelValues(), waited)
}

// PartitionReleased measures a drain.
func (r *Rebalancer) PartitionReleased(_ uint16, drained time.Duration) {
	observe(r.drain.WithLabelValues(), drained)
}

// OwnedChanged shows how many partitions this worker owns.
func (r *Rebalancer) OwnedChanged(owned int) { r.owned.WithLabelValues().Set(float64(owned)) }

// Failed counts an operation that failed.
func (r *Rebalancer) Failed(op string, _ error) { r.errors.WithLabelValues(op).Inc() }
