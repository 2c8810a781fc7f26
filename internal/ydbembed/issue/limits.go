package issue

import "github.com/ydb-platform/ydb-go-genproto/protos/Ydb"

// TextTooLong is a query's text over the limit: BAD_REQUEST.
func TextTooLong(size, limit int) *Error {
	return BadRequest("Query text size exceeds limit (%db > %db)", size, limit)
}

// ParamsTooLarge is parameters over the limit: BAD_REQUEST.
func ParamsTooLarge(size, limit int) *Error {
	return BadRequest("Parameters size exceeds limit (%db > %db)", size, limit)
}

// TooComplex is a text whose plan takes more than the limit: GENERIC_ERROR, issue 1500.
func TooComplex(limit int) *Error {
	return New(Ydb.StatusIds_GENERIC_ERROR, CodeTooManyNodes, "Too many nodes: the plan of the query takes more than %d bytes", limit)
}

// ResultTooLarge is a result over the limit: PRECONDITION_FAILED, issue 2013.
func ResultTooLarge(size, limit int) *Error {
	return New(Ydb.StatusIds_PRECONDITION_FAILED, CodeResult, "Query result size limit exceeded. (%d > %d)", size, limit)
}

// IntermediateTooLarge is a step of a query that hands more than the limit to
// the next: PRECONDITION_FAILED, issue 2013.
func IntermediateTooLarge(size, limit int) *Error {
	return New(Ydb.StatusIds_PRECONDITION_FAILED, CodeResult,
		"Intermediate data materialization exceeded size limit (%d > %d). "+
			"This usually happens when trying to write large amounts of data or to perform lookup "+
			"by big collection of keys in single query. Consider using smaller batches of data.", size, limit)
}

// BufferTooLarge is a transaction that writes more than the limit:
// PRECONDITION_FAILED, issue 2029.
func BufferTooLarge(size, limit int) *Error {
	return New(Ydb.StatusIds_PRECONDITION_FAILED, CodePrecondition, "Out of buffer memory. Used %d bytes of %d bytes.", size, limit)
}

// MemoryLimit is a query that needs more memory than one may have:
// PRECONDITION_FAILED, issue 2029.
func MemoryLimit(limit int64) *Error {
	return New(Ydb.StatusIds_PRECONDITION_FAILED, CodePrecondition, "Mkql memory limit exceeded, limit: %d", limit)
}

// MemoryExhausted is a query that finds no memory because others have it:
// OVERLOADED, issue 2029. A later attempt may find it.
func MemoryExhausted() *Error {
	return New(Ydb.StatusIds_OVERLOADED, CodePrecondition, "Mkql memory limit exceeded: other queries hold the memory of the server")
}

// CellTooLarge is a value too large to be written: BAD_REQUEST, issue 2017.
func CellTooLarge(table string, size, limit int) *Error {
	return badRow(table, "Row cell size of %d bytes is larger than the allowed threshold %d", size, limit)
}

// KeyTooLarge is a key too large to be written: BAD_REQUEST, issue 2017.
func KeyTooLarge(table string, size, limit int) *Error {
	return badRow(table, "Row key size of %d bytes is larger than the allowed threshold %d", size, limit)
}

// RowTooLarge is a row too large to be written: BAD_REQUEST, issue 2017.
func RowTooLarge(table string, size, limit int) *Error {
	return badRow(table, "Row size of %d bytes is larger than the allowed threshold %d", size, limit)
}

// badRow is what the shard of a table says of a row that it does not take.
func badRow(table, format string, size, limit int) *Error {
	e := BadRequest("Bad request. Table: `%s`.", table)
	e.Issues[0].Children = BadRequest(format, size, limit).Issues
	return e
}
