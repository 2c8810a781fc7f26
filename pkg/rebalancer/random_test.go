package rebalancer

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// I4 and I8 under a random sequence of joins, leaves, crashes, lost sessions,
// fencing, pauses and slow drains, on a virtual clock. The fleet judges every step.
func TestI4I8RandomMembership(t *testing.T) {
	for seed := range uint64(24) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { churn(t, rand.New(rand.NewPCG(seed, 7))) })
		})
	}
}

func churn(t *testing.T, random *rand.Rand) {
	f, node := newFleet(t, 48), newFakeNode()
	var alive []*member
	var leaving sync.WaitGroup
	expiry := f.config("").withDefaults().SessionTimeout

	lose := func(m *member) {
		m.mu.Lock()
		defer m.mu.Unlock()
		if len(m.sessions) == 0 {
			return
		}
		s := m.sessions[len(m.sessions)-1].(*fakeSession)
		s.lose()
		time.AfterFunc(expiry, func() { node.expire(s) })
	}
	take := func() *member {
		i := random.IntN(len(alive))
		m := alive[i]
		alive = append(alive[:i], alive[i+1:]...)
		return m
	}
	for step := range 25 {
		switch what := random.IntN(7); {
		case len(alive) < 2 || what <= 1:
			m := f.join(f.config(fmt.Sprintf("w%d", step)), node.open)
			m.setDrain(func(ctx context.Context, p uint16) error {
				timer := time.NewTimer(time.Duration(p%8) * 500 * time.Millisecond)
				defer timer.Stop()
				select {
				case <-timer.C:
				case <-ctx.Done():
				}
				return nil
			})
			alive = append(alive, m)
		case what == 2:
			leaving.Go(take().leave)
		case what == 3: // crash: the process is gone, the server finds out later
			m := take()
			lose(m)
			leaving.Go(m.abort)
		case what == 4:
			lose(alive[random.IntN(len(alive))])
		case what == 5:
			alive[random.IntN(len(alive))].r.Fenced(uint16(random.IntN(f.partitions)))
		case what == 6:
			if m := alive[random.IntN(len(alive))]; m.r.Paused() {
				m.r.Resume()
			} else {
				m.r.Pause()
			}
		}
		<-time.After(time.Duration(random.Int64N(int64(3 * time.Second))))
	}
	leaving.Wait()
	for _, m := range alive {
		m.r.Resume()
	}
	f.await(2*expiry, "the survivors share everything", f.balanced(alive...))
	for _, m := range alive {
		leaving.Go(m.leave)
	}
	leaving.Wait()
	<-time.After(2 * expiry)
	if left := node.left(); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}
