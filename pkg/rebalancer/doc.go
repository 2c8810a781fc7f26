// Package rebalancer decides which partitions this worker owns, from when until
// when, together with the other workers of the fleet and without a leader.
//
// Every worker holds a place in the registry, a shared ephemeral semaphore of a
// coordination node, and watches it. Every worker computes the same Plan from
// the members that it sees there. The plan says what to want; the exclusive
// ephemeral semaphore of each partition says who has it. So workers that see
// different members for a while disagree about wishes, never about ownership.
// And because a worker may be stalled without knowing it, each new owner raises
// the partition's epoch (Fence), and writes under an older epoch fail.
//
// # A partition, seen by one worker
//
//	           planned               granted             epoch raised,
//	                                                     session alive
//	[foreign] ────────▶ [waiting] ───────────▶ [fencing] ─────────────▶ [owned]
//	   ▲  ▲                 │                      │                     │   │
//	   │  │  planned away:  │       planned away:  │      planned away,  │   │ session lost:
//	   │  │  withdraw       │       release        │      fenced, stop   │   │ the lease ends
//	   │  └─────────────────┴──────────────────────┘                     ▼   ▼
//	   │                                                             [revoking]
//	   │     emptied, or DrainTimeout passed: the lease ends,            │
//	   └──── then the semaphore is released ─────────────────────────────┘
//
// A partition is emptied before it is released, each on its own: a slow one does
// not hold up the others. Its lease context lives until it is empty, so what
// runs may finish. When the session is lost there is nothing to release and no
// time: the leases of all partitions end at once. A partition that is planned
// away and back while it is being revoked is revoked to the end, and acquired
// again.
//
// # A worker
//
//	                opened                   registered, first plan
//	[connecting] ───────────▶ [registering] ────────────────────────▶ [member] ◀─┐
//	  ▲  ▲   │ failed: pause                                           │ │  │    │ change, or Recheck:
//	  │  └───┘ with jitter                                             │ │  └────┘ gather, read, plan
//	  │                           session lost: every lease ends       │ │
//	  └────────────────────────────────────────────────────────────────┘ │ Stop
//	                                                                     ▼
//	          [stopped] ◀──────────── registry, session ◀──────────── [draining]
//	                     closed        released           all empty
//
// A draining worker is no member for the others' plans, so that they queue for
// its partitions while it empties them.
//
// # Handing over
//
// A worker that gains partitions asks for them at once; a worker that loses them
// gives them up half a Debounce later. So the new owner stands in the queue
// before the old one lets go, and the partition is idle only for the time of the
// grant and of the epoch's raise.
package rebalancer
