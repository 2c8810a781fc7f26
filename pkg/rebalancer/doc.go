// Package rebalancer decides which partitions this worker owns, from when until
// when, together with the other workers of the fleet.
//
// Every worker holds a place in the registry, a shared ephemeral semaphore of a
// coordination node. A planner says what each worker is to want; the exclusive
// ephemeral semaphore of each partition says who has it. So workers that know
// different plans for a while disagree about wishes, never about ownership. And
// because a worker may be stalled without knowing it, each new owner raises the
// partition's epoch (Fence), and writes under an older epoch fail.
//
// # Planners
//
// PlannerPeers has no leader: every worker watches the registry and computes the
// same Plan from the members that it sees there.
//
// PlannerLeader is for large fleets. Workers queue for the semaphore of the
// leader. Who holds it watches the registry, makes the plan with the least
// movement from the last one (Replan), keeps it in a semaphore's data for the next
// leader, and writes each worker's partitions into that worker's mailbox, the
// data of a semaphore that the worker watches. Letters carry the leader's term, so
// that one of a former leader is not obeyed.
//
//	                elected            the last plan read
//	[candidate] ─────────────▶ [new] ─────────────────────▶ [leading] ◀─┐
//	     ▲                       │                            │    │    │ change, or Recheck:
//	     │   session lost, or    │                            │    └────┘ gather, read, plan,
//	     └───────────────────────┴────────────────────────────┘           keep, write letters
//	         Stop: the next in the queue is elected
//
// What fails on the way is tried again with pauses.
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
//	  │  └───┘ with jitter                                             │ │  └────┘ gather, read, keep to it
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
// A worker that gains partitions asks for them at once; a worker that loses them
// gives them up half a Debounce later; a leader writes to those that gain first. So the new owner stands in the queue
// before the old one lets go, and the partition is idle only for the time of the
// grant and of the epoch's raise.
package rebalancer
