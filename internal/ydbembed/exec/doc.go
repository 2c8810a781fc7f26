// Package exec runs compiled queries over the store: iterators that read only
// what is asked of them, writes through the transaction, result rows to a Sink,
// and honest statistics of what was touched.
package exec
