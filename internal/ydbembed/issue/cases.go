package issue

import "github.com/ydb-platform/ydb-go-genproto/protos/Ydb"

// LocksInvalidated is an optimistic conflict over a table: ABORTED, issue 2001.
func LocksInvalidated(table string) *Error {
	return New(Ydb.StatusIds_ABORTED, CodeLocksInvalidated, "Transaction locks invalidated. Table: `%s`", table)
}

// SchemeChanged is a table that changed under a transaction: ABORTED, issue 2028.
func SchemeChanged(table string) *Error {
	return New(Ydb.StatusIds_ABORTED, CodeSchemeMismatch, "Table scheme changed. Table: `%s`", table)
}

// TableNotFound is an unknown table: SCHEME_ERROR, issue 2003.
func TableNotFound(path string) *Error {
	return New(Ydb.StatusIds_SCHEME_ERROR, CodeSchemeError,
		"Cannot find table 'db.[%s]' because it does not exist or you do not have access permissions. "+
			"Please check correctness of table path and user permissions.", path).Under(CodeTableMetadata)
}

// Generic is GENERIC_ERROR with one issue: what the parser and the planner refuse.
func Generic(format string, args ...any) *Error {
	return New(Ydb.StatusIds_GENERIC_ERROR, 0, format, args...)
}

// Type is GENERIC_ERROR under "Type annotation": names and types that do not fit.
func Type(format string, args ...any) *Error {
	return Generic(format, args...).Under(CodeTypeAnnotation)
}

// BadRequest is BAD_REQUEST, issue 2017: parameters and requests that do not fit.
func BadRequest(format string, args ...any) *Error {
	return New(Ydb.StatusIds_BAD_REQUEST, CodeBadRequest, format, args...)
}

// Unsupported names a feature that ydbembed has not: UNSUPPORTED, issue 2030.
func Unsupported(format string, args ...any) *Error {
	return New(Ydb.StatusIds_UNSUPPORTED, CodeUnsupported, format, args...)
}

// MissingNotNull is a NOT NULL column without a value: BAD_REQUEST, issue 2032.
func MissingNotNull(column string) *Error {
	return New(Ydb.StatusIds_BAD_REQUEST, CodeNoColumnDefault,
		"Missing not null column in input: %s. All not null columns should be initialized", column)
}

// NullIntoNotNull is NULL, or a value that may be NULL, for a NOT NULL column: BAD_REQUEST, issue 2031.
func NullIntoNotNull(column string) *Error {
	return New(Ydb.StatusIds_BAD_REQUEST, CodeBadColumnType,
		"Tried to insert NULL value into NOT NULL column: %s", column)
}

// KeyExists is INSERT of a key that is there: PRECONDITION_FAILED, issue 2012.
func KeyExists() *Error {
	return New(Ydb.StatusIds_PRECONDITION_FAILED, CodeConstraint, "Conflict with existing key.")
}

// DuplicateKeys is INSERT of the same key twice: PRECONDITION_FAILED, issue 2012.
func DuplicateKeys() *Error {
	return New(Ydb.StatusIds_PRECONDITION_FAILED, CodeConstraint, "Duplicated keys found.")
}

// Runtime is a value that an expression refused while rows were made
// (Unwrap, Ensure): PRECONDITION_FAILED under "Execution".
func Runtime(format string, args ...any) *Error {
	return New(Ydb.StatusIds_PRECONDITION_FAILED, CodeConstraint, format, args...).Under(CodeExecution)
}

// ReadOnly is a write in a read-only transaction: GENERIC_ERROR, issue 2008.
func ReadOnly() *Error {
	return New(Ydb.StatusIds_GENERIC_ERROR, CodeBadOperation, "Operation can't be performed in read only transaction")
}

// DDLInTransaction is DDL with a transaction: PRECONDITION_FAILED.
func DDLInTransaction() *Error {
	return New(Ydb.StatusIds_PRECONDITION_FAILED, 0, "Scheme operations cannot be executed inside transaction")
}

// MixedDDL is DDL and DML in one text: GENERIC_ERROR, issue 2009.
func MixedDDL() *Error {
	return New(Ydb.StatusIds_GENERIC_ERROR, CodeMixedDDL, "Queries with mixed data and scheme operations are not supported.")
}

// TxNotFound is an unknown or ended transaction: NOT_FOUND, issue 2015.
func TxNotFound(id string) *Error {
	return New(Ydb.StatusIds_NOT_FOUND, CodeTxNotFound, "Transaction not found: %s", id)
}

// TooManyTx is one open transaction too many in a session: BAD_SESSION, issue 2014.
func TooManyTx(limit int) *Error {
	return New(Ydb.StatusIds_BAD_SESSION, CodeTooManyTx, "Exceeded maximum allowed number of active transactions, limit: %d", limit)
}

// SessionNotFound is an unknown or ended session: BAD_SESSION.
func SessionNotFound(id string) *Error {
	return New(Ydb.StatusIds_BAD_SESSION, 0, "Session not found: %s", id)
}

// SessionBusy is a second query while one runs in the session: SESSION_BUSY.
func SessionBusy() *Error {
	return New(Ydb.StatusIds_SESSION_BUSY, 0, "Pending previous query completion")
}

// Overloaded is a limit of the server that was reached: OVERLOADED, issue 2006.
func Overloaded(format string, args ...any) *Error {
	return New(Ydb.StatusIds_OVERLOADED, CodeOverloaded, format, args...)
}

// Timeout is an operation whose time is over: TIMEOUT, issue 2020.
func Timeout() *Error { return New(Ydb.StatusIds_TIMEOUT, CodeTimeout, "Request timeout exceeded") }

// Cancelled is an operation that was called off: CANCELLED, issue 2021.
func Cancelled() *Error { return New(Ydb.StatusIds_CANCELLED, CodeCancelled, "Request was cancelled") }
