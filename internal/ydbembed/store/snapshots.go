package store

import (
	"errors"
	"sync"

	"github.com/cockroachdb/pebble/v2"
)

// snapshots closes what transactions leave behind. To close a snapshot may mean
// to wait for the engine's manifest, thus for the disk, which the end of a
// transaction must not.
type snapshots struct {
	mu    sync.Mutex
	left  []*pebble.Snapshot
	ended bool
	wake  *sync.Cond
	done  chan struct{}
	err   error
}

func newSnapshots() *snapshots {
	s := &snapshots{done: make(chan struct{})}
	s.wake = sync.NewCond(&s.mu)
	go s.run()
	return s
}

func (s *snapshots) leave(snap *pebble.Snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left = append(s.left, snap)
	s.wake.Signal()
}

func (s *snapshots) run() {
	defer close(s.done)
	var err error
	for {
		s.mu.Lock()
		for len(s.left) == 0 && !s.ended {
			s.wake.Wait()
		}
		left := s.left
		s.left = nil
		s.mu.Unlock()
		if len(left) == 0 {
			s.err = err
			return
		}
		for _, snap := range left {
			err = errors.Join(err, snap.Close())
		}
	}
}

// Close returns when all that were left are closed.
func (s *snapshots) Close() error {
	s.mu.Lock()
	s.ended = true
	s.wake.Signal()
	s.mu.Unlock()
	<-s.done
	return s.err
}
