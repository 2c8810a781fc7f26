// Package invariants has the tests that need real processes: killed and stalled
// ones, and programs that work together. It has tests only.
//
// Each of what must always hold (section 7 of the design) has one owner, the
// cheapest tests that can break it:
//
//	I1   internal/fleettest    TestInvariantsHoldThrough, after every event
//	     here                  TestI1I5KilledServerKeepsAcknowledgedBatches, and internal/ydbembed/crashtest: a killed server
//	     pkg/taskingest        TestI1NothingAcknowledgedIsLost: what is acknowledged over HTTP
//	I2   internal/fleettest    TestInvariantsHoldThrough, at snapshots while tasks run
//	I3   internal/fleettest    its judge, who sees every outcome of every test there
//	     internal/taskstore    TestI3ALostAnswerToAFinish: the statement
//	I4   internal/fleettest    its judge, who sees every owner, epoch and claim
//	     pkg/rebalancer        TestI4I8RandomMembership; internal/taskstore TestI4AnOldEpochClaimsNothing: the statement
//	I5   internal/taskstore    TestI5EnqueueAgainChangesNothing
//	     pkg/taskproducer      TestI5SplitBatchesAreExact, and others: lost answers; pkg/taskingest TestI5AKeyStoresOnce
//	I6   pkg/taskworker        TestI6RevokeEndsHandlersAtTheDrainDeadline, TestI6HandlersEndWithTheLease
//	     here                  TestI6StalledWorkerStops: a process that stands still
//	I7   internal/taskstore    TestI7HistoryAndTheFutureCostNothing
//	I8   pkg/rebalancer        TestI4I8RandomMembership, TestI8CrashedWorkerIsReplacedInTime
//	     internal/fleettest    TestInvariantsHoldThrough: with tasks, and when servers fail
//	I9   pkg/taskworker        TestI9AStopAtAnyMomentBurnsNothing
//	     internal/fleettest    TestInvariantsHoldThrough, when a worker leaves
//	I10  where input comes in: internal/taskjson, internal/githook, pkg/taskproducer, pkg/taskingest, internal/taskstore,
//	     cmd/producer          tests named TestI10
//
// That a task dies only of what it did (section 4) is held here, by
// TestATaskDiesOnlyOfWhatItDid. The budgets of section 8 are held in cmd/worker.
// taskctl chaos holds all of it at once, for as long as one likes.
package invariants
