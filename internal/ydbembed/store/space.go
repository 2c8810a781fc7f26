package store

import (
	"errors"
	"log/slog"
	"sync"
	"syscall"
	"time"
)

const (
	// Below the reserve no commit is taken: what was taken must still reach the
	// log and the tables.
	maxReserveBytes = 64 << 20
	reserveShare    = 10 // of a small disk, one part in so many
	roomInterval    = 500 * time.Millisecond
	stuckGrace      = time.Second
	// Room must last before writes are taken again: a compaction frees some and
	// takes it again.
	roomCalm = 5 * time.Second
)

// space knows whether there is room on the data folder's disk. While there is
// not, commits are refused before they begin, and what the engine must write
// waits until there is: it never sees the error, which it could only answer by
// trying again without a pause, or by giving up.
type space struct {
	usage    func() (free uint64, err error) // of the disk; an error: not known
	reserve  uint64                          // bytes
	pace     *pace
	log      *slog.Logger
	ended    chan struct{}
	watching sync.WaitGroup

	mu      sync.Mutex
	low     bool
	waiting int           // operations of the engine
	stuck   chan struct{} // closed while any waits
	over    bool          // ended is closed
}

func newSpace(usage func() (uint64, error), p *pace, log *slog.Logger) *space {
	return &space{usage: usage, pace: p, log: log, ended: make(chan struct{}), stuck: make(chan struct{})}
}

// reserveOf returns the reserve of a disk of that size.
func reserveOf(total uint64) uint64 { return min(maxReserveBytes, total/reserveShare) }

func noRoom(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// admit returns ErrNoSpace if a commit of that many bytes must not begin.
func (s *space) admit(size int) error {
	if s.isLow() {
		return ErrNoSpace
	}
	free, err := s.usage()
	if err != nil {
		return nil // unknown: the engine will find out
	}
	if free < s.reserve {
		s.lower()
		return ErrNoSpace
	}
	if free-s.reserve < 2*uint64(size) { // once in the log, once in a table
		return ErrNoSpace
	}
	return nil
}

func (s *space) isLow() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.low
}

// lower notes that there is no room, and looks out for it.
func (s *space) lower() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.low || s.over {
		return
	}
	s.low = true
	free, _ := s.usage()
	s.log.Error("store: the disk is full: writes are refused until there is room", "free_bytes", free, "needed_bytes", s.enough())
	s.watching.Go(s.watch)
}

// enough is where writes are taken again: some way above the reserve, so that
// the two do not alternate.
func (s *space) enough() uint64 { return s.reserve + s.reserve/4 }

func (s *space) watch() {
	ticker := time.NewTicker(roomInterval)
	defer ticker.Stop()
	for calm := time.Duration(0); ; {
		select {
		case <-s.ended:
			return
		case <-ticker.C:
		}
		calm += roomInterval
		if free, err := s.usage(); err == nil && free < s.enough() || s.isWaiting() {
			calm = 0
		}
		if calm >= roomCalm && s.rise() {
			return
		}
	}
}

// isWaiting reports whether the engine waits for room, or will begin work anew
// that failed.
func (s *space) isWaiting() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waiting > 0 || s.pace.failing()
}

func (s *space) rise() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting > 0 {
		return false
	}
	s.low = false
	s.log.Info("store: there is room on the disk again: writes are taken")
	return true
}

// persist runs an operation on the disk again and again while there is no room
// for it. It gives up with the operation's error when the store ends.
func (s *space) persist(op func() error) error {
	err := op()
	if !noRoom(err) {
		return err
	}
	s.lower()
	s.wait(1)
	defer s.wait(-1)
	ticker := time.NewTicker(roomInterval)
	defer ticker.Stop()
	for noRoom(err) {
		select {
		case <-ticker.C:
		case <-s.ended:
			return err
		}
		err = op()
	}
	return err
}

// rest holds back the engine's next attempt at work that failed.
func (s *space) rest() {
	if s.pace.left() <= 0 {
		return
	}
	s.wait(1)
	defer s.wait(-1)
	s.pace.rest(s.ended)
}

// slow holds back an error that tells of a full disk and cannot be mended by
// trying again, so that whoever starts over does not do so without a pause.
func (s *space) slow(err error) error {
	if !noRoom(err) {
		return err
	}
	s.lower()
	s.wait(1)
	defer s.wait(-1)
	pause := time.NewTimer(roomInterval)
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-s.ended:
	}
	return err
}

func (s *space) wait(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.waiting
	s.waiting += n
	switch {
	case before == 0:
		close(s.stuck)
	case s.waiting == 0:
		s.stuck = make(chan struct{})
	}
}

// isStuck returns a channel that is closed while the engine waits: for room, or
// for the end of a pause.
func (s *space) isStuck() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stuck
}

// cause is why the engine waits.
func (s *space) cause() error {
	if s.isLow() {
		return ErrNoSpace
	}
	return ErrStalled
}

// end lets go of whoever waits.
func (s *space) end() {
	s.mu.Lock()
	if !s.over {
		s.over = true
		close(s.ended)
	}
	s.mu.Unlock()
	s.watching.Wait()
}

func (s *space) hasEnded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.over
}
