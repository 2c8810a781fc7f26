// Package limits holds what a client may ask of the server at most: the limits
// of YDB, and the memory that one query, and all of them together, may take.
// docs/ydbembed.md says of each where it comes from.
package limits

// The limits that YDB documents or has in its sources, in bytes.
const (
	Text         = 10 << 10      // a query's text
	Params       = 50_000_000    // its parameters, names and types included
	Result       = 48 << 20      // its result sets together
	Intermediate = 48 << 20      // what one of its steps hands to the next
	Buffer       = 64 << 20      // what a transaction writes
	Cell         = 8 << 20       // a value that is written
	Row          = 8 << 20       // all values of a row that are written
	Key          = 1<<20 + 1<<10 // all values of a row's key
	Message      = 64_000_000    // a message of gRPC, either way
)

// What ydbembed gives to queries, in bytes.
const (
	Memory = 256 << 20 // that one query may hold while it runs
	Server = 1 << 30   // that all queries and open transactions may hold together
	Plan   = 16 << 20  // a compiled text, estimated
	Plans  = 64 << 20  // all compiled texts that are kept, estimated
	Parts  = 2_000_000 // messages inside a request: values, rows, types
)
