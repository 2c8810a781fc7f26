package rebalancer

import (
	"context"
	"errors"
	"slices"
	"time"
)

// assignment is what the plan gives to this worker.
type assignment struct {
	mine    func(partition int) bool
	members int  // active workers of the fleet
	others  bool // an active worker other than this one is registered
}

// errNotRegistered: the registry does not show this session.
var errNotRegistered = errors.New("rebalancer: this worker is not in the registry")

const (
	// debouncePerMember makes the debounce of a large fleet longer, because every
	// member reads every change: 1 s at 200 workers, and at most maxDebounce.
	debouncePerMember = 5 * time.Millisecond
	maxDebounce       = 2 * time.Second
	// recheckPerMember bounds the rate of idle reads of a large fleet.
	recheckPerMember = 150 * time.Millisecond
)

// debounceFor returns how long changes are debounced in a fleet of this size.
func (c Config) debounceFor(members int) time.Duration {
	return max(c.Debounce, min(time.Duration(members)*debouncePerMember, maxDebounce))
}

// recheckFor returns the interval of idle reads in a fleet of this size.
func (c Config) recheckFor(members int) time.Duration {
	return max(c.Recheck, time.Duration(members)*recheckPerMember)
}

func (t *term) debounce() time.Duration { return t.r.cfg.debounceFor(len(t.members)) }

func (t *term) recheck() time.Duration { return t.r.cfg.recheckFor(len(t.members)) }

// releaseDelay is how long this worker keeps a partition that a new plan gives to
// another. Debounces are jittered by a quarter, so the others have planned at most
// half a debounce after this worker, and wait in the partition's queue by then.
func (t *term) releaseDelay() time.Duration { return t.debounce() / 2 }

// stopDelay is how long a draining worker keeps its partitions: the others plan at
// most five quarters of a debounce after its state has changed.
func (t *term) stopDelay() time.Duration { return t.debounce() * 3 / 2 }

// plan reads the registry and computes the assignment. The channel is closed when
// the registry changes.
func (t *term) plan(ctx context.Context) (assignment, <-chan struct{}, error) {
	r, session := t.r, t.session
	owners, changed, err := session.Owners(ctx, registryName)
	if err != nil {
		return assignment{}, nil, err
	}
	v := readView(owners, r.cfg.WorkerID, session.ID())
	if v.malformed > 0 {
		r.log.Warn("registry entries that cannot be read are ignored", "entries", v.malformed)
	}
	if !v.present {
		return assignment{}, nil, errNotRegistered
	}
	if v.superseded && !t.superseded {
		r.log.Error("another process registered with this worker id; giving it everything")
	}
	t.superseded, t.members = v.superseded, v.members
	plan := r.plan(v.members, r.cfg.Partitions)
	return assignment{
		members: len(v.members),
		others:  slices.ContainsFunc(v.members, func(m Member) bool { return m.ID != r.cfg.WorkerID }),
		mine: func(partition int) bool {
			return plan != nil && plan[partition] == r.cfg.WorkerID && !v.superseded
		},
	}, changed, nil
}
