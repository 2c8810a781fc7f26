// Package taskproducer puts tasks into a fleet.
//
// A Producer checks tasks, gives them ids and partitions, cuts them into batches
// and stores each batch atomically. A batch has an id, so that it can
// be sent again when its answer was lost: the second time changes nothing.
//
//	producer, err := taskproducer.Open(ctx, db, taskproducer.Config{})
//	result, err := producer.Enqueue(ctx, task.Task{Payload: payload, Priority: 200})
//
// EnqueueAll stores all or nothing, and under a key, so that a caller may repeat
// the call after a crash, or another process may.
//
// An id that the caller gives is remembered as long as its task lives, and for 45
// days after it is completed or dead. Ids that the producer makes are not
// remembered, and so cannot be given: task.Reserved recognizes them.
//
// EnqueueTx does the same as Enqueue inside a transaction of the caller: the tasks are
// there exactly if the transaction commits.
//
// Run makes tasks at a rate, window by window, for load.
package taskproducer
