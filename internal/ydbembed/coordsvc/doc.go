// Package coordsvc keeps coordination nodes: sessions, semaphores, their owners
// and waiters, and watches, with the rules and the order of events of YDB's own
// coordination service (Kesus).
//
// A node is a machine, a plain state machine that is given the time and knows
// neither clocks nor streams, and an actor around it. The actor applies each
// request to the machine at once, under one mutex; what the machine wants to
// say stays in its outbox. A single goroutine takes the outbox together with
// the records that changed, writes the records in one synced batch, and hands
// the replies to the streams only then. So nobody hears of anything that a
// crash could undo, and any number of requests share one write.
//
//	            attach                    stream ends
//	(none) ------------------> attached <--------------> detached
//	                               |         attach          |
//	                    session_stop                 timeout passes
//	                               v                         v
//	                            deleted: its semaphores are released
//
// A detached session keeps what it owns and its places in the queues. After a
// restart all sessions are detached and get their timeout plus the node's grace
// period to come back.
//
// Messages are the protobuf types of the YDB API; gRPC itself is not known here:
// Service.Serve takes any Conn.
package coordsvc
