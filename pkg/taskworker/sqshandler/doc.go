// Package sqshandler is a stock handler of the worker binary: it publishes a task
// to a queue that speaks the API of Amazon SQS, such as Yandex Message Queue.
//
// A payload is a JSON object:
//
//	{"queue": "orders", "body": {"n": 1}, "attributes": {"source": "ci"}, "delay": "10s"}
//
//	queue       one of the queues of the handler's Config; its first by default
//	body        the message: a string as it is, other JSON as JSON; the payload itself by default
//	attributes  up to 10 message attributes, strings
//	delay       until the message can be received, up to 15m; not with a FIFO queue
//
// To a FIFO queue, one whose name ends with .fifo, a message goes with the task's
// partition key as its group (the task's id, when it has none) and the task's id
// as its deduplication id, so that an attempt after a lost answer within five
// minutes adds no second message. A text that such an id must not be, or that
// looks like a digest, is replaced by its SHA-256.
//
// What the service says of the message itself (too long, characters that it must
// not hold) kills the task at once; every other error asks for another attempt.
package sqshandler
