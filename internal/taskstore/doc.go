// Package taskstore holds every YQL text of the product and is the only place,
// with the migrations, that knows a table's name.
//
// Each operation is one text and one transaction that commits with it, and
// stands in a file of its own:
//
//	Enqueue     a batch of tasks, exactly once            enqueue.go
//	Split       the end of a batch that was refused       enqueue.go
//	KnownID     whether ids of a prefix are remembered    ids.go
//	Candidates  keys that may be claimed, a snapshot      candidates.go
//	Claim       the lock of given keys                    claim.go
//	Finish      the outcomes of claims                    finish.go
//	Promote     due tasks become runnable                 promote.go
//	Raise       new epochs for partitions                 raise.go
//	Count...    the backlog of given partitions           backlog.go
//	Stats       figures for people                        stats.go
//	Settings    what the migration stored                 settings.go
//
// Every operation may be repeated after an answer was lost, because each is
// fenced: by the row of its batch, by a lock value, by an epoch. So all of them
// are retried by the SDK as idempotent, and the comments say what a repetition
// finds. Time is always the database's.
package taskstore
