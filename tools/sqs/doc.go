// Package sqs tests the worker's handler of queues, and the way back from dead,
// against a server that others wrote: GoAWS, which speaks the API of Amazon SQS. It
// is a module of its own so that the product does not depend on that server.
package sqs
