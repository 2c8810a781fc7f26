// Package rebalancer decides which partitions this worker owns, from when until
// when, together with the other workers of the fleet.
//
// Every worker registers in one shared ephemeral semaphore of a coordination node
// and watches it. From the members that it sees there each worker computes the
// same Plan. The exclusive ephemeral semaphore of each partition decides who owns
// it. So workers that see different members for a while disagree about the plan,
// never about ownership. And because a worker may be stalled without knowing it,
// each new owner raises the partition's epoch (Fence), and writes under an older
// epoch fail.
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
//	  │  └───┘ with jitter                                             │ │  └────┘ debounce, plan
//	  │                           session lost: every lease ends       │ │
//	  └────────────────────────────────────────────────────────────────┘ │ Stop
//	                                                                     ▼
//	          [stopped] ◀──────────── registry, session ◀──────────── [draining]
//	                     closed        released           all empty
//
// A draining worker is no member for the others' plans, so that they queue for
// its partitions while it empties them.
//
// A member is active, paused or drained. A worker pauses itself (Pause, Resume)
// when it can run nothing for a while. An operator drains and resumes workers by a
// Manager: the names of drained workers are the data of a persistent semaphore,
// which every worker watches, and reads before it registers. A drained worker
// says so in the registry, and gets no partitions. One that is both is drained,
// and stays paused when it is resumed by name.
//
//	           drained by name
//	[active] ───────────────────▶ [drained]: gives everything away, then idle,
//	 │ ▲  ▲                           │      also after a restart under its id
//	 │ │  └───────────────────────────┘
//	 │ │       resumed by name
//	 │ │ Resume
//	 ▼ │
//	[paused]: gives everything away, then idle, also in the sessions to come of
//	          this process
//
// # Handing over
//
// A worker that gains partitions acquires them at once; a worker that loses them
// releases them half a Debounce later. So the new owner waits in the queue before
// the old one releases, and the partition is idle only for the time of the
// grant and of the epoch's raise.
package rebalancer
