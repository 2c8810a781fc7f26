// Package taskfleet is a durable task queue and a self-balancing fleet of workers on
// YDB. One value, a Fleet, enqueues tasks, works on them, or both:
//
//	type SendEmail struct{ To string }
//
//	fleet, err := taskfleet.Open(ctx, db, taskfleet.Config{})
//	...
//	taskfleet.Handle(fleet, func(ctx context.Context, t *taskfleet.Task[SendEmail]) error {
//		return mailer.Send(ctx, t.Args.To)
//	})
//	receipt, err := fleet.Enqueue(ctx, SendEmail{To: "a@example.com"}, taskfleet.Priority(200))
//	...
//	err = fleet.Run(ctx) // until ctx ends; then it hands over within Config.Grace
//
// The tables are made by package migrate, or by `taskctl migrate up`. Package
// taskfleettest gives tests a fleet in memory.
//
// # Delivery
//
// A task that was enqueued without an error is never lost. It runs at least once: a
// handler that must not act twice keys its effect by the task's ID. What a handler's
// error means for its task is said at Handle.
//
// # A fleet's life
//
//	         Start                    joined                     Stop, or the end of Run's context
//	[opened] ─────▶ [joining] ──────────────────▶ [working] ──────┐
//	   │                                                          ▼
//	   │ never started: enqueues only                         [draining] ──▶ [stopped]
//	   └────────────────────────────────────────────────────────────────────────▲
//
// Draining, the fleet claims nothing more, gives back what has not started, lets
// handlers finish within the grace, records their outcomes, and releases its
// partitions to the other workers.
//
// The packages below, taskproducer, taskworker, rebalancer and metrics, are the parts
// that a Fleet joins, for those who assemble their own.
package taskfleet
