// Package session keeps the sessions of clients and their transactions, and
// runs queries in them: text to plan (cached), plan to rows, rows to the
// caller's sink, and the commit that the request asks for.
//
// A session runs one call at a time; a second one meanwhile is SESSION_BUSY. A
// session ends when its attach stream ends, when it is deleted, when it stays
// idle without a stream, or when the Manager closes; its open transactions
// roll back. Any error of a statement ends the transaction it ran in.
//
// Errors that clients see are *issue.Error. No goroutine is started here: the
// owner of the Manager calls Sweep from time to time.
package session
