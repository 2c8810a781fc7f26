package rebalancer

import (
	"context"
	"errors"
	"slices"
	"time"
)

// wish is what a planner says that this worker is to have.
type wish struct {
	mine    func(partition int) bool // nil: no news, all stays as it is
	members int                      // active ones in the whole fleet, or unknownMembers
	others  bool                     // there is somebody to hand over to
}

// unknownMembers: this worker does not know how large the fleet is.
const unknownMembers = -1

// planner tells a worker what it is to have. One goroutine calls it.
type planner interface {
	// join is called once, before the worker registers.
	join(ctx context.Context) error
	// next reads the present wish. The channel is closed at the next change.
	// errMissing says that the fleet does not know of this session.
	next(ctx context.Context) (wish, <-chan struct{}, error)
	// leave is called after the worker has told the fleet that it stops.
	leave()
	// pause is how long a change waits for others before it is read.
	pause() time.Duration
	// give is how long after a wish the gainers have surely asked for what this
	// worker is to give up, and linger how long after it has said that it stops.
	give() time.Duration
	linger() time.Duration
	// recheck is how often to read although no change was reported.
	recheck() time.Duration
}

// errMissing: what this session holds in the registry is not seen there.
var errMissing = errors.New("rebalancer: this worker is not in the registry")

const (
	// pausePerMember makes changes of a large fleet gather for longer, because
	// every member reads all of them: 1 s at 200 workers, and at most maxGather.
	pausePerMember = 5 * time.Millisecond
	maxGather      = 2 * time.Second
	// recheckPerMember keeps the rate of idle reads of a large fleet constant.
	recheckPerMember = 150 * time.Millisecond
)

// gathering is how long changes gather in a fleet of so many members.
func (c Config) gathering(members int) time.Duration {
	return max(c.Debounce, min(time.Duration(members)*pausePerMember, maxGather))
}

// idle is how long a worker reads nothing in a fleet of so many members.
func (c Config) idle(members int) time.Duration {
	return max(c.Recheck, time.Duration(members)*recheckPerMember)
}

// peers is the planner without a leader: every worker reads the registry and
// computes the plan.
type peers struct {
	t          *term
	members    []Member // of the last view
	superseded bool
}

func (*peers) join(context.Context) error { return nil }

func (*peers) leave() {}

func (p *peers) pause() time.Duration { return p.t.r.cfg.gathering(len(p.members)) }

// The others read a change at the latest a quarter of the pause after its end,
// this worker at the earliest a quarter before it.
func (p *peers) give() time.Duration { return p.pause() / 2 }

func (p *peers) linger() time.Duration { return p.pause() * 3 / 2 }

func (p *peers) recheck() time.Duration { return p.t.r.cfg.idle(len(p.members)) }

func (p *peers) next(ctx context.Context) (wish, <-chan struct{}, error) {
	r, session := p.t.r, p.t.session
	owners, changed, err := session.Owners(ctx, registryName)
	if err != nil {
		return wish{}, nil, err
	}
	v := readView(owners, r.cfg.WorkerID, session.ID())
	if v.malformed > 0 {
		r.log.Warn("registry entries that cannot be read are ignored", "entries", v.malformed)
	}
	if !v.present {
		return wish{}, nil, errMissing
	}
	if v.superseded && !p.superseded {
		r.log.Error("another process registered with this worker id; giving it everything")
	}
	p.superseded, p.members = v.superseded, v.members
	plan := r.plan(v.members, r.cfg.Partitions)
	return wish{
		members: len(v.members),
		others:  slices.ContainsFunc(v.members, func(m Member) bool { return m.ID != r.cfg.WorkerID }),
		mine: func(partition int) bool {
			return plan != nil && plan[partition] == r.cfg.WorkerID && !v.superseded
		},
	}, changed, nil
}
