package rebalancer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/taskfleet/taskfleet/internal/coord"
)

const (
	// leaderName is the semaphore whose holder plans for the fleet.
	leaderName = "plan-leader"
	// planName is the persistent semaphore that keeps the last plan for the next leader.
	planName = "fleet-plan"
	// candidacy is how long one request to become the leader stands in the queue.
	candidacy = time.Hour
	// deliveries bounds the letters that are written at once.
	deliveries = 16
)

// plan as planName keeps it.
type storedPlan struct {
	Owners map[string][]uint16 `json:"owners"` // partitions by worker
}

// leader plans for the fleet as long as it holds the semaphore of the leader.
type leader struct {
	t    *term
	term uint64
	seq  uint64
	plan []string
	sent map[uint64][]uint16 // what the letters say, by session
}

// campaign stands for election, leads when elected, and begins again.
func (t *term) campaign(ctx context.Context) {
	var pause backoff
	for ctx.Err() == nil {
		held, err := t.session.Acquire(ctx, leaderName, coord.Request{
			Exclusive: true, Data: []byte(t.r.cfg.WorkerID), Timeout: candidacy,
		})
		if err == nil {
			pause.reset()
			t.lead(ctx, held)
			t.resign(held)
			continue
		}
		if ctx.Err() == nil && !errors.Is(err, coord.ErrTimeout) {
			t.r.failed("lead", err)
			pause.wait(ctx, t.ctx)
		}
	}
}

func (t *term) resign(held lease) {
	if held.Context().Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.life), t.r.cfg.StartTimeout)
	defer cancel()
	if err := held.Release(ctx); err != nil {
		t.r.failed("lead", err)
	}
}

// lead makes a plan after every change of the registry, until ctx or the lease
// ends.
func (t *term) lead(ctx context.Context, held lease) {
	t.r.log.Info("leads the fleet", "session_id", t.session.ID())
	var (
		l       *leader
		changed <-chan struct{}
		pause   backoff
		err     error
	)
	look := time.NewTimer(jitter(t.r.cfg.Debounce) / 2)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-held.Context().Done():
			return
		case <-changed:
			changed = nil
			look.Reset(jitter(t.r.cfg.Debounce))
		case <-look.C:
			if l == nil {
				l, err = t.newLeader(ctx)
			}
			if err == nil {
				changed, err = l.round(ctx)
			}
			if err == nil {
				pause.reset()
				look.Reset(jitter(t.r.cfg.Recheck))
				continue
			}
			if ctx.Err() == nil {
				t.r.failed("lead", err)
			}
			err = nil
			look.Reset(pause.pause())
		}
	}
}

// newLeader takes over where the leader before has ended.
func (t *term) newLeader(ctx context.Context) (*leader, error) {
	l := &leader{t: t, sent: make(map[uint64][]uint16)}
	owners, _, err := t.session.Owners(ctx, leaderName)
	if err != nil {
		return nil, err
	}
	for _, o := range owners {
		if o.SessionID == t.session.ID() {
			l.term = o.OrderID
		}
	}
	if l.term == 0 {
		return nil, errors.New("rebalancer: this worker is not the leader")
	}
	data, _, err := t.session.Data(ctx, planName)
	if errors.Is(err, coord.ErrNotFound) {
		err = t.session.Ensure(ctx, planName)
	}
	if err != nil {
		return nil, err
	}
	l.plan = make([]string, t.r.cfg.Partitions)
	var stored storedPlan
	if len(data) > 0 {
		if err := json.Unmarshal(data, &stored); err != nil {
			t.r.log.Error("cannot read the plan of the leader before; more partitions will move", "error", err)
		}
	}
	for worker, partitions := range stored.Owners {
		for _, p := range partitions {
			if int(p) < len(l.plan) {
				l.plan[p] = worker
			}
		}
	}
	return l, nil
}

// round reads the registry, plans, keeps the plan, and writes the letters.
func (l *leader) round(ctx context.Context) (<-chan struct{}, error) {
	t := l.t
	owners, changed, err := t.session.Owners(ctx, registryName)
	if err != nil {
		return nil, err
	}
	all, _ := readRegistry(owners)
	members := active(all)
	t.r.sees(len(members))
	plan := l.make(all, members)
	shares := byOwner(plan)
	if !slices.Equal(plan, l.plan) {
		data, err := json.Marshal(storedPlan{shares})
		if err != nil {
			return nil, fmt.Errorf("rebalancer: encode the plan: %w", err)
		}
		if err := t.session.SetData(ctx, planName, data); err != nil {
			return nil, err
		}
		l.plan = plan
	}
	return changed, l.deliver(ctx, all, len(members), shares)
}

// make plans with the least movement. While members are there that plan for
// themselves, it makes the plan that they make.
func (l *leader) make(all []registered, members []Member) []string {
	for _, r := range all {
		if r.newest && r.Planner != PlannerLeader {
			return l.t.r.plan(members, l.t.r.cfg.Partitions)
		}
	}
	return Replan(l.plan, members, l.t.r.cfg.Partitions)
}

// byOwner lists the partitions of each owner, in order.
func byOwner(plan []string) map[string][]uint16 {
	shares := make(map[string][]uint16)
	for p, owner := range plan {
		if owner != "" {
			shares[owner] = append(shares[owner], uint16(p))
		}
	}
	return shares
}

// deliver writes to every worker whose share has changed or that has no letter
// yet: first to those that gain, so that they stand in the queues when the others
// let go.
func (l *leader) deliver(ctx context.Context, all []registered, members int, shares map[string][]uint16) error {
	l.seq++
	here := make(map[uint64]bool, len(all))
	var gain, lose []delivery
	for _, r := range all {
		here[r.session] = true
		if r.Planner != PlannerLeader {
			continue // plans for itself
		}
		var share []uint16
		if r.newest {
			share = shares[r.Worker]
		}
		was, known := l.sent[r.session]
		if known && slices.Equal(was, share) {
			continue
		}
		d := delivery{r.session, letter{Term: l.term, Seq: l.seq, Partitions: share, Members: members}}
		if known && !gains(was, share) {
			lose = append(lose, d)
		} else {
			gain = append(gain, d)
		}
	}
	for session := range l.sent {
		if !here[session] {
			delete(l.sent, session)
		}
	}
	return errors.Join(l.send(ctx, gain), l.send(ctx, lose))
}

type delivery struct {
	session uint64
	letter  letter
}

// gains tells whether a share has a partition that it had not before.
func gains(was, is []uint16) bool {
	return slices.ContainsFunc(is, func(p uint16) bool { return !slices.Contains(was, p) })
}

func (l *leader) send(ctx context.Context, batch []delivery) error {
	var (
		wg   sync.WaitGroup
		slot = make(chan struct{}, deliveries)
		errs = make([]error, len(batch))
	)
	for i, d := range batch {
		slot <- struct{}{}
		wg.Go(func() {
			defer func() { <-slot }()
			errs[i] = l.write(ctx, d)
		})
	}
	wg.Wait()
	for i, d := range batch {
		if errs[i] == nil {
			l.sent[d.session] = d.letter.Partitions
		}
	}
	return errors.Join(errs...)
}

func (l *leader) write(ctx context.Context, d delivery) error {
	data, err := json.Marshal(d.letter)
	if err != nil {
		return fmt.Errorf("rebalancer: encode a letter: %w", err)
	}
	err = l.t.session.SetData(ctx, mailboxName(d.session), data)
	if errors.Is(err, coord.ErrNotFound) {
		return nil // its session has just ended
	}
	return err
}
