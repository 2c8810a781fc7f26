package coord

import (
	"sync"
	"time"
)

// silence measures how long the server was not heard, and tells when that is too
// long. Its methods may be called concurrently.
type silence struct {
	limit time.Duration
	tell  func()
	timer *time.Timer

	mu    sync.Mutex
	until time.Time // when it is too long
}

// newSilence begins to measure; the first sign of life may take first longer.
func newSilence(first, limit time.Duration, tell func()) *silence {
	return &silence{
		limit: limit, tell: tell,
		until: time.Now().Add(first + limit), timer: time.AfterFunc(first+limit, tell),
	}
}

// broken notes that the server was heard. A process that was stalled finds
// messages from before its stall when it wakes, perhaps sooner than the timer
// fires: what comes too late is no sign of life.
func (s *silence) broken() {
	if s.late() {
		s.tell()
		return
	}
	s.timer.Reset(s.limit)
}

func (s *silence) late() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if !now.Before(s.until) {
		return true
	}
	s.until = now.Add(s.limit)
	return false
}

// stop ends the measuring: it is over, whatever is heard.
func (s *silence) stop() {
	s.mu.Lock()
	s.until = time.Time{}
	s.mu.Unlock()
	s.timer.Stop()
}
