// Package observed holds the test of what people look at: a real Prometheus
// scrapes a running fleet, and every expression of a dashboard or of a rule must
// return figures. It needs Debian's package prometheus, so it runs with the
// build tag verify only: see `make verify`.
package observed
