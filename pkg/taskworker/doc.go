// Package taskworker runs the tasks of the partitions that a worker owns: it
// finds what is runnable, claims it in batches, runs handlers in a bounded pool
// and records the outcomes in batches.
//
//	worker, fleet, err := taskworker.Open(ctx, db, taskworker.Config{
//		Owner:    "worker-1",
//		Handlers: map[string]taskworker.Handler{"email": sendEmail},
//	})
//	...
//	err = worker.Start(ctx)
//	defer worker.Stop(graceCtx)
//
// Somebody else decides which partitions the worker has, usually package
// rebalancer, by calling Acquired and Revoke; the package's example joins the
// two.
//
// # A claim
//
//	            +-> completed    the handler returned nil
//	pending ----+-> retry        an error, a panic or the timeout: again later
//	   ^  locked|-> dead         no attempts left, or the handler said Never
//	   |        +-> lost         the partition was lost: its new owner runs it again
//	   +-- released              given back on Revoke or Stop, the attempt not counted
//
// Delivery is at least once. A handler that must not act twice keys its effect
// by the task's ID, and Attempt tells it whether it may have acted before.
//
// # When a handler's context ends
//
// At the task's timeout, when the lease of its partition ends (the worker lost
// its session), when the context of Revoke ends before the partition is drained,
// and when the context of Stop ends. A handler that does not return within
// Config.AbandonAfter from then is abandoned: counted, logged with the task's
// id, and its result is dropped.
package taskworker
