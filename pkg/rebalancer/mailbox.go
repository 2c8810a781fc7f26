package rebalancer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/taskfleet/taskfleet/internal/coord"
)

// letter is what the leader writes into the mailbox of a worker.
type letter struct {
	// Term and Seq order the letters of all leaders: a later leader has a higher
	// term. A worker ignores a letter older than one that it has read.
	Term uint64 `json:"term"`
	Seq  uint64 `json:"seq"`
	// Partitions are all that the worker is to have.
	Partitions []uint16 `json:"partitions"`
	// Members is how many active members the fleet had when this was written.
	Members int `json:"members"`
}

func (l letter) olderThan(other letter) bool {
	return l.Term < other.Term || l.Term == other.Term && l.Seq < other.Seq
}

// mailboxName names the ephemeral semaphore that a session holds to be written to.
func mailboxName(session uint64) string { return fmt.Sprintf("mailbox-%d", session) }

// mailbox is the planner of a fleet with a leader: it waits for letters. It also
// stands for election.
type mailbox struct {
	t      *term
	held   lease // nil before join
	last   letter
	resign context.CancelFunc
	done   sync.WaitGroup // the campaign
}

func newMailbox(t *term) *mailbox { return &mailbox{t: t} }

// join opens the mailbox before the registry shows that it is there.
func (m *mailbox) join(ctx context.Context) (err error) {
	if m.held != nil {
		return nil
	}
	m.held, err = m.t.session.Acquire(ctx, mailboxName(m.t.session.ID()), coord.Request{
		Exclusive: true, Timeout: m.t.r.cfg.SessionTimeout,
	})
	if err != nil {
		return err
	}
	campaign, resign := context.WithCancel(m.t.ctx)
	m.resign = resign
	m.done.Go(func() { m.t.campaign(campaign) })
	m.t.workers.Go(m.done.Wait)
	return nil
}

// leave resigns, so that the next leader is there while this worker lingers.
func (m *mailbox) leave() {
	if m.held != nil {
		m.resign()
		m.done.Wait()
	}
}

func (m *mailbox) next(ctx context.Context) (wish, <-chan struct{}, error) {
	data, changed, err := m.t.session.Data(ctx, mailboxName(m.t.session.ID()))
	if errors.Is(err, coord.ErrNotFound) {
		err = errMissing
	}
	if err != nil || len(data) == 0 {
		return wish{}, changed, err
	}
	var l letter
	if err := json.Unmarshal(data, &l); err != nil {
		return wish{}, nil, fmt.Errorf("rebalancer: the leader's letter: %w", err)
	}
	if l.olderThan(m.last) {
		return wish{}, changed, nil // a former leader that does not know it
	}
	m.last = l
	mine := make(map[uint16]bool, len(l.Partitions))
	for _, p := range l.Partitions {
		mine[p] = true
	}
	others := l.Members > 1 || l.Members == 1 && len(l.Partitions) == 0
	return wish{members: unknownMembers, others: others, mine: func(p int) bool { return mine[uint16(p)] }}, changed, nil
}

func (*mailbox) pause() time.Duration { return 0 }

// The leader writes to the gainers first.
func (m *mailbox) give() time.Duration { return m.t.r.cfg.Debounce / 2 }

// The leader gathers changes for at most five quarters of Debounce.
func (m *mailbox) linger() time.Duration { return m.t.r.cfg.Debounce * 3 / 2 }

func (m *mailbox) recheck() time.Duration { return m.t.r.cfg.idle(m.last.Members) }
