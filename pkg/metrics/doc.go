// Package metrics turns what a producer, an ingest handler, a worker and a
// rebalancer tell their observers into Prometheus metrics, and serves them.
//
//	m := metrics.New()
//	producer, err := taskproducer.Open(ctx, db, taskproducer.Config{Observer: m.Producer()})
//	server, err := m.Serve(ctx, ":9090")
//	defer server.Close()
//
// Names begin with taskfleet_producer_, taskfleet_worker_, taskfleet_rebalancer_,
// taskfleet_ingest_ or taskfleet_ydb_; durations are in seconds. Each part is registered when
// it is asked for, so that a producer shows no worker's metrics.
//
// Kinds of tasks are data that others send: the first 100 get a label value of
// their own, all further ones share "other".
package metrics
