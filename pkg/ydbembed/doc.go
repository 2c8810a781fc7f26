// Package ydbembed is a YDB-compatible server in one process, for development,
// tests and small single-machine installs. Programs talk to it through the
// official YDB SDK, with the connection string that DSN returns:
//
//	server, err := ydbembed.Start(ctx, ydbembed.Config{Memory: true})
//	...
//	defer server.Close()
//	db, err := ydb.Open(ctx, server.DSN())
//
// It serves sessions, transactions and queries in YQL on row tables, the scheme
// and coordination nodes. What it does not implement it refuses with the status
// that YDB uses for it and a text that names the feature.
//
// A commit that was acknowledged is on disk when Config.Dir is set, and
// survives the death of the process.
//
// Faults scripts the server for tests: calls that fail, are late or never
// answered, commits whose answer is lost, sessions that end.
package ydbembed
