// Package store keeps tables, the scheme and small durable records in Pebble,
// and gives transactions over them: snapshots, the transaction's own writes on
// top, optimistic point and range locks, and durable group commit.
//
// Keys of the engine are one byte of kind, then: the path of a scheme entry,
// the name of a meta record, or the table's number and the row's key in
// order-preserving form. A row's value holds its non-key columns by column
// number, so that adding and dropping columns rewrites nothing.
package store
